// Almost Montgomery square (AMS), z :== x^2 / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], m[K], b1[K] = 2^-52 mod m, k0; output z[K]; scratch t[2K]. Radix 2^52, digit-major,
// two groups of four lanes; blocks of W digits, Q = W - 1.
//
// Requires  m odd; 64m <= R = 2^{52K}; x^2 <= R*m (true if x < 8m); k0 = -1/m mod 2^52; b1 < m.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 3m if x < 7m (in fact z < 2m + x^2/R), z :== x^2/R (mod m).
//           All digits of z except the last are dirty.
// Counts    2K(K+1) + 4K^2 + 2 vpmadd52 of 256 bits: products of different digits once, doubled
//           column by column.
// Time      constant: no branch or address depends on x, m, b1 or k0.
// Model     amm52_mb8_portable, with y = x.
//! `ams52_mb8_avxifma`: cross products of blocks once, squares of blocks, then fold rows.

macro_rules! ams52 {
    ($tiles:ident, $isa:literal) => {
        use crate::kernels::tiles52_avxifma::$tiles::{
            Digits, Factors, GROUPS, block, mul_tile, reduce, sq_tile,
        };

        #[target_feature(enable = $isa)]
        pub(crate) fn ams52_mb8_avxifma<const W: usize, const Q: usize>(
            m: &Factors<'_>,
            z: &mut [Digits],
            x: &[Digits],
            t: &mut [Digits],
        ) {
            let k = x.len();
            let t = &mut t[..2 * k];
            t.fill([core::arch::x86_64::_mm256_setzero_si256(); GROUPS]);
            for i in (0..k - W).step_by(W) {
                for g in 0..GROUPS {
                    mul_tile::<W, true>(&mut t[2 * i + W..], &x[i + W..], block(x, i), g);
                }
            }
            for i in (0..k).step_by(W) {
                for g in 0..GROUPS {
                    sq_tile::<W>(&mut t[2 * i..], block(x, i), g);
                }
            }
            reduce::<W, Q>(m, z, t);
        }
    };
}

/// AVX-IFMA.
pub(crate) mod vex {
    ams52!(vex, "avx2,avxifma");
}

/// AVX-512 IFMA with VL.
pub(crate) mod evex {
    ams52!(evex, "avx512ifma,avx512vl");
}
