//! Rows as pairs of vectors, and the calls that need AVX2.

use core::arch::x86_64::__m256i;

use tollgate_cpu::HaveAvx2;

use crate::kernels::amm52_mb8_avx2::amm52_mb8_avx2;
use crate::kernels::ams52_mb8_avx2::ams52_mb8_avx2;
use crate::kernels::select52_mb8_avx2::select52_mb8_avx2;
use crate::kernels::tiles26_avx2::{Digits, Factors};
use crate::modulus::Modulus;
use crate::word::Row;

// SOUNDNESS.md#layout-casts
const _: () = assert!(size_of::<Row>() == size_of::<Digits>());
const _: () = assert!(align_of::<Row>() >= align_of::<__m256i>());

fn vectors(x: &[Row]) -> &[Digits] {
    // SAFETY: both types are 64 bytes, a row is aligned for vectors (asserted above), and any bits
    // are valid in both types.
    unsafe { core::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

fn vectors_mut(x: &mut [Row]) -> &mut [Digits] {
    // SAFETY: as in `vectors`. The result keeps the exclusive borrow of x.
    unsafe { core::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
}

fn factors(m: &Modulus<Row>) -> Factors<'_> {
    Factors { m: vectors(m.m()), b1: vectors(&m.fold()[..m.k()]), k0: &vectors(m.k0_in_place())[0] }
}

/// A call that needs AVX2. The calling function takes a proof of it.
macro_rules! proven {
    ($call:expr) => {
        // SAFETY: the caller's `_proof` shows that avx2 is present.
        unsafe { $call }
    };
}

pub(super) fn amm(
    z: &mut [Row],
    x: &[Row],
    y: &[Row],
    m: &Modulus<Row>,
    t: &mut [Row],
    _proof: HaveAvx2,
) {
    let (z, x, y, t) = (vectors_mut(z), vectors(x), vectors(y), vectors_mut(t));
    // every tile width except 6 is a multiple of 5
    match m.shape().tile() {
        6 => proven!(amm52_mb8_avx2::<6, 5>(&factors(m), z, x, y, t)),
        _ => proven!(amm52_mb8_avx2::<5, 4>(&factors(m), z, x, y, t)),
    }
}

pub(super) fn ams(z: &mut [Row], x: &[Row], m: &Modulus<Row>, t: &mut [Row], _proof: HaveAvx2) {
    let (z, x, t) = (vectors_mut(z), vectors(x), vectors_mut(t));
    match (m.shape().tile(), m.k() % 10) {
        (6, _) => proven!(ams52_mb8_avx2::<6, 5, 6>(&factors(m), z, x, t)),
        (_, 0) => proven!(ams52_mb8_avx2::<5, 4, 10>(&factors(m), z, x, t)),
        _ => proven!(ams52_mb8_avx2::<5, 4, 5>(&factors(m), z, x, t)),
    }
}

pub(super) fn select(z: &mut [Row], table: &[Row], index: &Row, _proof: HaveAvx2) {
    let (z, table) = (vectors_mut(z), vectors(table));
    let index = &vectors(core::slice::from_ref(index))[0];
    proven!(select52_mb8_avx2(z, table, index));
}
