//! X25519 and P-256 by the crate `graviola`, whose kernels for x86-64 and AArch64 are those of
//! s2n-bignum, which are proved to compute what they should.
//!
//! It stops a program whose processor lacks a feature that it needs: the proof comes first.

#[cfg(target_arch = "x86_64")]
use tollgate_cpu::{HaveAdxBmi2, HaveAvx2};

/// Proof that the kernels of `graviola` may be used: on x86-64 MULX, ADX, AVX2 and AES, on AArch64
/// AES and SHA-2; none of them vetoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaveGraviola(());

impl HaveGraviola {
    /// Returns the proof if this machine has the features and the user did not disable them.
    #[must_use]
    pub fn check() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let is_usable = HaveAdxBmi2::check().is_some() && HaveAvx2::check().is_some();
        #[cfg(target_arch = "aarch64")]
        let is_usable = tollgate_cpu::HaveUmulh::check().is_some();
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        return (is_usable && ::graviola::util::is_cpu_supported()).then_some(Self(()));
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        None
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls {
    use ::graviola::key_agreement::{p256, x25519};

    use super::HaveGraviola;
    use crate::keys::LowOrder;

    /// A number is checked before it becomes a scalar, and a point before it becomes a key.
    const CHECKED: &str = "a number between 1 and n - 1, or a point of the curve";

    impl HaveGraviola {
        pub(crate) fn x25519_public_key(self, k: &[u8; 32]) -> [u8; 32] {
            x25519::StaticPrivateKey::from_array(k).public_key().as_bytes()
        }

        pub(crate) fn x25519(self, k: &[u8; 32], u: &[u8; 32]) -> Result<[u8; 32], LowOrder> {
            let shared = x25519::StaticPrivateKey::from_array(k)
                .diffie_hellman(&x25519::PublicKey::from_array(u));
            shared.map(|shared| shared.0).map_err(|_| LowOrder)
        }

        /// Returns k G as an uncompressed point. k is not zero.
        pub(crate) fn p256_base_multiple(self, k: &[u8; 32]) -> [u8; 65] {
            p256::StaticPrivateKey::from_bytes(k).expect(CHECKED).public_key_uncompressed()
        }

        /// Returns x of k P. k is not zero.
        pub(crate) fn p256_agree(self, k: &[u8; 32], point: &[u8; 65]) -> [u8; 32] {
            let point = p256::PublicKey::from_x962_uncompressed(point).expect(CHECKED);
            let k = p256::StaticPrivateKey::from_bytes(k).expect(CHECKED);
            k.diffie_hellman(&point).expect(CHECKED).0
        }
    }
}
