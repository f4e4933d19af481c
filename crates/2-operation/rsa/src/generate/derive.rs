//! The numbers of a key from its primes and its public exponent.
//!
//! 1/e modulo m is (1 + x m) / e with x = -1/m mod e: so nothing longer than e is inverted.
//! Written without secret branches, but compiled with some, in divisions and the gcd of
//! `crypto-bigint`: SOUNDNESS says what they show. What is made on the way is zeroized.

use crypto_bigint::{BoxedUint, CtGt, NonZero, Odd};
use tollgate_mont::{Kernel as _, LimbKernel, Modulus, Shape};
use zeroize::Zeroizing;

use super::gcd;
use crate::key::to_bytes;
use crate::parts::KeyParts;
use crate::validate::{minus_one, number, product};

type Number = Zeroizing<BoxedUint>;

/// A public exponent.
pub(super) struct Exponent(Odd<BoxedUint>);

impl Exponent {
    /// From big-endian bytes without leading zeros; odd.
    pub(super) fn new(e: &[u8]) -> Self {
        let e = number(e, e.len());
        Self(Odd::new((*e).clone()).expect("a checked exponent is odd"))
    }

    /// Whether it has an inverse modulo p - 1.
    pub(super) fn fits(&self, p: &[u64]) -> bool {
        self.inverse(&minus_one(&words(p))).is_some()
    }

    /// 1/e mod m, if there is one.
    fn inverse(&self, m: &BoxedUint) -> Option<Number> {
        let e = self.0.as_nz_ref();
        let (quotient, rest) = m.div_rem(e);
        let (_quotient, rest) = (Zeroizing::new(quotient), Zeroizing::new(rest));
        let inverse = Zeroizing::new(rest.invert_odd_mod(&self.0).into_option()?);
        let x = Zeroizing::new(e.as_ref().wrapping_sub(&*inverse));
        let mut multiple = product(&x, m);
        let one = BoxedUint::one_with_precision(multiple.bits_precision());
        *multiple = multiple.wrapping_add(&one);
        let (quotient, _zero) = multiple.div_rem(e);
        Some(Zeroizing::new(quotient))
    }
}

/// All numbers; None if d is not above 2^{bits / 2}.
pub(super) fn key_parts(
    kernel: LimbKernel,
    p: &[u64],
    q: &[u64],
    e: &Exponent,
    bits: usize,
) -> Option<KeyParts> {
    let q_inv = inverse_modulo_prime(kernel, q, p, bits / 2);
    let gcd = words(&gcd::of_both_less_one(p, q));
    let (p, q) = (words(p), words(q));
    let (p_1, q_1) = (minus_one(&p), minus_one(&q));
    let (d_p, d_q) = (e.inverse(&p_1)?, e.inverse(&q_1)?);
    // lcm(p-1, q-1)
    let gcd = Zeroizing::new(NonZero::new((*gcd).clone()).expect("neither is zero"));
    let (quotient, _zero) = p_1.div_rem(&gcd);
    let d = e.inverse(&product(&Zeroizing::new(quotient), &q_1))?;

    let mut bound = vec![0; d.nlimbs()];
    bound[bits / 2 / 64] = 1 << (bits / 2 % 64);
    if !bool::from(d.ct_gt(&BoxedUint::from_words(bound))) {
        return None;
    }
    let secret = |x: &BoxedUint, bits: usize| {
        let mut bytes = Zeroizing::new(vec![0; bits.div_ceil(8)]);
        to_bytes(&mut bytes, x.as_words());
        bytes
    };
    Some(KeyParts {
        n: secret(&product(&p, &q), bits).to_vec(),
        e: {
            let e = e.0.as_ref();
            secret(e, e.bits_vartime() as usize).to_vec()
        },
        d: secret(&d, bits),
        p: secret(&p, bits / 2),
        q: secret(&q, bits / 2),
        d_p: secret(&d_p, bits / 2),
        d_q: secret(&d_q, bits / 2),
        q_inv: secret(&words(&q_inv), bits / 2),
    })
}

/// 1/x mod p = x^{p - 2}.
fn inverse_modulo_prime(
    kernel: LimbKernel,
    x: &[u64],
    p: &[u64],
    bits: usize,
) -> Zeroizing<Vec<u64>> {
    let shape = Shape::limbs(bits);
    let modulus = Modulus::<u64>::new(p, shape).expect("a prime above 2 is odd");
    let exponent = Zeroizing::new(words(p).wrapping_sub(BoxedUint::from(2u8)));
    let mut z = Zeroizing::new(vec![0; modulus.k()]);
    let mut t = Zeroizing::new(vec![0; kernel.exp_words(shape, bits)]);
    kernel.exp(&modulus, bits, x, exponent.as_words(), &mut z, &mut t);
    z
}

fn words(x: &[u64]) -> Number {
    Zeroizing::new(BoxedUint::from_words(x.iter().copied()))
}
