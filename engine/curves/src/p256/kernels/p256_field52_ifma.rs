// The field of P-256 in eight lanes: digits, products and carries.
//
// Numbers have five digits of radix 2^52 and Montgomery form (R = 2^260). p = -1 mod 2^96, so the
// quotient digit of a reduction is the digit itself, and a row adds q (2^96 + 2^192 + 2^256 -
// 2^224).
//
// Bounds    u = 2^256. A product of numbers below a u and b u is reduced to less than (a b / 16 +
//           1) u. Numbers stay below 13 u, so four bits of digit 4 are free. Columns stay below
//           2^60.
// Counts    a product has 50 vpmadd52, a square 30, a reduction 30.
// Time      constant: no branch and no address depends on a number.
//! Five digits in eight lanes. `Element` is carried, `Columns` are not, `Product` is not reduced.

use core::arch::x86_64::*;

use crate::residue::{Limbs, P, Prime, power_of_two};
use crate::vectors::{self, BITS, MASK, V, all, hi, joined, lo, vector};
pub(crate) use crate::vectors::{multiply_add, square};

/// A carried number. The low 52 bits of each digit count; digit 4 has no others.
pub(crate) type Element = [V; 5];

/// A number as the sum of signed columns.
pub(crate) type Columns = [V; 5];

/// A product as the sum of signed columns.
pub(crate) type Product = [V; 10];

/// The digits of a number.
pub(crate) const fn digits(x: &Limbs) -> [u64; 5] {
    [
        x[0] & MASK,
        (x[0] >> 52 | x[1] << 12) & MASK,
        (x[1] >> 40 | x[2] << 24) & MASK,
        (x[2] >> 28 | x[3] << 36) & MASK,
        x[3] >> 16,
    ]
}

/// Eight numbers in limbs: limb i of all in entry i.
pub(crate) type Lanes = [[u64; 8]; 4];

/// Puts numbers below 2^256 into Montgomery form. The results are clean and below (1 + 2^-24) u.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn from_numbers(x: &Lanes) -> Element {
    const RR: [u64; 5] = digits(&power_of_two(520, &P::M));
    let rr = RR.map(|digit| _mm512_set1_epi64(digit.cast_signed()));
    clean(&folded(&reduced(product(&vectors::digits(x.map(vector)), &rr))))
}

/// Puts a number below 2^256 into Montgomery form, in all lanes. The result is clean and below
/// (1 + 2^-24) u.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn everywhere(x: &Limbs) -> Element {
    from_numbers(&x.map(|limb| [limb; 8]))
}

/// Takes clean numbers out of Montgomery form. The results are at most p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn to_numbers(x: &Element) -> Lanes {
    let o = all(0);
    joined(clean(&carried(&reduced([x[0], x[1], x[2], x[3], x[4], o, o, o, o, o]))))
}

/// R mod p, the Montgomery form of 1.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn one() -> Element {
    const ONE: [u64; 5] = digits(&power_of_two(260, &P::M));
    ONE.map(|digit| _mm512_set1_epi64(digit.cast_signed()))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn product(x: &Element, y: &Element) -> Product {
    multiply_add([all(0); 10], x, y)
}

/// Returns z / R mod p, below z / R + p; negative if z is, but above z / R.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn reduced(mut z: Product) -> Columns {
    // 2^96 = 2^52 2^44, 2^192 = 2^156 2^36, 2^256 - 2^224 = 2^208 (2^48 - 2^16)
    let (c1, c3, c4) = (all(1 << 44), all(1 << 36), all((1 << 48) - (1 << 16)));
    macro_rules! rows {
        ($($i:literal)*) => { $(
            let q = z[$i];
            z[$i + 1] = lo(_mm512_add_epi64(z[$i + 1], _mm512_srai_epi64::<BITS>(q)), q, c1);
            z[$i + 2] = hi(z[$i + 2], q, c1);
            z[$i + 3] = lo(z[$i + 3], q, c3);
            z[$i + 4] = hi(lo(z[$i + 4], q, c4), q, c3);
            z[$i + 5] = hi(z[$i + 5], q, c4);
        )* };
    }
    rows!(0 1 2 3 4);
    [z[5], z[6], z[7], z[8], z[9]]
}

/// Carries. The number is not negative.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn carried(z: &Columns) -> Element {
    let mut z = *z;
    macro_rules! carries {
        ($($i:literal)*) => { $(
            z[$i + 1] = _mm512_add_epi64(z[$i + 1], _mm512_srai_epi64::<BITS>(z[$i]));
        )* };
    }
    carries!(0 1 2 3);
    z
}

