// The tiles of `tiles26` on 512-bit vectors, one group of eight numbers.
//! Tiles of the eight-lane kernels: AVX-512F.

pub(super) use core::arch::x86_64::{
    __m512i as V, _mm512_add_epi64 as add, _mm512_setzero_si512 as zero,
};
use core::arch::x86_64::{
    _mm512_and_si512 as and, _mm512_mul_epu32 as mul, _mm512_set1_epi64 as splat,
    _mm512_slli_epi64 as shl, _mm512_srli_epi64 as shr, _mm512_sub_epi64 as sub,
};

use super::tiles26::{rows26, tiles26};
use super::unroll::{un, un10};

tiles26!("avx512f");
