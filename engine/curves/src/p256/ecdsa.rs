//! Signatures: the steps of FIPS 186-5, section 6.4, without the multiplications of points.

use core::fmt;
use core::hint::black_box;

use tollgate_cpu::memcheck;

use super::keys::{PublicKey, SecretKey};
use super::nonce::{Nonce, Nonces};
use crate::residue::{Limbs, Scalar, bytes as bytes_of, limbs};

/// The length of a signature in bytes.
pub const SIGNATURE_BYTES: usize = 64;

/// A signature (r, s); both are between 1 and n - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    pub(crate) r: Limbs,
    pub(crate) s: Limbs,
}

impl Signature {
    /// Reads r and s, big end first (the form of IEEE P1363). Returns `None` if one of them is 0,
    /// or n or above.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; SIGNATURE_BYTES]) -> Option<Self> {
        let [r, s] = bytes.as_chunks().0 else {
            unreachable!("64 bytes are two numbers");
        };
        let (r, s) = (limbs(r), limbs(s));
        let is_number = |x: &Limbs| Scalar::is_least(x) && *x != [0; 4];
        (is_number(&r) && is_number(&s)).then_some(Self { r, s })
    }

    /// Returns r and s, big end first.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIGNATURE_BYTES] {
        let mut bytes = [0; SIGNATURE_BYTES];
        bytes[..32].copy_from_slice(&bytes_of(&self.r));
        bytes[32..].copy_from_slice(&bytes_of(&self.s));
        bytes
    }

    fn new(r: &Scalar, s: &Scalar) -> Option<Self> {
        let zero = r.is_zero() | s.is_zero();
        (memcheck::declassified(zero) == 0).then(|| Self { r: r.number(), s: s.number() })
    }

    /// Returns the numbers whose multiples of G and of the public key have the sum R (6.4.2).
    pub(crate) fn factors(&self, digest: &[u8]) -> (Scalar, Scalar) {
        self.factors_from(digest, &Scalar::new(&self.s).inverted())
    }

    /// The same, from w = 1/s.
    pub(crate) fn factors_from(&self, digest: &[u8], w: &Scalar) -> (Scalar, Scalar) {
        (Scalar::new(&digest_number(digest)).mul(w), Scalar::new(&self.r).mul(w))
    }
}

/// A digest to sign with a key.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The secret key.
    pub key: &'a SecretKey,
    /// The digest of the message, by any hash function. Its first 32 bytes count.
    pub digest: &'a [u8],
    /// The source of the nonce.
    pub nonce: Nonce<'a>,
}

/// A signature to verify.
#[derive(Clone, Copy, Debug)]
pub struct VerifyRequest<'a> {
    /// The public key.
    pub key: &'a PublicKey,
    /// The digest of the message, by any hash function. Its first 32 bytes count.
    pub digest: &'a [u8],
    /// The signature.
    pub signature: Signature,
}

/// A signature in progress.
pub(crate) struct Draft<'a> {
    d: &'a Scalar,
    z: Scalar,
    pub(crate) nonces: Nonces<'a>,
    pub(crate) k: Scalar,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(request: &Request<'a>) -> Self {
        let mut draft = Self::without_nonce(request);
        draft.retry();
        draft
    }

    /// k is zero.
    pub(crate) fn without_nonce(request: &Request<'a>) -> Self {
        let (d, z) = (&request.key.0, digest_number(request.digest));
        let nonces = Nonces::new(d, &Scalar::least(&z), request.nonce);
        Self { d, z: Scalar::new(&z), nonces, k: Scalar::ZERO }
    }

    /// Takes the next nonce, because there is none or the last one gave a zero.
    pub(crate) fn retry(&mut self) {
        self.k = self.nonces.next();
    }

    /// Takes the first nonce from the hash of its block.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn take_nonce(&mut self, hash: &[u64; 8]) {
        self.k = self.nonces.next_from(hash);
    }

    /// Returns the signature from x of k G or -k G, below p, and 1/k, or `None` if r or s is zero.
    /// Checks that s k = z + r d.
    pub(crate) fn sign(&self, x: &Limbs, inverse: &Scalar) -> Result<Option<Signature>, Fault> {
        let r = Scalar::new(x);
        self.with_sum(&r, &self.sum(&r), inverse)
    }

    /// Returns the signature from z + r d. A wrong sum would reveal bits of d, so the check
    /// computes it again.
    fn with_sum(
        &self,
        r: &Scalar,
        sum: &Scalar,
        inverse: &Scalar,
    ) -> Result<Option<Signature>, Fault> {
        let s = inverse.mul(sum);
        if memcheck::declassified(s.mul(&self.k).equals(&self.sum(r))) == 0 {
            return Err(Fault);
        }
        Ok(Signature::new(r, &s))
    }

    /// Returns z + r d.
    fn sum(&self, r: &Scalar) -> Scalar {
        // black_box: the compiler must not replace the second computation by the first
        let (z, d) = black_box((&self.z, self.d));
        z.add(&black_box(r).mul(d))
    }
}

/// Returns the leftmost 256 bits of a digest as a number (6.4.1, step 2). The caller chooses a hash
/// function of a sufficient length.
fn digest_number(digest: &[u8]) -> Limbs {
    let digest = digest.first_chunk::<32>().map_or(digest, |first| first);
    let mut bytes = [0; 32];
    bytes[32 - digest.len()..].copy_from_slice(digest);
    limbs(&bytes)
}

/// The check of a signature failed; nothing was released. Investigate the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signature failed its check and was not released: investigate the machine")
    }
}

impl core::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_and_zeros_are_refused() {
        let key = SecretKey::from_bytes(&[1; 32]).expect("below n");
        let request = Request { key: &key, digest: &[2; 32], nonce: Nonce::Deterministic };
        let mut draft = Draft::new(&request);
        let inverse = draft.k.inverted();
        let (one, zero) = ([1, 0, 0, 0], [0; 4]);
        let signature = draft.sign(&one, &inverse).expect("no fault").expect("no zero");
        assert!(signature.r == one && signature.s != zero);
        assert_eq!(draft.sign(&one, &inverse.add(&Scalar::ONE)), Err(Fault));
        let wrong = draft.sum(&Scalar::ONE).add(&Scalar::ONE);
        assert_eq!(draft.with_sum(&Scalar::ONE, &wrong, &inverse), Err(Fault));
        // r = 0, and s = 0 because z = -r d
        assert_eq!(draft.sign(&zero, &inverse), Ok(None));
        draft.z = key.0.negated();
        assert_eq!(draft.sign(&one, &inverse), Ok(None));
        // the next nonce is another one
        draft.retry();
        assert!(!draft.k.is_vartime(&inverse.inverted()));
    }
}
