//! A modulus that is public and often serves a single power, such as the key of a certificate.
//!
//! [`Modulus::new`] computes the constants of all operations, in constant time. A power with a
//! public exponent needs few of them, and they can be computed faster.

use zeroize::Zeroize;

use super::field::Field;
use super::in_blocks::packed;
use super::{Modulus, NotOdd, checked};
use crate::blocks::Blocks;
use crate::carry;
use crate::shape::Shape;
use crate::word::bits_at;

impl<W: Zeroize + Default> Modulus<W> {
    /// Returns a modulus without its numbers.
    pub(super) fn empty(shape: Shape, bits: usize) -> Self {
        Self {
            shape,
            bits,
            m: Vec::new(),
            one: Vec::new(),
            rr: Vec::new(),
            upper: Vec::new(),
            fold: Vec::new(),
            plain_one: Vec::new(),
            k0: W::default(),
            blocks: None,
        }
    }
}

impl Modulus<u64> {
    /// Creates a public modulus for [`Exponentiate::exp_vartime`](crate::Exponentiate::exp_vartime)
    /// alone, with exponents above 1. The time depends on m. Other operations panic, since their
    /// constants are empty.
    ///
    /// # Errors
    ///
    /// [`NotOdd`] for an even m or for 1.
    ///
    /// # Panics
    ///
    /// In the same cases as [`new`](Self::new), or if m has fewer than 64 bits.
    pub fn new_vartime(m: &[u64], shape: Shape) -> Result<Self, NotOdd> {
        let (m, bits) = checked::<u64>(m, shape)?;
        let field = Field::new(m, bits);
        let mut this = Self::empty(shape, bits);
        this.k0 = field.k0;
        this.m = padded(m, shape.k());
        let mut power = Power::new(m, bits, shape.k());
        this.rr = power.raise_to(2 * shape.r_bits());
        this.blocks = Blocks::of_limbs(shape).map(|blocks| {
            let mut set = Modulus::bare_in_blocks(blocks, m, &field);
            set.rr = packed(blocks, &power.raise_to(2 * blocks.r_bits()));
            Box::new(set)
        });
        Ok(this)
    }
}

/// A power of two modulo m.
struct Power {
    /// The power, below 3m: one limb more than m.
    x: Vec<u64>,
    /// m, as long as x.
    m: Vec<u64>,
    bits: usize,
    exponent: usize,
}

/// The largest number of bits by which [`Power::double`] shifts.
const STEP: usize = 30;

impl Power {
    /// Returns 2^(bits - 1), for an m of `bits` bits and at most k limbs.
    fn new(m: &[u64], bits: usize, k: usize) -> Self {
        assert!(bits >= 64, "a modulus of {bits} bits is too short");
        let mut x = vec![0; k + 1];
        x[(bits - 1) / 64] = 1 << ((bits - 1) % 64);
        Self { x, m: padded(m, k + 1), bits, exponent: bits - 1 }
    }

    /// Returns 2^`exponent` mod m, for an exponent that is not below those of earlier calls.
    fn raise_to(&mut self, exponent: usize) -> Vec<u64> {
        assert!(exponent >= self.exponent, "powers are taken in ascending order");
        while self.exponent < exponent {
            self.double(STEP.min(exponent - self.exponent));
        }
        let mut z = self.x.clone();
        carry::reduce(&mut z, &self.m);
        z.truncate(z.len() - 1);
        z
    }

    /// x := x * 2^s - q * m for 1 <= s <= [`STEP`], with a q that keeps x below 3m.
    ///
    /// Let M = m / 2^(bits - 32), which is at least 2^31 and below 2^32, d = floor(M) + 1, y = x *
    /// 2^s, u = floor(y / 2^(bits - 32)) and q = floor(u / d). From x < 3m, u < 2^32 M < 2^64.
    /// Since d > M, q <= y / m. And y / m < (u + 1) / M, so y / m - q < u (1/M - 1/d) + 1/M + 1
    /// <= 2^32 / d + 1/M + 1 < (2 - 2^-30) + 2^-31 + 1 < 3.
    fn double(&mut self, s: usize) {
        let at = self.bits - 32;
        let q = bits_at(&self.x, at - s) / (bits_at(&self.m, at) + 1);
        let mut sum = 0i128; // the terms are below 2^98
        for (x, m) in self.x.iter_mut().zip(&self.m) {
            let product = u128::from(q).wrapping_mul(u128::from(*m)).cast_signed();
            let term = (u128::from(*x) << s).cast_signed().wrapping_sub(product);
            sum = (sum >> 64).wrapping_add(term);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "low half")]
            {
                *x = sum as u64;
            }
        }
        self.exponent += s;
    }
}

fn padded(x: &[u64], len: usize) -> Vec<u64> {
    let mut z = x.to_vec();
    z.resize(len, 0);
    z
}
