//! Nonces of signatures.
//!
//! A nonce that is known, repeats, or is biased by a few bits reveals the key. Here it always
//! depends on the key and on the digest, so that no failure of a random generator can make it
//! known.

use hmac::{KeyInit as _, Mac as _};
use sha2::{Digest, Sha256, Sha512};
use tollgate_cpu::memcheck;

use crate::residue::{Limbs, Scalar, bytes};

/// The source of a signature's nonce.
#[derive(Clone, Copy)]
pub enum Nonce<'a> {
    /// The key and the digest only, by HMAC-DRBG with SHA-256 (RFC 6979, section 3.2): the same
    /// digest gets the same signature.
    Deterministic,
    /// The same with another hash function, of which this is HMAC: RFC 6979 takes that of the
    /// digest.
    DeterministicBy(Hmac<'a>),
    /// SHA-512 of the key, the digest and 32 random bytes, as in OpenSSL; the 512 bits
    /// are reduced mod n, so that the bias is below 2^-255. Better against attackers that can make
    /// the processor fail, since two signatures of a digest have different nonces; also faster.
    Hedged(&'a [u8; 32]),
}

/// HMAC (RFC 2104) of all parts under a key of at most 64 bytes. Writes at most 64 bytes, and
/// returns their number, which is that of the hash function's digests.
pub type Hmac<'a> = &'a (dyn Fn(&[u8], &[&[u8]], &mut [u8; 64]) -> usize + Sync);

impl core::fmt::Debug for Nonce<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Deterministic => "Deterministic",
            Self::DeterministicBy(_) => "DeterministicBy(..)",
            Self::Hedged(_) => "Hedged(..)",
        })
    }
}

/// The nonces of a signature.
pub(crate) enum Nonces<'a> {
    Deterministic(HmacDrbg<'a>),
    /// The key, the digest, the random bytes and the number of the next nonce.
    Hedged([u8; 97]),
}

impl<'a> Nonces<'a> {
    /// `d` is the secret key, `z` the digest as the least number mod n.
    pub(crate) fn new(d: &Scalar, z: &Limbs, source: Nonce<'a>) -> Self {
        let z = bytes(z);
        let deterministic = |hmac| Self::Deterministic(HmacDrbg::new(hmac, &[&d.to_bytes(), &z]));
        match source {
            Nonce::Deterministic => deterministic(&hmac_sha256),
            Nonce::DeterministicBy(hmac) => deterministic(hmac),
            Nonce::Hedged(random) => {
                let mut input = [0; 97];
                // any form of the key will do: this one needs no product
                input[..32].copy_from_slice(&bytes(&d.0));
                input[32..64].copy_from_slice(&z);
                input[64..96].copy_from_slice(random);
                Self::Hedged(input)
            }
        }
    }

    /// Returns the next nonce, between 1 and n - 1.
    pub(crate) fn next(&mut self) -> Scalar {
        match self {
            Self::Deterministic(drbg) => drbg.next(),
            Self::Hedged(input) => loop {
                let hash = Sha512::digest(&input[..]);
                let mut words = [0; 8];
                for (word, bytes) in words.iter_mut().zip(hash.as_chunks().0) {
                    *word = u64::from_be_bytes(*bytes);
                }
                let k = reduced(&words);
                input[96] = input[96].wrapping_add(1);
                if memcheck::declassified(k.is_zero()) == 0 {
                    return k;
                }
            },
        }
    }

    /// Returns the block that SHA-512 hashes for the next nonce (FIPS 180-4, section 5.1.2), or
    /// zeros if the nonces are deterministic.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn block(&self) -> [u64; 16] {
        let mut words = [0; 16];
        if let Self::Hedged(input) = self {
            let mut block = [0; 128];
            block[..97].copy_from_slice(&input[..]);
            block[97] = 0x80;
            for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
                *word = u64::from_be_bytes(*bytes);
            }
            words[15] = 8 * 97; // the length in bits
        }
        words
    }

    /// The same as [`next`](Self::next), with the hash of the block.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn next_from(&mut self, hash: &[u64; 8]) -> Scalar {
        if let Self::Hedged(input) = self {
            let k = reduced(hash);
            if memcheck::declassified(k.is_zero()) == 0 {
                input[96] = input[96].wrapping_add(1);
                return k;
            }
        }
        self.next()
    }
}

