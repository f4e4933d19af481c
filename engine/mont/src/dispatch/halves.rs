//! The calls that need AVX2, AVX-512F or AVX-IFMA.

use tollgate_cpu::{HaveAvx2, HaveAvx512, HaveAvxIfma};

use crate::kernels::select52_mb8_avx2::select52_mb8_avx2;
use crate::kernels::select52_mb8_avx512::select52_mb8_avx512;
use crate::modulus::Modulus;
use crate::vectors::{pairs, pairs_mut, vector, vectors, vectors_mut};
use crate::word::Row;

/// The kernels on vectors of one width, the casts of rows to its digits, and the width of blocks
/// for multiples of ten digits.
macro_rules! products {
    (
        $tiles:ident, $amm:ident, $ams:ident, $proof:ident, $digits:path, $digits_mut:path,
        $w:literal, $q:literal
    ) => {
        use crate::kernels::$amm::$amm;
        use crate::kernels::$ams::$ams;
        use crate::kernels::$tiles::Factors;

        fn factors(m: &Modulus<Row>) -> Factors<'_> {
            let k0 = &$digits(m.k0_in_place())[0];
            Factors { m: $digits(m.m()), b1: $digits(&m.fold()[..m.k()]), k0 }
        }

        pub(in crate::dispatch) fn amm(
            z: &mut [Row],
            x: &[Row],
            y: &[Row],
            m: &Modulus<Row>,
            t: &mut [Row],
            _proof: $proof,
        ) {
            let (z, x, y, t) = ($digits_mut(z), $digits(x), $digits(y), $digits_mut(t));
            // every tile width except 6 is a multiple of 5
            match (m.shape().tile(), m.k() % 10) {
                (6, _) => proven!($amm::<6, 5>(&factors(m), z, x, y, t)),
                (_, 0) => proven!($amm::<$w, $q>(&factors(m), z, x, y, t)),
                _ => proven!($amm::<5, 4>(&factors(m), z, x, y, t)),
            }
        }

        pub(in crate::dispatch) fn ams(
            z: &mut [Row],
            x: &[Row],
            m: &Modulus<Row>,
            t: &mut [Row],
            _proof: $proof,
        ) {
            let (z, x, t) = ($digits_mut(z), $digits(x), $digits_mut(t));
            match (m.shape().tile(), m.k() % 10) {
                (6, _) => proven!($ams::<6, 5, 6>(&factors(m), z, x, t)),
                (_, 0) => proven!($ams::<$w, $q, 10>(&factors(m), z, x, t)),
                _ => proven!($ams::<5, 4, 5>(&factors(m), z, x, t)),
            }
        }
    };
}

/// A call that needs a feature. The calling function takes a proof of it.
macro_rules! proven {
    ($call:expr) => {
        // SAFETY: the caller's `_proof` shows that the feature is present.
        unsafe { $call }
    };
}

/// Two groups of four numbers, in half digits.
pub(super) mod avx2 {
    use super::*;

    products!(tiles26_avx2, amm52_mb8_avx2, ams52_mb8_avx2, HaveAvx2, pairs, pairs_mut, 5, 4);

    pub(in crate::dispatch) fn select(z: &mut [Row], table: &[Row], index: Row, _proof: HaveAvx2) {
        proven!(select52_mb8_avx2(pairs_mut(z), pairs(table), &pairs(&[index])[0]));
    }
}

/// One group of eight numbers, in half digits.
pub(super) mod avx512 {
    use super::*;
    use crate::kernels::tiles26_avx512::Digits;

    products!(
        tiles26_avx512,
        amm52_mb8_avx512,
        ams52_mb8_avx512,
        HaveAvx512,
        digits,
        digits_mut,
        10,
        9
    );

    fn digits(x: &[Row]) -> &[Digits] {
        vectors(x).as_chunks().0
    }

    fn digits_mut(x: &mut [Row]) -> &mut [Digits] {
        vectors_mut(x).as_chunks_mut().0
    }

    pub(in crate::dispatch) fn select(
        z: &mut [Row],
        table: &[Row],
        index: Row,
        _proof: HaveAvx512,
    ) {
        proven!(select52_mb8_avx512(vectors_mut(z), vectors(table), vector(index)));
    }
}

/// Two groups of four numbers, in the encoding that the processor has.
pub(super) mod avxifma {
    use super::*;

    macro_rules! products {
        ($encoding:ident) => {
            pub(super) mod $encoding {
                use super::super::*;
                use crate::kernels::amm52_mb8_avxifma::$encoding::amm52_mb8_avxifma;
                use crate::kernels::ams52_mb8_avxifma::$encoding::ams52_mb8_avxifma;
                use crate::kernels::tiles52_avxifma::$encoding::Factors;

                fn factors(m: &Modulus<Row>) -> Factors<'_> {
                    let k0 = &pairs(m.k0_in_place())[0];
                    Factors { m: pairs(m.m()), b1: pairs(&m.fold()[..m.k()]), k0 }
                }

                pub(in crate::dispatch) fn amm(
                    z: &mut [Row],
                    x: &[Row],
                    y: &[Row],
                    m: &Modulus<Row>,
                    t: &mut [Row],
                    _proof: HaveAvxIfma,
                ) {
                    let (z, x, y, t) = (pairs_mut(z), pairs(x), pairs(y), pairs_mut(t));
                    // every tile width except 6 is a multiple of 5
                    match (m.shape().tile(), m.k() % 10) {
                        (6, _) => proven!(amm52_mb8_avxifma::<6, 5>(&factors(m), z, x, y, t)),
                        (_, 0) => proven!(amm52_mb8_avxifma::<10, 9>(&factors(m), z, x, y, t)),
                        _ => proven!(amm52_mb8_avxifma::<5, 4>(&factors(m), z, x, y, t)),
                    }
                }

                pub(in crate::dispatch) fn ams(
                    z: &mut [Row],
                    x: &[Row],
                    m: &Modulus<Row>,
                    t: &mut [Row],
                    _proof: HaveAvxIfma,
                ) {
                    let (z, x, t) = (pairs_mut(z), pairs(x), pairs_mut(t));
                    match (m.shape().tile(), m.k() % 10) {
                        (6, _) => proven!(ams52_mb8_avxifma::<6, 5>(&factors(m), z, x, t)),
                        (_, 0) => proven!(ams52_mb8_avxifma::<10, 9>(&factors(m), z, x, t)),
                        _ => proven!(ams52_mb8_avxifma::<5, 4>(&factors(m), z, x, t)),
                    }
                }
            }
        };
    }

    products!(vex);
    products!(evex);

    pub(in crate::dispatch) fn amm(
        z: &mut [Row],
        x: &[Row],
        y: &[Row],
        m: &Modulus<Row>,
        t: &mut [Row],
        proof: HaveAvxIfma,
    ) {
        let amm = if proof.has_vex() { vex::amm } else { evex::amm };
        amm(z, x, y, m, t, proof);
    }

    pub(in crate::dispatch) fn ams(
        z: &mut [Row],
        x: &[Row],
        m: &Modulus<Row>,
        t: &mut [Row],
        proof: HaveAvxIfma,
    ) {
        let ams = if proof.has_vex() { vex::ams } else { evex::ams };
        ams(z, x, m, t, proof);
    }

    pub(in crate::dispatch) fn select(
        z: &mut [Row],
        table: &[Row],
        index: Row,
        _proof: HaveAvxIfma,
    ) {
        // the feature includes AVX2
        proven!(select52_mb8_avx2(pairs_mut(z), pairs(table), &pairs(&[index])[0]));
    }
}
