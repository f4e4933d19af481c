// The x-coordinate of k P on the curve of X25519 (RFC 7748, section 5), as a quotient x / z.
// Inputs k, a clamped scalar; u, the x-coordinate of P. Outputs x, z, not carried.
//
// The four products of a round of a ladder step lie in the lanes of a 256-bit vector: Hisil,
// Egrice, Yassi, "Fast 4 way vectorized ladder for the complete set of Montgomery curves" (2020).
// Radix 2^51: high halves count twice, and upper columns come down by 19, so that no carry waits
// for another one.
//
// Counts    per bit of k 3 products of 50 madds, and 13 madds for 121665 and carries.
// Time      constant: the only branch is the loop's; bits of k choose lanes of a permutation.
//! `ladder51_quad_ifma`: one Montgomery ladder in four lanes.

use core::arch::x86_64::*;
use core::hint::black_box;

/// A limb of four numbers.
type V = __m256i;

/// Four elements. Limbs of carried elements are below 2^51 + 2^18.
type Quad = [V; 5];

const MASK: u64 = (1 << 51) - 1;

/// A multiple of p with limbs above 2^61. Columns that start with it stay positive when smaller
/// columns are subtracted.
const BIAS: [u64; 5] = [
    0x3007_ffff_ffff_8ded,
    0x3007_ffff_ffff_f9ff,
    0x3007_ffff_ffff_f9ff,
    0x3007_ffff_ffff_f9ff,
    0x3007_ffff_ffff_f9ff,
];

