//! The choice of a kernel of P-256, and the only door to these kernels.

use core::hint::black_box;

use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_cpu::{HaveAdxBmi2, HaveAvx2, HaveIfma};

use super::ecdsa::{Draft, Fault, Request, Signature, VerifyRequest};
use super::keys::{PublicKey, SecretKey};
use super::nonce::Nonce;
use super::point::{Affine, Point};
#[cfg(target_arch = "x86_64")]
use crate::batches::in_batches;
use crate::dispatch::Unavailable;
use crate::external::HaveGraviola;
use crate::keys::SharedSecret;
use crate::residue::{Element, Scalar, limbs};

#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod mulx;

/// At least the stack that one operation uses, eight in lanes, and eight with a table each;
/// tests/stack.rs compares. Test builds use more. All of it is wiped, so variables within an
/// operation need not be.
const ONE_BYTES: usize = if cfg!(debug_assertions) { 10 << 10 } else { 8 << 10 };
#[cfg(target_arch = "x86_64")]
const LANES_BYTES: usize = if cfg!(debug_assertions) { 18 << 10 } else { 12 << 10 };
#[cfg(target_arch = "x86_64")]
const TABLES_BYTES: usize = 30 << 10;

/// P-256 with the kernels of a set of processor features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum P256 {
    /// 52-bit digits in vectors of AVX-512 IFMA: eight lanes for a multiple of the base point or
    /// for eight operations. One agreement and one verification use [`P256::Mulx`].
    Ifma(HaveIfma, (HaveAdxBmi2, HaveAvx2)),
    /// 64-bit limbs, with MULX, ADCX and ADOX; AVX2 reads tables.
    Mulx((HaveAdxBmi2, HaveAvx2)),
    /// The crate `graviola`, one operation at a time. On x86-64 it is there to compare with:
    /// [`P256::Mulx`] is faster.
    Graviola(HaveGraviola),
}

impl P256 {
    /// Returns the fastest kernels that this machine can run.
    ///
    /// # Errors
    ///
    /// [`Unavailable`] if there are none.
    pub fn best() -> Result<Self, Unavailable> {
        Self::ifma().or_else(Self::mulx).or_else(Self::graviola).ok_or(Unavailable)
    }

    /// Returns all kernels that this machine can run, those of `graviola` last.
    #[must_use]
    pub fn all() -> Vec<Self> {
        [Self::ifma(), Self::mulx(), Self::graviola()].into_iter().flatten().collect()
    }

    fn ifma() -> Option<Self> {
        Some(Self::Ifma(HaveIfma::check()?, (HaveAdxBmi2::check()?, HaveAvx2::check()?)))
    }

    fn graviola() -> Option<Self> {
        HaveGraviola::check().map(Self::Graviola)
    }

    fn mulx() -> Option<Self> {
        Some(Self::Mulx((HaveAdxBmi2::check()?, HaveAvx2::check()?)))
    }

    /// Returns whether one operation is faster than OpenSSL's. On AArch64, OpenSSL has assembly
    /// too, and nothing was measured.
    #[must_use]
    pub fn beats_openssl(self) -> bool {
        !matches!(self, Self::Graviola(_))
    }

    /// Returns whether several operations cost less together than one after the other.
    #[must_use]
    pub fn has_lanes(self) -> bool {
        matches!(self, Self::Ifma(..))
    }

    /// Returns the public key that belongs to a secret key.
    #[must_use]
    pub fn public_key(self, secret: &SecretKey) -> PublicKey {
        wipe_stack_after::<ONE_BYTES, _>(|| PublicKey(self.base_multiple(&secret.0).affine()))
    }

    /// Returns the secret that this secret key shares with the owner of `peer`: x of the common
    /// point (SP 800-56A, section 5.7.1.2). The point cannot be the neutral one.
    #[must_use]
    pub fn agree(self, secret: &SecretKey, peer: &PublicKey) -> SharedSecret {
        wipe_stack_after::<ONE_BYTES, _>(|| match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(_, proof) | Self::Mulx(proof) => {
                SharedSecret(mulx::multiple(&secret.0, &peer.0, proof).affine().x.to_bytes())
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Graviola(proof) => {
                SharedSecret(proof.p256_agree(&secret.0.to_bytes(), &peer.to_bytes()))
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("no proof"),
        })
    }

    /// Signs a digest with ECDSA (FIPS 186-5, section 6.4.1). The first 32 bytes of the digest
    /// count.
    ///
    /// Computes the nonce's point twice and compares, and checks that s k = z + r d. So a passing
    /// fault in the point, in an inversion or in s is found, while a secret key that has changed in
    /// memory is not.
    ///
    /// # Errors
    ///
    /// [`Fault`] if a check fails.
    pub fn sign(
        self,
        key: &SecretKey,
        digest: &[u8],
        nonce: Nonce<'_>,
    ) -> Result<Signature, Fault> {
        wipe_stack_after::<ONE_BYTES, _>(|| {
            let mut draft = Draft::new(&Request { key, digest, nonce });
            loop {
                let (point, inverse) = self.base_multiple(&draft.k).affine_beside(&draft.k);
                // black_box: the compiler must not replace the second computation by the first
                if !self.base_multiple(black_box(&draft.k)).is(&point.into()) {
                    return Err(Fault);
                }
                if let Some(signature) = draft.sign(&point.x.number(), &inverse)? {
                    return Ok(signature);
                }
                draft.retry();
            }
        })
    }

    /// Returns whether a signature of a digest is valid (FIPS 186-5, section 6.4.2). The first 32
    /// bytes of the digest count.
    #[must_use]
    pub fn verify(self, key: &PublicKey, digest: &[u8], signature: &Signature) -> bool {
        if digest.is_empty() {
            return false; // anyone can make a signature of the number zero
        }
        let (u1, u2) = signature.factors(digest);
        self.sum_vartime(&u1, &u2, &key.0).has_x_vartime(&signature.r)
    }

    /// Returns the public keys that belong to secret keys, in order. Eight at a time cost about as
    /// much as three alone.
    #[must_use]
    pub fn public_keys(self, secrets: &[SecretKey]) -> Vec<PublicKey> {
        let alone = |secret: &SecretKey| self.public_key(secret);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => {
                in_batches(secrets, ifma::FEWEST_KEYS, alone, |secrets, keys| {
                    wipe_stack_after::<LANES_BYTES, _>(|| ifma::public_keys(secrets, keys, proof));
                })
            }
            _ => secrets.iter().map(alone).collect(),
        }
    }

