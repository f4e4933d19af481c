//! The choice of a kernel, and the only door to the kernels.

use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_cpu::{HaveAdxBmi2, HaveIfma, memcheck};

#[cfg(target_arch = "x86_64")]
use crate::batches::{LANES, in_batches};
use crate::field51::Element;
use crate::kernels::comb51_portable::comb51_portable;
use crate::kernels::ladder51_portable::ladder51_portable;
use crate::keys::{LowOrder, PublicKey, Scalar, SecretKey, SharedSecret};

#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod mulx;

/// At least the stack that one operation uses, and that of eight in lanes; tests/stack.rs compares. All
/// of it is wiped, so variables within an operation need not be.
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
    /// 64-bit limbs with MULX and two carry chains, one operation at a time.
    Mulx(HaveAdxBmi2),
    /// Limbs on any processor.
    Portable,
}

impl X25519 {
    /// Returns the fastest kernels that this machine can run.
    #[must_use]
    pub fn best() -> Self {
        let ifma = HaveIfma::check().map(Self::Ifma);
        ifma.or_else(|| HaveAdxBmi2::check().map(Self::Mulx)).unwrap_or(Self::Portable)
    }

    /// Returns all kernels that this machine can run, the portable ones last.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let ifma = HaveIfma::check().map(Self::Ifma);
        let mulx = HaveAdxBmi2::check().map(Self::Mulx);
        ifma.into_iter().chain(mulx).chain([Self::Portable]).collect()
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
                #[cfg(target_arch = "x86_64")]
                Self::Mulx(proof) => mulx::public_key(k, proof),
                _ => comb51_portable(k).to_bytes(),
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
            let u = || Element::from_bytes(&peer.0);
            checked(&match self {
                #[cfg(target_arch = "x86_64")]
                Self::Ifma(proof) => ifma::agree(k, u(), proof),
                #[cfg(target_arch = "x86_64")]
                Self::Mulx(proof) => mulx::agree(k, &peer.0, proof),
                _ => ladder51_portable(k, u()).to_bytes(),
            })
        })
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

/// Refuses a secret of zero. The branch reveals nothing about the key: the secret is zero if the
/// peer's public key has a low order, whatever the key.
fn checked(secret: &[u8; 32]) -> Result<SharedSecret, LowOrder> {
    let secret = SharedSecret(*secret);
    let any = secret.as_bytes().iter().fold(0, |any, byte| any | byte);
    if memcheck::declassified(any.into()) == 0 { Err(LowOrder) } else { Ok(secret) }
}
