//! The calls that need AVX2, AVX-512F or AVX-IFMA.

use tollgate_cpu::{HaveAvx2, HaveAvx512, HaveAvxIfma, proven};

use crate::kernels::select52_mb8_avx2::select52_mb8_avx2;
use crate::kernels::select52_mb8_avx512::select52_mb8_avx512;
use crate::modulus::Modulus;
use crate::vectors::{pairs, pairs_mut, vector, vectors, vectors_mut};
use crate::word::Row;

/// The kernels of a set of instructions, the casts of rows to their digits, and the parameters of
/// both kernels: for tiles of 6 digits, for multiples of ten digits, and for all others, which are
/// multiples of 5.
macro_rules! products {
    (
        $amm:ident, $ams:ident, $tiles:ident $(:: $encoding:ident)?, $proof:ident,
        $digits:path, $digits_mut:path;
        [$($six:literal),*] [$($ten:literal),*] [$($five:literal),*];
        [$($square_six:literal),*] [$($square_ten:literal),*] [$($square_five:literal),*]
    ) => {
        use crate::kernels::$amm$(::$encoding)?::$amm;
        use crate::kernels::$ams$(::$encoding)?::$ams;
        use crate::kernels::$tiles$(::$encoding)?::Factors;

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
            proof: $proof,
        ) {
            let (z, x, y, t) = ($digits_mut(z), $digits(x), $digits(y), $digits_mut(t));
            match (m.shape().tile(), m.k() % 10) {
                (6, _) => proven!(proof, $amm::<$($six),*>(&factors(m), z, x, y, t)),
                (_, 0) => proven!(proof, $amm::<$($ten),*>(&factors(m), z, x, y, t)),
                _ => proven!(proof, $amm::<$($five),*>(&factors(m), z, x, y, t)),
            }
        }

        pub(in crate::dispatch) fn ams(
            z: &mut [Row],
            x: &[Row],
            m: &Modulus<Row>,
            t: &mut [Row],
            proof: $proof,
        ) {
            let (z, x, t) = ($digits_mut(z), $digits(x), $digits_mut(t));
            match (m.shape().tile(), m.k() % 10) {
                (6, _) => proven!(proof, $ams::<$($square_six),*>(&factors(m), z, x, t)),
                (_, 0) => proven!(proof, $ams::<$($square_ten),*>(&factors(m), z, x, t)),
                _ => proven!(proof, $ams::<$($square_five),*>(&factors(m), z, x, t)),
            }
        }
    };
}

/// Two groups of four numbers, in half digits.
pub(super) mod avx2 {
    use super::*;

    products!(
        amm52_mb8_avx2, ams52_mb8_avx2, tiles26_avx2, HaveAvx2, pairs, pairs_mut;
        [6, 5] [5, 4] [5, 4]; [6, 5, 6] [5, 4, 10] [5, 4, 5]
    );

    pub(in crate::dispatch) fn select(z: &mut [Row], table: &[Row], index: Row, proof: HaveAvx2) {
        proven!(proof, select52_mb8_avx2(pairs_mut(z), pairs(table), &pairs(&[index])[0]));
    }
}

/// One group of eight numbers, in half digits.
pub(super) mod avx512 {
    use super::*;
    use crate::kernels::tiles26_avx512::Digits;

    products!(
        amm52_mb8_avx512, ams52_mb8_avx512, tiles26_avx512, HaveAvx512, digits, digits_mut;
        [6, 5] [10, 9] [5, 4]; [6, 5, 6] [10, 9, 10] [5, 4, 5]
    );

    fn digits(x: &[Row]) -> &[Digits] {
        vectors(x).as_chunks().0
    }

    fn digits_mut(x: &mut [Row]) -> &mut [Digits] {
        vectors_mut(x).as_chunks_mut().0
    }

    pub(in crate::dispatch) fn select(z: &mut [Row], table: &[Row], index: Row, proof: HaveAvx512) {
        proven!(proof, select52_mb8_avx512(vectors_mut(z), vectors(table), vector(index)));
    }
}

/// Two groups of four numbers, in the encoding that the processor has.
pub(super) mod avxifma {
    use super::*;

    /// AVX-IFMA.
    mod vex {
        use super::*;

        products!(
            amm52_mb8_avxifma, ams52_mb8_avxifma, tiles52_avxifma::vex, HaveAvxIfma,
            pairs, pairs_mut;
            [6, 5] [10, 9] [5, 4]; [6, 5] [10, 9] [5, 4]
        );
    }

    /// AVX-512 IFMA with VL.
    mod evex {
        use super::*;

        products!(
            amm52_mb8_avxifma, ams52_mb8_avxifma, tiles52_avxifma::evex, HaveAvxIfma,
            pairs, pairs_mut;
            [6, 5] [10, 9] [5, 4]; [6, 5] [10, 9] [5, 4]
        );
    }

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
        proof: HaveAvxIfma,
    ) {
        // the feature includes AVX2
        proven!(proof, select52_mb8_avx2(pairs_mut(z), pairs(table), &pairs(&[index])[0]));
    }
}