#[inline]
#[target_feature(enable = "avx2")]
fn all(x: u64) -> V {
    _mm256_set1_epi64x(x.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn lanes(x: [u64; 4]) -> V {
    let [a, b, c, d] = x.map(u64::cast_signed);
    _mm256_set_epi64x(d, c, b, a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
fn lo(a: V, x: V, y: V) -> V {
    _mm256_madd52lo_epu64(a, x, y)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
fn hi(a: V, x: V, y: V) -> V {
    _mm256_madd52hi_epu64(a, x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(x: V, y: V) -> V {
    _mm256_add_epi64(x, y)
}

/// Columns of x y + start. `by` = [1, 4], which LLVM must not know: it would multiply by 19, and
/// VPMULLQ takes longer than shifts.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
fn columns(x: &Quad, y: &Quad, start: &Quad, by: &[V; 2]) -> Quad {
    let mut low = [all(0); 10];
    (low[0], low[1], low[2], low[3], low[4]) = (start[0], start[1], start[2], start[3], start[4]);
    let mut high = [all(0); 10];
    macro_rules! products {
        ($($i:literal $j:literal,)*) => {$(
            low[$i + $j] = lo(low[$i + $j], x[$i], y[$j]);
            high[$i + $j + 1] = hi(high[$i + $j + 1], x[$i], y[$j]);
        )*};
    }
    // upper columns first: they have the longest way to go
    products!(0 4, 1 4, 2 4, 3 4, 4 4, 4 0, 4 1, 4 2, 4 3, 1 3, 2 3, 3 3, 3 1, 3 2, 2 2,);
    products!(0 3, 1 2, 2 1, 3 0, 0 2, 1 1, 2 0, 0 1, 1 0, 0 0,);
    let mut z = [all(0); 5];
    for k in 0..5 {
        let upper = add(low[k + 5], add(high[k + 5], high[k + 5]));
        let lower = if k > 0 { add(low[k], add(high[k], high[k])) } else { low[0] };
        // 19 = 1 + 2 + 16
        let more = add(_mm256_sllv_epi64(upper, by[0]), _mm256_sllv_epi64(upper, by[1]));
        z[k] = add(add(lower, upper), more);
    }
    z
}

/// Carries all limbs at once.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
fn carried(z: &Quad) -> Quad {
    let above = |x| _mm256_srli_epi64::<51>(x);
    let below = |x| _mm256_and_si256(x, all(MASK));
    [
        lo(below(z[0]), above(z[4]), all(19)),
        add(below(z[1]), above(z[0])),
        add(below(z[2]), above(z[1])),
        add(below(z[3]), above(z[2])),
        add(below(z[4]), above(z[3])),
    ]
}

/// (z0 + z1, z0 - z1, z2 + z3, z2 - z3). z0 and z2 contain the bias.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn sums(z: &Quad) -> Quad {
    let mut sums = *z;
    for z in &mut sums {
        let (even, odd) = (_mm256_unpacklo_epi64(*z, *z), _mm256_unpackhi_epi64(*z, *z));
        *z = _mm256_mask_sub_epi64(add(even, odd), 0b1010, even, odd);
    }
    sums
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn permuted(z: &Quad, from: V) -> Quad {
    let mut permuted = *z;
    for z in &mut permuted {
        *z = _mm256_permutexvar_epi64(from, *z);
    }
    permuted
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
pub(crate) fn ladder51_quad_ifma(k: &[u8; 32], u: &[u64; 5]) -> [[u64; 5]; 2] {
    let (zero, by) = ([all(0); 5], black_box([all(1), all(4)]));
    let (one, a24) = ([1, 0, 0, 0, 0], lanes([0, 121_665, 0, 0]));
    let (mut bias, mut by_u, mut start) = (zero, zero, zero);
    for i in 0..5 {
        bias[i] = lanes([BIAS[i], 0, BIAS[i], 0]);
        by_u[i] = lanes([one[i], one[i], one[i], u[i]]);
        start[i] = add(bias[i], lanes([one[i], 0, u[i], one[i]]));
    }
    // A, B, C, D of RFC 7748
    let mut v = carried(&sums(&start));
    // the factors of the first round: (A, B, D, C) and (A, B, A, B)
    let (left, right) = (lanes([0, 1, 3, 2]), lanes([0, 1, 0, 1]));
    // exchanged points: (C, D, D, C) and (C, D, A, B)
    let exchange = lanes([2, 2, 0, 0]);
    let mut last = 0;
    for t in (0..255).rev() {
        let bit = u64::from(k[t / 8] >> (t % 8) & 1);
        let exchange = _mm256_and_si256(exchange, all((bit ^ last).wrapping_neg()));
        last = bit;
        let left = permuted(&v, _mm256_xor_si256(left, exchange));
        let right = permuted(&v, _mm256_xor_si256(right, exchange));
        // AA, BB, DA, CB
        let p = columns(&left, &right, &bias, &by);
        // (AA, E, DA + CB, DA - CB) and (BB, AA, DA + CB, DA - CB)
        let (mut left, mut right) = (p, p);
        for i in 0..5 {
            let (even, odd) =
                (_mm256_unpacklo_epi64(p[i], p[i]), _mm256_unpackhi_epi64(p[i], p[i]));
            let sum = _mm256_mask_add_epi64(even, 0b0100, even, odd);
            left[i] = _mm256_mask_sub_epi64(sum, 0b1010, even, odd);
            let first = _mm256_mask_blend_epi64(0b10, odd, even);
            right[i] = _mm256_mask_blend_epi64(0b0011, left[i], first);
        }
        let left = carried(&left);
        // AA + 121665 E in lane 1
        right[0] = lo(lo(right[0], left[0], a24), hi(all(0), left[4], a24), all(38));
        for i in 1..5 {
            let high = hi(all(0), left[i - 1], a24);
            right[i] = add(lo(right[i], left[i], a24), add(high, high));
        }
        // x2, z2, x3, (DA - CB)^2
        let q = carried(&columns(&left, &carried(&right), &zero, &by));
        v = carried(&sums(&columns(&q, &by_u, &bias, &by)));
    }
    // bit 0 of a clamped scalar is 0, so there is nothing to exchange; both are doubled
    let lane = |i: usize| {
        [v[i], _mm256_permute4x64_epi64::<1>(v[i])]
            .map(|v| _mm256_extract_epi64::<0>(v).cast_unsigned())
    };
    let (mut x, mut z) = ([0; 5], [0; 5]);
    for i in 0..5 {
        let [a, b] = lane(i);
        (x[i], z[i]) = (a + b, a + BIAS[i] - b);
    }
    [x, z]
}
