//! The final reduction of numbers in lane blocks, to limbs.

use zeroize::Zeroize;

use super::{Blocks, LIMBS, low};
use crate::carry;
use crate::modulus::Modulus;
use crate::word::{Row, Word, bits_at};

impl Blocks {
    /// z := x mod m in limbs, for the x < 8m in the lanes of `number`.
    ///
    /// # Panics
    ///
    /// If z and m differ in their number of limbs, or m belongs to another layout.
    pub fn reduce(self, z: &mut [u64], x: &[Row], number: usize, m: &Modulus<u64>) {
        assert!(z.len() == m.k() && Self::of_limbs(m.shape()) == Some(self), "m has another size");
        canonical(z, x, number, self, m);
    }
}

/// z := x mod m for the x < 8m in the lanes of `number`.
#[inline(never)] // as `Blocks::pack`
pub(super) fn canonical(z: &mut [u64], x: &[Row], number: usize, blocks: Blocks, m: &Modulus<u64>) {
    let mut limbs = [0; LIMBS];
    let limbs = &mut limbs[..=z.len()];
    blocks.unpack(limbs, x, number);
    // q = floor(x / m) or one less, estimated from the highest 32 bits of m
    let at = m.bits().saturating_sub(32);
    let (top, divisor) = (bits_at(limbs, at), bits_at(m.m(), at).wrapping_add(u64::from(at > 0)));
    let q = (1..8u64).fold(0u64, |q, i| {
        let below = top.wrapping_sub(divisor.wrapping_mul(i)) >> 63; // both are below 2^36
        q.wrapping_add(below ^ 1)
    });
    let (mut carry, mut borrow) = (0u128, 0);
    for (j, x) in limbs.iter_mut().enumerate() {
        let m = m.m().get(j).copied().unwrap_or(0);
        carry = carry.wrapping_add(u128::from(m).wrapping_mul(u128::from(q)));
        *x = x.sub_borrow(low(carry), &mut borrow);
        carry >>= 64;
    }
    // the remainder is below 2m
    let above = limbs[z.len()];
    z.copy_from_slice(&limbs[..z.len()]);
    carry::subtract_once(z, m.m(), above);
    limbs.zeroize();
}
