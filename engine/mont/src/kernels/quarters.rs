//! Vectors of 512 bits as parts of 128 bits, in memory.

use core::arch::x86_64::__m128i;

use super::tiles52_ifma::V;

const _: () = assert!(size_of::<[__m128i; 4]>() == size_of::<V>());

/// Each vector as four parts. A load can copy a part to all lanes of a register, which LLVM does not
/// see in shuffles of a whole vector.
#[inline(always)]
pub(super) fn quarters<const K: usize>(x: &[V; K]) -> &[[__m128i; 4]; K] {
    // SAFETY: both types have the same size (asserted above), the parts have the smaller alignment,
    // and any bits are valid in both types.
    unsafe { &*core::ptr::from_ref(x).cast() }
}