/// Returns a hash mod n.
fn reduced(&[h0, h1, h2, h3, h4, h5, h6, h7]: &[u64; 8]) -> Scalar {
    Scalar::new_long(&[h3, h2, h1, h0], &[h7, h6, h5, h4])
}

/// HMAC-DRBG, with the letters of RFC 6979, section 3.2. The hash function's digests have `len`
/// bytes.
pub(crate) struct HmacDrbg<'a> {
    hmac: Hmac<'a>,
    k: [u8; 64],
    v: [u8; 64],
    len: usize,
    /// A nonce came from k and v.
    used: bool,
}

impl<'a> HmacDrbg<'a> {
    /// Takes the key and the digest.
    fn new(hmac: Hmac<'a>, seed: &[&[u8]; 2]) -> Self {
        let len = hmac(&[], &[], &mut [0; 64]);
        // b. and c.
        let mut drbg = Self { hmac, k: [0; 64], v: [1; 64], len, used: false };
        drbg.update(0, seed); // d. and e.
        drbg.update(1, seed); // f. and g.
        drbg
    }

    /// Returns the next nonce, between 1 and n - 1.
    fn next(&mut self) -> Scalar {
        loop {
            if self.used {
                self.update(0, &[&[], &[]]); // h. 3.
            }
            self.used = true;
            let mut t = [0; 32];
            for part in t.chunks_mut(self.len) {
                self.v = self.hmac(&[&self.v[..self.len]]);
                part.copy_from_slice(&self.v[..part.len()]);
            }
            // with SHA-256, refused once in 2^32 times
            let k = Scalar::from_least_bytes(&t);
            if let Some(k) = k.filter(|k| memcheck::declassified(k.is_zero()) == 0) {
                return k;
            }
        }
    }

    fn update(&mut self, number: u8, [key, digest]: &[&[u8]; 2]) {
        self.k = self.hmac(&[&self.v[..self.len], &[number], key, digest]);
        self.v = self.hmac(&[&self.v[..self.len]]);
    }

    fn hmac(&self, parts: &[&[u8]]) -> [u8; 64] {
        let mut output = [0; 64];
        (self.hmac)(&self.k[..self.len], parts, &mut output);
        output
    }
}

fn hmac_sha256(key: &[u8], parts: &[&[u8]], output: &mut [u8; 64]) -> usize {
    let mut mac = hmac::Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes any key");
    parts.iter().for_each(|part| mac.update(part));
    let bytes = mac.finalize().into_bytes();
    output[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nonce of a signature depends on each input, and the next one is different.
    #[test]
    fn hedged_nonces_depend_on_everything() {
        let nonce = |d: u64, z: u64, random: u8| {
            let (d, z) = (Scalar::new(&[d, 0, 0, 0]), [z, 0, 0, 0]);
            let random = [random; 32];
            let mut nonces = Nonces::new(&d, &z, Nonce::Hedged(&random));
            [nonces.next().number(), nonces.next().number()]
        };
        let all = [nonce(1, 1, 1), nonce(2, 1, 1), nonce(1, 2, 1), nonce(1, 1, 2)];
        let all = all.as_flattened();
        for (i, k) in all.iter().enumerate() {
            assert!(!all[..i].contains(k), "nonce {i}");
        }
        assert_eq!(nonce(1, 1, 1), all[..2]);
    }

    #[test]
    fn all_bits_of_the_hash_count() {
        let hash = core::array::from_fn(|i| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i as u64 + 1));
        let bits = hash.iter().flat_map(|word| (0..64).rev().map(move |b| word >> b & 1 == 1));
        let number = bits.fold(Scalar::ZERO, |sum, bit| {
            let twice = sum.add(&sum);
            if bit { twice.add(&Scalar::ONE) } else { twice }
        });
        assert!(reduced(&hash).is_vartime(&number));
    }
}
