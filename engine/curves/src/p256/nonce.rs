//! Nonces of signatures.
//!
//! A nonce that is known, repeats, or is biased by a few bits reveals the key. Here it always
//! depends on the key and on the digest, so that no failure of a random generator can make it
//! known.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};
use tollgate_cpu::memcheck;
use zeroize::{Zeroize, Zeroizing};

use super::residue::{Limbs, N, Prime, Scalar, limbs, power_of_two};

/// The source of a signature's nonce.
#[derive(Clone, Copy)]
pub enum Nonce<'a> {
    /// The key and the digest only, by HMAC-DRBG with SHA-256 (RFC 6979, section 3.2): the same
    /// digest gets the same signature.
    Deterministic,
    /// SHA-512 of the key, the digest and 32 random bytes, as in OpenSSL; the 512 bits
    /// are reduced mod n, so that the bias is below 2^-255. Better against attackers that can make
    /// the processor fail, since two signatures of a digest have different nonces; also faster.
    Hedged(&'a [u8; 32]),
}

impl core::fmt::Debug for Nonce<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Deterministic => "Deterministic",
            Self::Hedged(_) => "Hedged(..)",
        })
    }
}

/// The nonces of a signature. Wiped when dropped.
pub(crate) enum Nonces {
    Deterministic(HmacDrbg),
    /// The key, the digest, the random bytes and the number of the next nonce.
    Hedged(Zeroizing<[u8; 97]>),
}

impl Nonces {
    /// `d` is the secret key, `z` the digest as a number mod n.
    pub(crate) fn new(d: &Scalar, z: &Scalar, source: Nonce<'_>) -> Self {
        let (d, z) = (Zeroizing::new(d.to_bytes()), z.to_bytes());
        match source {
            Nonce::Deterministic => Self::Deterministic(HmacDrbg::new(&[&*d, &z])),
            Nonce::Hedged(random) => {
                let mut input = Zeroizing::new([0; 97]);
                input[..32].copy_from_slice(&*d);
                input[32..64].copy_from_slice(&z);
                input[64..96].copy_from_slice(random);
                Self::Hedged(input)
            }
        }
    }

    /// Returns the next nonce, between 1 and n - 1.
    pub(crate) fn next(&mut self) -> Zeroizing<Scalar> {
        match self {
            Self::Deterministic(drbg) => drbg.next(),
            Self::Hedged(input) => loop {
                let k = hashed(&input[..]);
                input[96] = input[96].wrapping_add(1);
                if memcheck::declassified(k.is_zero()) == 0 {
                    return k;
                }
            },
        }
    }
}

/// Returns SHA-512 mod n.
fn hashed(input: &[u8]) -> Zeroizing<Scalar> {
    const R: Limbs = power_of_two(256, &N::M);
    let mut hash = Sha512::digest(input);
    let mut bytes = Zeroizing::new([[0; 32]; 2]);
    bytes.as_flattened_mut().copy_from_slice(&hash);
    hash.zeroize();
    let [high, low] = bytes.each_ref().map(|half| Scalar::new(&limbs(half)));
    Zeroizing::new(high.mul(Scalar::new(&R)).add(low))
}

/// HMAC-DRBG, with the letters of RFC 6979, section 3.2.
pub(crate) struct HmacDrbg {
    k: Zeroizing<[u8; 32]>,
    v: Zeroizing<[u8; 32]>,
    /// A nonce came from k and v.
    used: bool,
}

impl HmacDrbg {
    /// Takes the key and the digest.
    fn new(seed: &[&[u8]; 2]) -> Self {
        // b. and c.
        let mut drbg = Self { k: Zeroizing::new([0; 32]), v: Zeroizing::new([1; 32]), used: false };
        drbg.update(0, seed); // d. and e.
        drbg.update(1, seed); // f. and g.
        drbg
    }

    /// Returns the next nonce, between 1 and n - 1.
    fn next(&mut self) -> Zeroizing<Scalar> {
        loop {
            if self.used {
                self.update(0, &[&[], &[]]); // h. 3.
            }
            self.used = true;
            self.v = self.hmac(&[&*self.v]);
            // refused once in 2^32 times
            let k = Scalar::from_least_bytes(&self.v).map(Zeroizing::new);
            if let Some(k) = k.filter(|k| memcheck::declassified(k.is_zero()) == 0) {
                return k;
            }
        }
    }

    fn update(&mut self, number: u8, [key, digest]: &[&[u8]; 2]) {
        self.k = self.hmac(&[&*self.v, &[number], key, digest]);
        self.v = self.hmac(&[&*self.v]);
    }

    fn hmac(&self, parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.k).expect("HMAC takes any key");
        parts.iter().for_each(|part| mac.update(part));
        let mut bytes = mac.finalize().into_bytes();
        let output = Zeroizing::new(bytes.into());
        bytes.zeroize();
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nonce of a signature depends on each input, and the next one is different.
    #[test]
    fn hedged_nonces_depend_on_everything() {
        let nonce = |d: u64, z: u64, random: u8| {
            let (d, z) = (Scalar::new(&[d, 0, 0, 0]), Scalar::new(&[z, 0, 0, 0]));
            let mut nonces = Nonces::new(&d, &z, Nonce::Hedged(&[random; 32]));
            [*nonces.next(), *nonces.next()]
        };
        let all = [nonce(1, 1, 1), nonce(2, 1, 1), nonce(1, 2, 1), nonce(1, 1, 2)];
        let all = all.as_flattened();
        for (i, k) in all.iter().enumerate() {
            assert!(!all[..i].contains(k), "nonce {i}");
        }
        assert_eq!(nonce(1, 1, 1), all[..2]);
    }

    /// SHA-512 of "abc" (FIPS 180-2, section C.1) mod n.
    #[test]
    fn all_bits_of_the_hash_count() {
        let hash = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                    2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
        let bit = |digit: char, b: u32| digit.to_digit(16).expect("hex") >> b & 1 == 1;
        let bits = hash.chars().flat_map(|digit| [3, 2, 1, 0].map(|b| bit(digit, b)));
        let number = bits.fold(Scalar::ZERO, |sum, bit| {
            let twice = sum.add(sum);
            if bit { twice.add(Scalar::ONE) } else { twice }
        });
        assert_eq!(*hashed(b"abc"), number);
    }
}
