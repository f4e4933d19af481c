// The x-coordinates of k P on the curve of X25519 (RFC 7748, section 5), as quotients x / z, for
// one P, or for two at once.
// Inputs k, a clamped scalar; u, the x-coordinate of each P. Outputs x, z of each, not carried.
//
// The four products of a round of a ladder step lie in the lanes of a 256-bit vector: Hisil,
// Egrice, Yassi, "Fast 4 way vectorized ladder for the complete set of Montgomery curves" (2020).
// Radix 2^51: high halves count twice, and upper columns come down by 19, so that no carry waits
// for another one. A step waits for results most of the time, so two ladders in a 512-bit vector
// take little longer than one.
//
// Counts    per bit of k 3 products of 50 madds, and 13 madds for 121665 and carries.
// Time      constant: the only branch is the loop's; bits of k choose lanes of a permutation.
//! `ladder51_quad_ifma`: one Montgomery ladder in four lanes, or two in eight.

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

/// Masks of lanes, the same for each ladder.
const ODD: u8 = 0b1010_1010;
const SECOND: u8 = 0b0010_0010;
const THIRD: u8 = 0b0100_0100;
const FIRST_TWO: u8 = 0b0011_0011;

/// Adds the products of limbs to the columns of low and high halves.
macro_rules! products {
    ($low:ident, $high:ident, $x:ident, $y:ident: $($i:literal $j:literal,)*) => {$(
        $low[$i + $j] = lo($low[$i + $j], $x[$i], $y[$j]);
        $high[$i + $j + 1] = hi($high[$i + $j + 1], $x[$i], $y[$j]);
    )*};
}

