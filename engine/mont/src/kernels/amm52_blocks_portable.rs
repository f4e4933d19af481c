// Almost Montgomery multiply (AMM), z :== x * y / R (mod m), of numbers in lane blocks.
// Inputs x[K], y[K], m[K], k0; output z[K]. Layout and R: `blocks.rs`.
//
// Requires  m odd; x, y < 8m < R; k0 = -1/m mod 2^52. Digits may be dirty: their low 52 bits count.
// Ensures   z < 2m + x*y/R, digits of z clean, z :== x*y/R (mod m), for each number of the rows.
// Counts    2 * rows products of a digit and a number.
// Time      constant: no branch or address depends on x, y, m or k0.
//! `amm52_blocks_portable`: the textbook method, number by number, on limbs. Other kernels on lane
//! blocks are tested against it.

use zeroize::Zeroize;

use crate::blocks::Blocks;
use crate::word::{DIGIT, Row};

/// The number of limbs of the longest number, plus two for the products that a row adds.
const LIMBS: usize = 67;

pub(crate) fn amm52_blocks_portable(
    z: &mut [Row],
    x: &[Row],
    y: &[Row],
    m: &[Row],
    k0: Row,
    blocks: Blocks,
) {
    let (mut factor, mut modulus, mut t) = ([0; LIMBS], [0; LIMBS], [0; LIMBS]);
    for number in 0..blocks.numbers() {
        blocks.unpack(&mut factor, y, number);
        blocks.unpack(&mut modulus, m, number);
        t.fill(0);
        let first = number * blocks.lanes();
        let k0 = k0.0[first];
        for row in 0..blocks.rows() {
            let (l, k) = (row / blocks.k(), row % blocks.k());
            // Multiply by all 52 bits of the top digit of a block, though the next digit begins 51
            // bits higher.
            let bits = if k + 1 == blocks.k() { 51 } else { 52 };
            add_product(&mut t, x[k].0[first + l] & DIGIT, &factor);
            let q = t[0].wrapping_mul(k0) & (DIGIT >> (52 - bits));
            add_product(&mut t, q, &modulus);
            for i in 0..LIMBS - 1 {
                t[i] = t[i] >> bits | t[i + 1] << (64 - bits);
            }
            t[LIMBS - 1] >>= bits;
        }
        blocks.pack(z, number, &t[..LIMBS - 2]); // t is below 8m
    }
    (factor, modulus, t).zeroize();
}

/// t := t + digit * x.
fn add_product(t: &mut [u64; LIMBS], digit: u64, x: &[u64; LIMBS]) {
    let mut carry = 0u128;
    for (t, x) in t.iter_mut().zip(x) {
        let product = u128::from(*x).wrapping_mul(u128::from(digit));
        carry = carry.wrapping_add(product).wrapping_add(u128::from(*t));
        #[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
        {
            *t = carry as u64;
        }
        carry >>= 64;
    }
}
