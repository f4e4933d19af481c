//! Keys of two classes for timing tests, which differ only in secret numbers.

use openssl::bn::{BigNum, BigNumContext};
use tollgate_rsa::{KeyParts, PrivateKey};

use crate::BITS;
use crate::made::key_from;

/// The number of keys per class.
pub(crate) const KEYS: usize = 8;

/// The number of primes: enough that some of their products are close to each other.
const PRIMES: usize = 64;

/// The numbers of one key that is loaded repeatedly, and of others.
///
/// Their moduli are close to each other. Blinding factors are drawn until one is below the modulus,
/// so the time depends on the modulus. This is not a leak, since the modulus is public.
pub(crate) struct Numbers {
    fixed: KeyParts,
    others: Vec<KeyParts>,
}

/// Loaded keys: copies of the fixed one, and others.
pub(crate) struct Keys {
    pub(crate) classes: [Vec<PrivateKey>; 2],
    /// Allocations between the loaded keys.
    _gaps: Vec<Vec<u8>>,
}

impl Numbers {
    pub(crate) fn new() -> Self {
        let context = &mut BigNumContext::new().unwrap();
        let primes: Vec<BigNum> = (0..PRIMES).map(|_| prime()).collect();
        let mut keys = Vec::new();
        for (i, p) in primes.iter().enumerate() {
            for q in &primes[..i] {
                let mut n = BigNum::new().unwrap();
                n.checked_mul(p, q, context).unwrap();
                keys.push((n, [p, q]));
            }
        }
        keys.sort_by(|(a, _), (b, _)| a.cmp(b));
        let width = |keys: &[(BigNum, _)]| &keys[KEYS].0 - &keys[0].0;
        let near = keys.windows(KEYS + 1).min_by_key(|keys| width(keys)).unwrap();
        let e = BigNum::from_u32(65537).unwrap();
        let mut parts = near.iter().map(|(_, [p, q])| key_from(p, q, &e).unwrap());
        Self { fixed: parts.next().unwrap(), others: parts.collect() }
    }

    /// Loads each class in equally many places, in random order, with gaps of random size, since a
    /// key cannot be reloaded in place.
    pub(crate) fn load(&self, rng: &mut fastrand::Rng) -> Keys {
        let fixed = self.others.iter().map(|_| (0, &self.fixed));
        let mut keys: Vec<_> = fixed.chain(self.others.iter().map(|other| (1, other))).collect();
        rng.shuffle(&mut keys);
        let (mut classes, mut gaps) = ([Vec::new(), Vec::new()], Vec::new());
        for (class, parts) in keys {
            gaps.push(vec![0; rng.usize(..1 << 14)]);
            classes[class].push(PrivateKey::from_parts(parts).unwrap());
        }
        Keys { classes, _gaps: gaps }
    }
}

/// Returns a random prime p with p - 1 coprime to e.
fn prime() -> BigNum {
    let mut p = BigNum::new().unwrap();
    let one = BigNum::from_u32(1).unwrap();
    loop {
        p.generate_prime(BITS.try_into().unwrap(), false, None, None).unwrap();
        if (&p - &one).mod_word(65537).unwrap() != 0 {
            return p;
        }
    }
}
