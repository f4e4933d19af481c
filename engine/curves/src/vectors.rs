//! Vectors of 512 bits: eight words, or a digit of each of eight numbers.
#![allow(unsafe_code, reason = "loads and stores of vectors")]

use core::arch::x86_64::*;

/// A digit of eight numbers.
pub(crate) type V = __m512i;

/// Bits of a digit.
pub(crate) const BITS: u32 = 52;
pub(crate) const MASK: u64 = (1 << BITS) - 1;

// SOUNDNESS.md#layout-casts
const _: () = assert!(size_of::<[u64; 8]>() == size_of::<V>());

/// Puts a word into each lane. Intrinsics would do the same with a masked load for each lane.
#[inline(always)]
pub(crate) fn vector(words: [u64; 8]) -> V {
    // SAFETY: both types have the same size (asserted above), and any bits are valid in both types.
    unsafe { core::mem::transmute(words) }
}

/// Returns the words of the lanes.
#[inline(always)]
pub(crate) fn words(vector: V) -> [u64; 8] {
    // SAFETY: as in `vector`.
    unsafe { core::mem::transmute(vector) }
}

// SOUNDNESS.md#layout-casts
const _: () = assert!(size_of::<[u64; 4]>() == size_of::<__m256i>());

/// Puts a word into each lane of a vector of 256 bits.
#[inline(always)]
pub(crate) fn vector_of_four(words: [u64; 4]) -> __m256i {
    // SAFETY: both types have the same size (asserted above), and any bits are valid in both types.
    unsafe { core::mem::transmute(words) }
}

/// Returns the words of the lanes of a vector of 256 bits.
#[inline(always)]
pub(crate) fn words_of_four(vector: __m256i) -> [u64; 4] {
    // SAFETY: as in `vector_of_four`.
    unsafe { core::mem::transmute(vector) }
}

/// Returns a number in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn all(x: u64) -> V {
    _mm512_set1_epi64(x.cast_signed())
}

/// Returns a, plus the low 52 bits of the product of the low 52 bits of x and y.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn lo(a: V, x: V, y: V) -> V {
    _mm512_madd52lo_epu64(a, x, y)
}

/// Returns a, plus the high 52 bits of the same product.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn hi(a: V, x: V, y: V) -> V {
    _mm512_madd52hi_epu64(a, x, y)
}

/// Returns the columns of z + x y: 50 multiplications in rows, in which each high half follows the
/// low half of the same column.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn multiply_add(mut z: [V; 10], x: &[V; 5], y: &[V; 5]) -> [V; 10] {
    macro_rules! rows {
        ($($i:literal)*) => { $(
            z[$i] = lo(z[$i], x[$i], y[0]);
            z[$i + 1] = hi(lo(z[$i + 1], x[$i], y[1]), x[$i], y[0]);
            z[$i + 2] = hi(lo(z[$i + 2], x[$i], y[2]), x[$i], y[1]);
            z[$i + 3] = hi(lo(z[$i + 3], x[$i], y[3]), x[$i], y[2]);
            z[$i + 4] = hi(lo(z[$i + 4], x[$i], y[4]), x[$i], y[3]);
            z[$i + 5] = hi(z[$i + 5], x[$i], y[4]);
        )* };
    }
    rows!(0 1 2 3 4);
    z
}

/// Returns the columns of x^2. Products of different digits occur twice, so their columns are
/// doubled.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn square(x: &[V; 5]) -> [V; 10] {
    let mut z = [all(0); 10];
    macro_rules! pairs {
        ($($i:literal $j:literal,)*) => { $(
            z[$i + $j] = lo(z[$i + $j], x[$i], x[$j]);
            z[$i + $j + 1] = hi(z[$i + $j + 1], x[$i], x[$j]);
        )* };
    }
    pairs!(0 1, 0 2, 0 3, 0 4, 1 2, 1 3, 1 4, 2 3, 2 4, 3 4,);
    macro_rules! squares {
        ($($i:literal)*) => { $(
            z[2 * $i] = lo(_mm512_add_epi64(z[2 * $i], z[2 * $i]), x[$i], x[$i]);
            z[2 * $i + 1] = hi(_mm512_add_epi64(z[2 * $i + 1], z[2 * $i + 1]), x[$i], x[$i]);
        )* };
    }
    squares!(0 1 2 3 4);
    z
}

/// Returns the digits of eight numbers below 2^256, from their words: word i of all in entry i.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn digits([w0, w1, w2, w3]: [V; 4]) -> [V; 5] {
    let part = |low, high| _mm512_and_si512(_mm512_or_si512(low, high), all(MASK));
    [
        _mm512_and_si512(w0, all(MASK)),
        part(_mm512_srli_epi64::<52>(w0), _mm512_slli_epi64::<12>(w1)),
        part(_mm512_srli_epi64::<40>(w1), _mm512_slli_epi64::<24>(w2)),
        part(_mm512_srli_epi64::<28>(w2), _mm512_slli_epi64::<36>(w3)),
        _mm512_srli_epi64::<16>(w3),
    ]
}

/// Returns the words of eight numbers below 2^256 from their digits, which are below 2^52.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn joined([z0, z1, z2, z3, z4]: [V; 5]) -> [[u64; 8]; 4] {
    let word = |low, high| words(_mm512_or_si512(low, high));
    [
        word(z0, _mm512_slli_epi64::<52>(z1)),
        word(_mm512_srli_epi64::<12>(z1), _mm512_slli_epi64::<40>(z2)),
        word(_mm512_srli_epi64::<24>(z2), _mm512_slli_epi64::<28>(z3)),
        word(_mm512_srli_epi64::<36>(z3), _mm512_slli_epi64::<16>(z4)),
    ]
}

/// Lane l as the number of lane l ^ `distance`, for [`permuted`].
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn exchange(distance: u64) -> V {
    _mm512_xor_si512(vector([0, 1, 2, 3, 4, 5, 6, 7]), all(distance))
}

/// Lane l takes lane `from[l]`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn permuted(z: &[V; 5], from: V) -> [V; 5] {
    let mut z = *z;
    for z in &mut z {
        *z = _mm512_permutexvar_epi64(from, *z);
    }
    z
}
