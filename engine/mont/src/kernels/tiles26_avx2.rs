// The tiles of `tiles26` on 256-bit vectors, two groups of four numbers.
//! Tiles of the eight-lane kernels: AVX2.

pub(super) use core::arch::x86_64::{
    __m256i as V, _mm256_add_epi64 as add, _mm256_setzero_si256 as zero,
};
use core::arch::x86_64::{
    _mm256_and_si256 as and, _mm256_mul_epu32 as mul, _mm256_set1_epi64x as splat,
    _mm256_slli_epi64 as shl, _mm256_srli_epi64 as shr, _mm256_sub_epi64 as sub,
};

use super::tiles26::{rows26, tiles26};
use super::unroll::{un, un10};

tiles26!("avx2");