    /// Returns the secrets that these keys share, in order. Eight at a time cost about as much as
    /// one alone.
    #[must_use]
    pub fn agree_all(self, pairs: &[(&SecretKey, &PublicKey)]) -> Vec<SharedSecret> {
        let alone = |(secret, peer): &(&SecretKey, &PublicKey)| self.agree(secret, peer);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => {
                in_batches(pairs, ifma::FEWEST_AGREEMENTS, alone, |pairs, shared| {
                    wipe_stack_after::<TABLES_BYTES, _>(|| ifma::agree_all(pairs, shared, proof));
                })
            }
            _ => pairs.iter().map(alone).collect(),
        }
    }

    /// Signs digests, in order. Eight at a time cost about as much as two or three alone.
    ///
    /// The sum of the points of a batch is compared with the multiple of the base point by the sum
    /// of the nonces, which another table gives, except for its top window. If that or another
    /// check fails, or if two signatures have the same r, the requests are signed alone. The sum
    /// does not show that two points have changed places. The signatures would be invalid then, and
    /// with deterministic nonces two signatures of a digest, one of them invalid, give the key
    /// away: such requests are signed alone.
    #[must_use]
    pub fn sign_all(self, requests: &[Request<'_>]) -> Vec<Result<Signature, Fault>> {
        let alone = |request: &Request<'_>| self.sign(request.key, request.digest, request.nonce);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => {
                let none = |_: &Request<'_>| None;
                let batches =
                    in_batches(requests, ifma::FEWEST_SIGNATURES, none, |batch, signatures| {
                        let hedged =
                            |request: &Request<'_>| matches!(request.nonce, Nonce::Hedged(_));
                        if batch.iter().all(hedged) {
                            wipe_stack_after::<LANES_BYTES, _>(|| {
                                ifma::sign_all(batch, signatures, proof);
                            });
                        } else {
                            signatures.extend(batch.iter().map(none));
                        }
                    });
                let batches = batches.into_iter().zip(requests);
                batches.map(|(done, request)| done.map_or_else(|| alone(request), Ok)).collect()
            }
            _ => requests.iter().map(alone).collect(),
        }
    }

    /// Returns whether signatures of any keys are valid, in order: each as [`verify`](Self::verify)
    /// says. Eight at a time cost about as much as two or three alone.
    #[must_use]
    pub fn verify_all(self, requests: &[VerifyRequest<'_>]) -> Vec<bool> {
        let alone = |request: &VerifyRequest<'_>| {
            self.verify(request.key, request.digest, &request.signature)
        };
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => {
                let none = |_: &VerifyRequest<'_>| None;
                let batches =
                    in_batches(requests, ifma::FEWEST_VERIFICATIONS, none, |batch, valid| {
                        ifma::verify_all(batch, valid, proof);
                    });
                let batches = batches.into_iter().zip(requests);
                batches.map(|(done, request)| done.unwrap_or_else(|| alone(request))).collect()
            }
            _ => requests.iter().map(alone).collect(),
        }
    }

    /// Returns k G. k is not zero.
    fn base_multiple(self, k: &Scalar) -> Point {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof, _) => ifma::base_multiple(k, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Mulx(proof) => mulx::base_multiple(k, proof),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Graviola(proof) => {
                let point = proof.p256_base_multiple(&k.to_bytes());
                PublicKey::coordinates(&point).map(|x| Element::new(&limbs(x))).into()
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("no proof"),
        }
    }

    /// Returns u G + v P. `graviola` has no such function. Variable time.
    fn sum_vartime(self, u: &Scalar, v: &Scalar, point: &Affine) -> Point {
        #[cfg(target_arch = "x86_64")]
        if let Self::Ifma(_, proof) | Self::Mulx(proof) = self {
            let sum = mulx::sum_vartime(u, v, point, proof.0);
            if sum.z.is_zero() == 0 {
                return sum;
            }
        }
        Point::sum_vartime(u, v, &(*point).into())
    }

    /// Returns whether the kernel of verifications adds equal or opposite points.
    #[cfg(all(test, target_arch = "x86_64"))]
    pub(super) fn adds_equal_or_opposite(self, u: &Scalar, v: &Scalar, point: &Affine) -> bool {
        let (Self::Ifma(_, proof) | Self::Mulx(proof)) = self else { return false };
        mulx::sum_vartime(u, v, point, proof.0).z.is_zero() != 0
    }
}
