// k B, for the base point B of the curve of edwards.rs (RFC 7748, section 4.1).
// Inputs k, a clamped scalar; the table. Outputs Y - X, Y + X, Z < 2^256.
//
// Counts    64 additions of seven products; 64 x 8 x 6 vectors of two limbs are read.
// Time      constant: the only branch is the loop's; every entry of a window is read.
// Model     comb51_portable.
//! `comb64_mulx`: the sum of one table entry for each window of four bits.
#![forbid(unsafe_code)]

use core::arch::x86_64::*;

use tollgate_cpu::HaveAdxBmi2;

use super::field64_mulx::{Number, Numbers};
use crate::digits::{digit, half_of_odd, top};
use crate::field51::words;
use crate::mask::hidden;

pub(crate) const WINDOWS: usize = 64;

/// A point to add: y - x, y + x, 2 d x y, below p.
pub(crate) type Addend = [Number; 3];

/// Eight odd multiples for each window: see [`crate::digits`].
pub(crate) type Table = [[Addend; 8]; WINDOWS];

// places: the sum, y - x and y + x, z, t; the addend; the letters of edwards.rs
const MINUS: usize = 0;
const PLUS: usize = 1;
const Z: usize = 2;
const T: usize = 3;
const ADD_MINUS: usize = 4;
const ADD_PLUS: usize = 5;
const ADD_DXY2: usize = 6;
const A: usize = 7;
const B: usize = 8;
const C: usize = 9;
const D: usize = 10;
const E: usize = 11;
const F: usize = 12;
const G: usize = 13;
const H: usize = 14;
const PLACES: usize = 15;

/// Returns entry `number`, with y - x and y + x exchanged if `negative` is all ones.
#[inline]
#[target_feature(enable = "sse2")]
fn selected(entries: &[Addend; 8], number: u64, negative: u64) -> Addend {
    #[allow(clippy::cast_possible_truncation, reason = "below 8")]
    let number = _mm_set1_epi32(number as i32);
    let mut found = [[_mm_setzero_si128(); 2]; 3];
    for (entry, here) in entries.iter().zip(0..) {
        let here = _mm_cmpeq_epi32(number, _mm_set1_epi32(here));
        for (found, number) in found.iter_mut().zip(entry) {
            for (found, limbs) in found.iter_mut().zip(number.as_chunks::<2>().0) {
                let limbs = _mm_set_epi64x(limbs[1].cast_signed(), limbs[0].cast_signed());
                *found = _mm_or_si128(*found, _mm_and_si128(here, limbs));
            }
        }
    }
    let negative = _mm_set1_epi64x(negative.cast_signed());
    let [minus, plus, _] = &mut found;
    for (minus, plus) in minus.iter_mut().zip(plus) {
        let difference = _mm_and_si128(_mm_xor_si128(*minus, *plus), negative);
        *minus = _mm_xor_si128(*minus, difference);
        *plus = _mm_xor_si128(*plus, difference);
    }
    found.map(|number| {
        let limbs = number.map(|limbs| {
            let high = _mm_unpackhi_epi64(limbs, limbs);
            [limbs, high].map(|limb| _mm_cvtsi128_si64(limb).cast_unsigned())
        });
        [limbs[0][0], limbs[0][1], limbs[1][0], limbs[1][1]]
    })
}

#[inline(never)]
#[target_feature(enable = "sse2")]
pub(crate) fn comb64_mulx(k: &[u8; 32], table: &Table, proof: HaveAdxBmi2) -> [Number; 3] {
    let t = half_of_odd(&words(k));
    let mut n = Numbers::<PLACES>::new(proof);
    // the neutral point
    n.set::<MINUS>([1, 0, 0, 0]);
    n.set::<PLUS>([1, 0, 0, 0]);
    n.set::<Z>([1, 0, 0, 0]);
    for (w, entries) in table.iter().enumerate() {
        let (entry, negative) = digit::<4>(t[w / 16] >> (4 * (w % 16)) | top::<4>(w, WINDOWS));
        let negative = hidden(negative);
        let [minus, plus, dxy2] = selected(entries, entry, negative);
        n.set::<ADD_MINUS>(minus);
        n.set::<ADD_PLUS>(plus);
        n.set::<ADD_DXY2>(dxy2);
        n.negate_if::<ADD_DXY2, ADD_DXY2>(negative);
        n.mul::<C, T, ADD_DXY2>();
        n.mul::<A, MINUS, ADD_MINUS>();
        n.mul::<B, PLUS, ADD_PLUS>();
        n.add::<D, Z, Z>();
        n.sub::<F, D, C>();
        n.add::<G, D, C>();
        n.sub::<E, B, A>();
        n.add::<H, B, A>();
        n.mul::<A, E, F>(); // X
        n.mul::<B, G, H>(); // Y
        n.mul::<Z, F, G>();
        n.mul::<T, E, H>();
        n.sub::<MINUS, B, A>();
        n.add::<PLUS, B, A>();
    }
    [n.get::<MINUS>(), n.get::<PLUS>(), n.get::<Z>()]
}
