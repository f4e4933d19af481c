//! The choice of a kernel, and the only door to the kernels.

use core::fmt;

use tollgate_cpu::HaveIfma;
use tollgate_cpu::memcheck;
use tollgate_cpu::wipe::wipe_stack_after;

#[cfg(target_arch = "x86_64")]
use crate::batches::{LANES, in_batches};
use crate::external::HaveGraviola;
use crate::keys::{LowOrder, PublicKey, Scalar, SecretKey, SharedSecret};
use crate::portable;

#[cfg(target_arch = "x86_64")]
mod ifma;

/// At least the stack that one operation uses, and that of several; tests/stack.rs compares.
/// All of it is wiped, so variables within an operation need not be.
const ONE_BYTES: usize = 4 << 10;
#[cfg(target_arch = "x86_64")]
const LANES_BYTES: usize = 8 << 10;

/// X25519 with the kernels of a set of processor features (RFC 7748).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum X25519 {
    /// 52-bit digits in vectors of AVX-512 IFMA: four lanes for one agreement, eight lanes for a
    /// key or for eight operations.
    Ifma(HaveIfma),
    /// The crate `graviola`, one operation at a time.
    Graviola(HaveGraviola),
    /// Limbs on any processor, one operation at a time; slower than the code of other libraries.
    Portable,
}

/// No kernel of the curve P-256 runs on this processor: leave its operations to another library, or
/// remove words from `TOLLGATE_CPU_DISABLE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no kernel of this curve runs here: leave it to another library, or enable ADX, BMI2, \
             AVX2 and AES (on AArch64 AES and SHA-2), also in TOLLGATE_CPU_DISABLE",
        )
    }
}

impl core::error::Error for Unavailable {}

impl X25519 {
    /// Returns the fastest kernels that this machine can run.
    #[must_use]
    pub fn best() -> Self {
        let ifma = HaveIfma::check().map(Self::Ifma);
        ifma.or_else(|| HaveGraviola::check().map(Self::Graviola)).unwrap_or(Self::Portable)
    }

    /// Returns all kernels that this machine can run, the portable ones last.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let ifma = HaveIfma::check().map(Self::Ifma);
        let graviola = HaveGraviola::check().map(Self::Graviola);
        ifma.into_iter().chain(graviola).chain([Self::Portable]).collect()
    }

    /// Returns whether the kernels need no feature of the processor, and are slower than the code
    /// of other libraries.
    #[must_use]
    pub fn is_portable(self) -> bool {
        self == Self::Portable
    }

    /// Returns whether several operations cost less together than one after the other.
    #[must_use]
    pub fn has_lanes(self) -> bool {
        matches!(self, Self::Ifma(_))
    }

    /// Returns the public key that belongs to a secret key.
    #[must_use]
    pub fn public_key(self, secret: &SecretKey) -> PublicKey {
        wipe_stack_after::<ONE_BYTES, _>(|| {
            let Scalar(k) = &secret.scalar();
            PublicKey(match self {
                #[cfg(target_arch = "x86_64")]
                Self::Ifma(proof) => ifma::public_key(k, proof),
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                Self::Graviola(proof) => proof.x25519_public_key(k),
                _ => portable::public_key(k),
            })
        })
    }

    /// Returns the secret that this secret key shares with the owner of `peer`.
    ///
    /// # Errors
    ///
    /// [`LowOrder`] if the secret would be zero.
    pub fn agree(self, secret: &SecretKey, peer: &PublicKey) -> Result<SharedSecret, LowOrder> {
        wipe_stack_after::<ONE_BYTES, _>(|| {
            let Scalar(k) = &secret.scalar();
            match self {
                #[cfg(target_arch = "x86_64")]
                Self::Ifma(proof) => checked(&ifma::agree(k, &peer.0, proof)),
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                Self::Graviola(proof) => proof.x25519(k, &peer.0).map(SharedSecret),
                _ => checked(&portable::agree(k, &peer.0)),
            }
        })
    }

    /// Returns the public key that belongs to a secret key, and the secret that this key shares
    /// with the owner of `peer`: what a server computes in a handshake, with a key for it alone.
    /// With lanes this takes little longer than the secret.
    ///
    /// # Errors
    ///
    /// [`LowOrder`] if the secret would be zero.
    pub fn exchange(
        self,
        secret: &SecretKey,
        peer: &PublicKey,
    ) -> Result<(PublicKey, SharedSecret), LowOrder> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => wipe_stack_after::<LANES_BYTES, _>(|| {
                let Scalar(k) = &secret.scalar();
                let [public, shared] = ifma::exchange(k, &peer.0, proof);
                checked(&shared).map(|shared| (PublicKey(public), shared))
            }),
            _ => Ok((self.public_key(secret), self.agree(secret, peer)?)),
        }
    }

    /// Returns the public keys that belong to secret keys, in order. Eight at a time cost about as
    /// much as three alone.
    #[must_use]
    pub fn public_keys(self, secrets: &[SecretKey]) -> Vec<PublicKey> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => in_batches(
                secrets,
                ifma::FEWEST_KEYS,
                |secret| self.public_key(secret),
                |secrets, keys| {
                    wipe_stack_after::<LANES_BYTES, _>(|| {
                        let k = scalars(secrets);
                        let lanes = ifma::public_keys(&k.each_ref().map(|k| &k.0), proof);
                        keys.extend(lanes.map(PublicKey).into_iter().take(secrets.len()));
                    });
                },
            ),
            _ => secrets.iter().map(|secret| self.public_key(secret)).collect(),
        }
    }

    /// Returns the secrets that these keys share, in order. Eight at a time cost about as much as
    /// two alone.
    #[must_use]
    pub fn agree_all(
        self,
        pairs: &[(&SecretKey, &PublicKey)],
    ) -> Vec<Result<SharedSecret, LowOrder>> {
        let alone = |(secret, peer): &(&SecretKey, &PublicKey)| self.agree(secret, peer);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => {
                in_batches(pairs, ifma::FEWEST_AGREEMENTS, alone, |pairs, shared| {
                    wipe_stack_after::<LANES_BYTES, _>(|| {
                        let k = scalars(pairs.iter().map(|(secret, _)| *secret));
                        let peers =
                            core::array::from_fn(|l| &pairs.get(l).unwrap_or(&pairs[0]).1.0);
                        let lanes = ifma::agree_all(&k.each_ref().map(|k| &k.0), &peers, proof);
                        shared.extend(lanes.iter().take(pairs.len()).map(checked));
                    });
                })
            }
            _ => pairs.iter().map(alone).collect(),
        }
    }
}

/// Returns the scalars of at most eight keys; lanes without a key get the first one.
#[cfg(target_arch = "x86_64")]
fn scalars<'a>(secrets: impl IntoIterator<Item = &'a SecretKey>) -> [Scalar; LANES] {
    let mut secrets = secrets.into_iter();
    let first = secrets.next().expect("a chunk is not empty").scalar();
    core::array::from_fn(|l| match l {
        0 => first.clone(),
        _ => secrets.next().map_or_else(|| first.clone(), SecretKey::scalar),
    })
}

/// Refuses a secret of zero, as `graviola` does. The branch reveals nothing about the key: the
/// secret is zero if the peer's public key has a low order, whatever the key.
fn checked(secret: &[u8; 32]) -> Result<SharedSecret, LowOrder> {
    let secret = SharedSecret(*secret);
    let any = secret.as_bytes().iter().fold(0, |any, byte| any | byte);
    if memcheck::declassified(any.into()) == 0 { Err(LowOrder) } else { Ok(secret) }
}