/// Carries a number between 0 and 2^262, and subtracts a multiple of p. The result is below
/// (1 + 2^-24) u.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn folded(z: &Columns) -> Element {
    // Columns below 4 are less than 2^60, so they change the number by less than 2^8 in digit 4. If
    // c > 0, then c (2^256 - p) is more than they can subtract. If c = 0, nothing is subtracted,
    // and if c = -1, p is added.
    let c = _mm512_srai_epi64::<48>(z[4]);
    // c 2^256 = c (2^224 - 2^192 - 2^96 + 1) mod p
    carried(&[
        _mm512_add_epi64(z[0], c),
        _mm512_sub_epi64(z[1], _mm512_slli_epi64::<44>(c)),
        z[2],
        _mm512_sub_epi64(z[3], _mm512_slli_epi64::<36>(c)),
        _mm512_add_epi64(_mm512_and_si512(z[4], all((1 << 48) - 1)), _mm512_slli_epi64::<16>(c)),
    ])
}

/// Removes what was carried from the digits, so that they can be added.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn clean(x: &Element) -> Element {
    let mask = all(MASK);
    let low = |x| _mm512_and_si512(x, mask);
    [low(x[0]), low(x[1]), low(x[2]), low(x[3]), x[4]]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn mul(x: &Element, y: &Element) -> Element {
    carried(&reduced(product(x, y)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn sqr(x: &Element) -> Element {
    carried(&reduced(square(x)))
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn add<const K: usize>(x: &[V; K], y: &[V; K]) -> [V; K] {
    let mut z = *x;
    for i in 0..K {
        z[i] = _mm512_add_epi64(x[i], y[i]);
    }
    z
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn sub<const K: usize>(x: &[V; K], y: &[V; K]) -> [V; K] {
    let mut z = *x;
    for i in 0..K {
        z[i] = _mm512_sub_epi64(x[i], y[i]);
    }
    z
}

/// Returns -x in the lanes in which `mask` is all ones, and x in those in which it is 0.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn negated(x: &Columns, mask: V) -> Columns {
    let mut z = *x;
    for z in &mut z {
        *z = _mm512_sub_epi64(_mm512_xor_si512(*z, mask), mask);
    }
    z
}

/// Returns x 2^E.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn shifted<const E: u32, const K: usize>(x: &[V; K]) -> [V; K] {
    let mut z = *x;
    for z in &mut z {
        *z = _mm512_slli_epi64::<E>(*z);
    }
    z
}

/// Returns x + m p.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn plus_p<const M: u64>(x: &Columns) -> Columns {
    let mut z = *x;
    for (z, digit) in z.iter_mut().zip(digits(&P::M)) {
        *z = _mm512_add_epi64(*z, all(M * digit));
    }
    z
}

/// Returns the table entry and the sign, all ones or 0, that BITS bits mean as an odd digit. Higher
/// bits do not count.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn split<const BITS: u32>(bits: V) -> (V, V) {
    let top = _mm512_sllv_epi64(bits, all(u64::from(64 - BITS)));
    let negative = _mm512_xor_si512(_mm512_srai_epi64::<63>(top), all(u64::MAX));
    let index = _mm512_xor_si512(bits, negative);
    (_mm512_and_si512(index, all((1 << (BITS - 1)) - 1)), negative)
}

/// All ones in the lanes with equal words, else 0. Selections take such a vector and no mask,
/// because a masked operation with an operand in memory may take a time that depends on the mask.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(crate) fn same(x: V, y: V) -> V {
    _mm512_movm_epi64(_mm512_cmpeq_epi64_mask(x, y))
}

/// Returns z or (x and y), bit by bit.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn either(z: V, x: V, y: V) -> V {
    _mm512_ternarylogic_epi64::<0xf8>(z, x, y)
}

/// Returns x where the bits of `mask` are set, else y.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn chosen(mask: V, x: V, y: V) -> V {
    _mm512_ternarylogic_epi64::<0xca>(mask, x, y)
}

/// Returns the bits of 256-bit numbers from bit `at` on, at least as many as fit into a word.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn bits_at(t: &[V; 4], at: usize) -> V {
    let (word, shift) = (at / 64, at as u64 % 64);
    let above = if word < 3 { t[word + 1] } else { all(0) };
    let (low, high) =
        (_mm512_srlv_epi64(t[word], all(shift)), _mm512_sllv_epi64(above, all(64 - shift)));
    _mm512_or_si512(low, high)
}
