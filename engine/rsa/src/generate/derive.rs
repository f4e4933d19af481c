//! The numbers of a key from its primes and its public exponent.
//!
//! 1/e modulo m is (1 + x m) / e with x = -1/m mod e, so only numbers of e's length are inverted.
//! Intermediate results are zeroized.

use tollgate_cpu::memcheck;
use tollgate_mont::{Exponentiate as _, LimbKernel, Modulus, Shape};
use zeroize::Zeroizing;

use super::gcd;
use crate::natural::{
    Natural, bit_length, divided, is_below, is_equal, less_one, natural, product, secret_bytes,
    subtract,
};
use crate::parts::KeyParts;

/// A public exponent.
pub(crate) struct Exponent(Natural);

impl Exponent {
    /// Reads an odd number from big-endian bytes without leading zeros.
    pub(crate) fn new(e: &[u8]) -> Self {
        Self(natural(e, e.len()))
    }

    /// Returns `true` if it has an inverse modulo p - 1.
    pub(crate) fn fits(&self, p: &[u64]) -> bool {
        self.inverse(&less_one(p)).is_some()
    }

    /// Returns 1/e mod m, if it exists.
    fn inverse(&self, m: &[u64]) -> Option<Natural> {
        let e = &*self.0;
        let (_, rest) = divided(&[], m, e);
        let (gcd, inverse) = gcd::of_odd(e, &rest[..e.len()]);
        if memcheck::declassified(is_equal(&gcd, &[1])) == 0 {
            return None;
        }
        let mut x = self.0.clone();
        subtract(&mut x, &inverse, u64::MAX);
        let mut multiple = product(&x, m);
        multiple[0] |= 1; // adds 1: x m is even
        let (low, high) = multiple.split_at(m.len());
        let (quotient, _zero) = divided(high, low, e);
        Some(quotient)
    }
}

/// Computes all numbers of the key; returns `None` if d is not above 2^{bits / 2}.
pub(crate) fn key_parts(
    kernel: LimbKernel,
    p: &[u64],
    q: &[u64],
    e: &Exponent,
    bits: usize,
) -> Option<KeyParts> {
    let q_inv = inverse_modulo_prime(kernel, q, p, bits / 2);
    let (p_1, q_1) = (less_one(p), less_one(q));
    let (d_p, d_q) = (e.inverse(&p_1)?, e.inverse(&q_1)?);
    // lcm(p-1, q-1)
    let (quotient, _zero) = divided(&[], &p_1, &gcd::of_both_less_one(p, q));
    let d = e.inverse(&product(&quotient, &q_1))?;

    let mut bound = vec![0; d.len()];
    bound[bits / 2 / 64] = 1 << (bits / 2 % 64);
    if memcheck::declassified(is_below(&bound, &d)) == 0 {
        return None;
    }
    Some(KeyParts {
        n: secret_bytes(&product(p, q), bits).to_vec(),
        e: secret_bytes(&e.0, bit_length(&e.0)).to_vec(),
        d: secret_bytes(&d, bits),
        p: secret_bytes(p, bits / 2),
        q: secret_bytes(q, bits / 2),
        d_p: secret_bytes(&d_p, bits / 2),
        d_q: secret_bytes(&d_q, bits / 2),
        q_inv: secret_bytes(&q_inv, bits / 2),
    })
}

/// Computes 1/x mod p as x^{p - 2}.
fn inverse_modulo_prime(kernel: LimbKernel, x: &[u64], p: &[u64], bits: usize) -> Natural {
    let shape = Shape::limbs(bits);
    let modulus = Modulus::<u64>::new(p, shape).expect("a prime above 2 is odd");
    let mut exponent = Zeroizing::new(p.to_vec());
    subtract(&mut exponent, &[2], u64::MAX);
    let mut z = Zeroizing::new(vec![0; modulus.k()]);
    let mut t = Zeroizing::new(vec![0; kernel.exp_words(shape, bits)]);
    kernel.exp(&modulus, bits, x, &exponent, &mut z, &mut t);
    z
}
