//! Products of numbers in limbs, computed in lane blocks, and the final reduction.

use zeroize::Zeroize;

use super::{Blocks, LIMBS, low};
use crate::carry;
use crate::contract::Kernel;
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

/// z := x * y * 2^{-64 K} mod m, each of K limbs: the same product as that of the limb kernels, but
/// always below m. `set` is m in lane blocks. `t` has three rows for each row of `set`.
pub(crate) fn amm<K: Kernel<Word = Row>>(
    kernel: K,
    set: &Modulus<Row>,
    m: &Modulus<u64>,
    z: &mut [u64],
    x: &[u64],
    y: &[u64],
    t: &mut [Row],
) {
    let blocks = Blocks::of_shape(set.shape());
    let (a, t) = t.split_at_mut(blocks.k);
    let (b, t) = t.split_at_mut(blocks.k);
    let (product, t) = t.split_at_mut(blocks.k);
    blocks.pack(a, 0, x);
    blocks.pack(b, 0, y);
    kernel.amm(product, a, b, set, t);
    // `product` may be 8m or more, since x and y may be that large. But `product` is below R, and
    // the other operand is below m.
    kernel.amm(a, product, set.exit_factor(), set, t);
    canonical(z, a, 0, blocks, m);
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
