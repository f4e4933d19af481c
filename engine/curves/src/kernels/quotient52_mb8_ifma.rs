// x / z in each of 8 lanes, in the field of 2^255 - 19; 0 where z is 0.
// Inputs x, z; output in words, below p.
//
// The caller inverts the product of all z, and the products of the other lanes turn the inverse
// into that of each lane (Montgomery's trick).
//
// Counts    3 products before the inversion, 5 after it.
// Time      constant: no branch or address depends on x or z.
//! `quotient52_mb8_ifma`: one inversion for eight lanes.

use core::arch::x86_64::*;

use super::field52_ifma::{Element, everywhere, least_words};
use crate::vectors::{V, exchange};

/// Products of neighbouring lanes, which the quotients need.
pub(crate) struct Neighbours {
    /// z of lane l ^ 4.
    one: Element,
    /// The product of the pair of lane l ^ 2.
    pair: Element,
    /// The product of the four lanes of lane l ^ 1.
    four: Element,
    /// All ones in the lanes where z is 0.
    zeros: V,
}

/// Returns the product of all z, in words, below p.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn product52_mb8_ifma(z: &Element) -> ([u64; 4], Neighbours) {
    // a lane with z = 0 would make all products 0: it takes 1
    let mut z = z.least();
    let zeros = z.zeros();
    z.0[0] = _mm512_sub_epi64(z.0[0], zeros);
    let one = z.permuted(exchange(4));
    let pair = z.product(&one);
    let (four, pair) = (pair, pair.permuted(exchange(2)));
    let four = four.product(&pair);
    let (all, four) = (four, four.permuted(exchange(1)));
    let product = least_words(&all.product(&four)).map(|word| word[0]);
    (product, Neighbours { one, pair, four, zeros })
}

/// Returns x / z from the inverse of the product: word i of all lanes in entry i.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(crate) fn quotient52_mb8_ifma(
    x: &Element,
    inverse: &[u64; 4],
    neighbours: &Neighbours,
) -> [[u64; 8]; 4] {
    let Neighbours { one, pair, four, zeros } = neighbours;
    let inverse = everywhere(inverse);
    let others = one.product(pair);
    let x = x.or(*zeros, &Element::zero());
    least_words(&inverse.product(four).product(&others).product(&x))
}
