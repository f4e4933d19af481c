//! Rows as vectors of 512 bits or pairs of 256 bits, and vectors as their parts.
#![allow(unsafe_code, reason = "loads and stores of vectors")]

use core::arch::x86_64::{__m128i, __m256i, __m512i};

use crate::word::Row;

// SOUNDNESS.md#layout-casts
const _: () = assert!(size_of::<Row>() == size_of::<__m512i>());
const _: () = assert!(align_of::<Row>() == align_of::<__m512i>());
const _: () = assert!(size_of::<[__m256i; 2]>() == size_of::<__m512i>());
const _: () = assert!(size_of::<[__m128i; 4]>() == size_of::<__m512i>());

pub(crate) fn vectors(x: &[Row]) -> &[__m512i] {
    // SAFETY: both types have the same size and alignment (asserted above), and any bits are valid
    // in both types.
    unsafe { core::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

pub(crate) fn vectors_mut(x: &mut [Row]) -> &mut [__m512i] {
    // SAFETY: as in `vectors`. The result keeps the exclusive borrow of x.
    unsafe { core::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
}

#[inline(always)]
pub(crate) fn vector(x: Row) -> __m512i {
    vectors(&[x])[0]
}

pub(crate) fn pairs(x: &[Row]) -> &[[__m256i; 2]] {
    // SAFETY: both types have the same size (asserted above), a pair has the smaller alignment, and
    // any bits are valid in both types.
    unsafe { core::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

pub(crate) fn pairs_mut(x: &mut [Row]) -> &mut [[__m256i; 2]] {
    // SAFETY: as in `pairs`. The result keeps the exclusive borrow of x.
    unsafe { core::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
}

/// Returns the four parts of each vector. A load can copy one part to all lanes of a register; from
/// shuffles of whole vectors, LLVM makes such a load for the first part only.
#[inline(always)]
pub(crate) fn quarters<const K: usize>(x: &[__m512i; K]) -> &[[__m128i; 4]; K] {
    // SAFETY: both types have the same size (asserted above), the parts have the smaller alignment,
    // and any bits are valid in both types.
    unsafe { &*core::ptr::from_ref(x).cast() }
}