/// Defines the kernel for `LADDERS` ladders, with the operations of vectors of four lanes for each.
macro_rules! ladders {
    ($name:ident) => {
        use core::hint::black_box;

        use super::{BIAS, FIRST_TWO, MASK, ODD, SECOND, THIRD};

        /// Four elements for each ladder. Limbs of carried elements are below 2^51 + 2^18.
        type Quad = [V; 5];

        #[inline]
        #[target_feature(enable = "avx512f")]
        fn all(x: u64) -> V {
            set1(x.cast_signed())
        }

        /// A vector of the four lanes of each ladder.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn lanes(of_ladder: impl Fn(usize) -> [u64; 4]) -> V {
            vector(core::array::from_fn(|i| of_ladder(i / 4)[i % 4]))
        }

        /// Columns of x y + start. `by` = [1, 4], which LLVM must not know: it would multiply by
        /// 19, and VPMULLQ takes longer than shifts.
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
        fn columns(x: &Quad, y: &Quad, start: &Quad, by: &[V; 2]) -> Quad {
            let mut low = [all(0); 10];
            low[..5].copy_from_slice(start);
            let mut high = [all(0); 10];
            // upper columns first: they have the longest way to go
            products!(low, high, x, y: 0 4, 1 4, 2 4, 3 4, 4 4, 4 0, 4 1, 4 2, 4 3, 1 3, 2 3, 3 3,);
            products!(low, high, x, y: 3 1, 3 2, 2 2,);
            products!(low, high, x, y: 0 3, 1 2, 2 1, 3 0, 0 2, 1 1, 2 0, 0 1, 1 0, 0 0,);
            let mut z = [all(0); 5];
            for k in 0..5 {
                let upper = add(low[k + 5], add(high[k + 5], high[k + 5]));
                let lower = if k > 0 { add(low[k], add(high[k], high[k])) } else { low[0] };
                // 19 = 1 + 2 + 16
                let more = add(sllv(upper, by[0]), sllv(upper, by[1]));
                z[k] = add(add(lower, upper), more);
            }
            z
        }

        /// Carries all limbs at once.
        #[inline]
        #[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
        fn carried(z: &Quad) -> Quad {
            let above = |x| srli::<51>(x);
            let below = |x| and(x, all(MASK));
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
                let (even, odd) = (unpacklo(*z, *z), unpackhi(*z, *z));
                *z = mask_sub(add(even, odd), ODD, even, odd);
            }
            sums
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512vl")]
        fn permuted(z: &Quad, from: V) -> Quad {
            let mut permuted = *z;
            for z in &mut permuted {
                *z = permute(from, *z);
            }
            permuted
        }

        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512ifma,avx512vl")]
        pub(crate) fn $name(k: &[u8; 32], u: &[[u64; 5]; LADDERS]) -> [[[u64; 5]; 2]; LADDERS] {
            let (zero, by) = ([all(0); 5], black_box([all(1), all(4)]));
            let (one, a24) = ([1, 0, 0, 0, 0], lanes(|_| [0, 121_665, 0, 0]));
            let (mut bias, mut by_u, mut start) = (zero, zero, zero);
            for i in 0..5 {
                bias[i] = lanes(|_| [BIAS[i], 0, BIAS[i], 0]);
                by_u[i] = lanes(|l| [one[i], one[i], one[i], u[l][i]]);
                start[i] = add(bias[i], lanes(|l| [one[i], 0, u[l][i], one[i]]));
            }
            // A, B, C, D of RFC 7748
            let mut v = carried(&sums(&start));
            // the factors of the first round: (A, B, D, C) and (A, B, A, B)
            let from = |four: [u64; 4]| lanes(|l| four.map(|lane| 4 * l as u64 + lane));
            let (left, right) = (from([0, 1, 3, 2]), from([0, 1, 0, 1]));
            // exchanged points: (C, D, D, C) and (C, D, A, B)
            let exchange = lanes(|_| [2, 2, 0, 0]);
            let mut last = 0;
            for t in (0..255).rev() {
                let bit = u64::from(k[t / 8] >> (t % 8) & 1);
                let exchange = and(exchange, all((bit ^ last).wrapping_neg()));
                last = bit;
                let left = permuted(&v, xor(left, exchange));
                let right = permuted(&v, xor(right, exchange));
                // AA, BB, DA, CB
                let p = columns(&left, &right, &bias, &by);
                // (AA, E, DA + CB, DA - CB) and (BB, AA, DA + CB, DA - CB)
                let (mut left, mut right) = (p, p);
                for i in 0..5 {
                    let (even, odd) = (unpacklo(p[i], p[i]), unpackhi(p[i], p[i]));
                    let sum = mask_add(even, THIRD, even, odd);
                    left[i] = mask_sub(sum, ODD, even, odd);
                    let first = mask_blend(SECOND, odd, even);
                    right[i] = mask_blend(FIRST_TWO, left[i], first);
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
            let mut quotients = [[[0; 5]; 2]; LADDERS];
            for i in 0..5 {
                let lanes = words(v[i]);
                for (l, [x, z]) in quotients.iter_mut().enumerate() {
                    let [a, b] = [lanes[4 * l], lanes[4 * l + 1]];
                    (x[i], z[i]) = (a + b, a + BIAS[i] - b);
                }
            }
            quotients
        }
    };
}

/// One ladder.
pub(crate) mod one {
    use core::arch::x86_64::{
        __m256i as V, _mm256_add_epi64 as add, _mm256_and_si256 as and,
        _mm256_madd52hi_epu64 as hi, _mm256_madd52lo_epu64 as lo,
        _mm256_mask_add_epi64 as mask_add, _mm256_mask_blend_epi64 as mask_blend,
        _mm256_mask_sub_epi64 as mask_sub, _mm256_permutexvar_epi64 as permute,
        _mm256_set1_epi64x as set1, _mm256_sllv_epi64 as sllv, _mm256_srli_epi64 as srli,
        _mm256_unpackhi_epi64 as unpackhi, _mm256_unpacklo_epi64 as unpacklo,
        _mm256_xor_si256 as xor,
    };

    use crate::vectors::{vector_of_four as vector, words_of_four as words};

    const LADDERS: usize = 1;

    ladders!(ladder51_quad_ifma);
}

/// Two ladders of one scalar.
pub(crate) mod two {
    use core::arch::x86_64::{
        __m512i as V, _mm512_add_epi64 as add, _mm512_and_si512 as and,
        _mm512_madd52hi_epu64 as hi, _mm512_madd52lo_epu64 as lo,
        _mm512_mask_add_epi64 as mask_add, _mm512_mask_blend_epi64 as mask_blend,
        _mm512_mask_sub_epi64 as mask_sub, _mm512_permutexvar_epi64 as permute,
        _mm512_set1_epi64 as set1, _mm512_sllv_epi64 as sllv, _mm512_srli_epi64 as srli,
        _mm512_unpackhi_epi64 as unpackhi, _mm512_unpacklo_epi64 as unpacklo,
        _mm512_xor_si512 as xor,
    };

    use crate::vectors::{vector, words};

    const LADDERS: usize = 2;

    ladders!(ladder51_two_quads_ifma);
}
