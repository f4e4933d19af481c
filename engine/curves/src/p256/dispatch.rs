//! The choice of a kernel of P-256, and the only door to these kernels.

use core::hint::black_box;

use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_cpu::{HaveAdxBmi2, HaveAvx2, HaveIfma};

use super::digits::Odd;
use super::ecdsa::{Draft, Fault, Request, Signature, VerifyRequest};
use super::kernels::p256_comb_portable::p256_comb_portable;
use super::kernels::p256_window_portable::p256_window_portable;
use super::keys::{PublicKey, SecretKey};
use super::nonce::Nonce;
use super::point::{Affine, Point};
use super::residue::Scalar;
#[cfg(target_arch = "x86_64")]
use crate::batches::in_batches;
use crate::keys::SharedSecret;

#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod mulx;

/// At least the stack that one operation uses, eight in lanes, and eight with a table each;
/// tests/stack.rs compares. Test builds use more. All of it is wiped, so variables within an operation
/// need not be.
const ONE_BYTES: usize = if cfg!(debug_assertions) { 10 << 10 } else { 6 << 10 };
#[cfg(target_arch = "x86_64")]
const LANES_BYTES: usize = if cfg!(debug_assertions) { 18 << 10 } else { 12 << 10 };
#[cfg(target_arch = "x86_64")]
const TABLES_BYTES: usize = 30 << 10;

/// P-256 with the kernels of a set of processor features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum P256 {
    /// 52-bit digits in vectors of AVX-512 IFMA: eight lanes for a multiple of the base point or
    /// for eight operations.
    Ifma(HaveIfma),
    /// 64-bit limbs, with MULX, ADCX and ADOX; AVX2 reads tables. [`P256::Ifma`] uses them too, for
    /// one agreement and to verify.
    Mulx(HaveAdxBmi2, HaveAvx2),
    /// 64-bit limbs on any processor.
    Portable,
}

impl P256 {
    /// Returns the fastest kernels that this machine can run.
    #[must_use]
    pub fn best() -> Self {
        let vectors = HaveIfma::check().map(Self::Ifma);
        vectors.or_else(Self::mulx).unwrap_or(Self::Portable)
    }

    /// Returns all kernels that this machine can run, the portable ones last.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let vectors = HaveIfma::check().map(Self::Ifma);
        vectors.into_iter().chain(Self::mulx()).chain([Self::Portable]).collect()
    }

    fn mulx() -> Option<Self> {
        Some(Self::Mulx(HaveAdxBmi2::check()?, HaveAvx2::check()?))
    }

    /// Returns whether several operations cost less together than one after the other.
    #[must_use]
    pub fn has_lanes(self) -> bool {
        matches!(self, Self::Ifma(_))
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
        wipe_stack_after::<ONE_BYTES, _>(|| {
            SharedSecret(self.multiple(&secret.0, &peer.0).affine().x.to_bytes())
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
            Self::Ifma(proof) => in_batches(secrets, ifma::FEWEST_KEYS, alone, |secrets, keys| {
                wipe_stack_after::<LANES_BYTES, _>(|| ifma::public_keys(secrets, keys, proof));
            }),
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
            Self::Ifma(proof) => {
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
    /// of the nonces, which another table gives, except for its top window. If that or another check
    /// fails, or if two signatures have the same r, the requests are signed alone. The sum does not show that two points have changed places. The signatures
    /// would be invalid then, and with deterministic nonces two signatures of a digest, one of them
    /// invalid, give the key away: such requests are signed alone.
    #[must_use]
    pub fn sign_all(self, requests: &[Request<'_>]) -> Vec<Result<Signature, Fault>> {
        let alone = |request: &Request<'_>| self.sign(request.key, request.digest, request.nonce);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Ifma(proof) => {
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
            Self::Ifma(proof) => {
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
            Self::Ifma(proof) => ifma::base_multiple(k, proof),
            #[cfg(target_arch = "x86_64")]
            Self::Mulx(limbs, tables) => mulx::base_multiple(k, (limbs, tables)),
            _ => p256_comb_portable(&Odd::new(k)),
        }
    }

    /// Returns k P. k is not zero.
    fn multiple(self, k: &Scalar, point: &Affine) -> Point {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = self.limbs() {
            return mulx::multiple(k, point, proof);
        }
        p256_window_portable(&Odd::new(k), point).into()
    }

    /// Returns u G + v P. v is not zero. Variable time.
    fn sum_vartime(self, u: &Scalar, v: &Scalar, point: &Affine) -> Point {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = self.limbs() {
            let sum = mulx::sum_vartime(u, v, point, proof.0);
            if sum.z.is_zero() == 0 {
                return sum;
            }
        }
        let sum = self.multiple(v, point);
        if u.is_zero() != 0 { sum } else { sum.add(&self.base_multiple(u)) }
    }

    /// Returns whether the kernel of verifications adds equal or opposite points, if there is one.
    #[cfg(test)]
    pub(super) fn adds_equal_or_opposite(
        self,
        u: &Scalar,
        v: &Scalar,
        point: &Affine,
    ) -> Option<bool> {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = self.limbs() {
            return Some(mulx::sum_vartime(u, v, point, proof.0).z.is_zero() != 0);
        }
        let _ = (u, v, point);
        None
    }

    /// Returns the proof that one operation may use the kernels on limbs.
    #[cfg(target_arch = "x86_64")]
    fn limbs(self) -> Option<mulx::Proof> {
        match self {
            Self::Ifma(_) => Some((HaveAdxBmi2::check()?, HaveAvx2::check()?)),
            Self::Mulx(limbs, tables) => Some((limbs, tables)),
            Self::Portable => None,
        }
    }
}
