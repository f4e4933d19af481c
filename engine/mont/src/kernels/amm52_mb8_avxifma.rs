// Almost Montgomery multiply (AMM), z :== x * y / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], y[K], m[K], b1[K] = 2^-52 mod m, k0; output z[K]; scratch t[2K]. Radix 2^52,
// digit-major, two groups of four lanes; blocks of W digits, Q = W - 1.
//
// Requires  m odd; 64m <= R = 2^{52K}; x*y <= R*m (true if x, y < 8m);
//           k0 = -1/m mod 2^52; b1 < m.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 3m (in fact < 2m + x*y/R), z :== x*y/R (mod m).
//           All digits of z except the last are dirty.
// Counts    8K^2 + 2 vpmadd52 of 256 bits.
// Time      constant: no branch or address depends on x, y, m, b1 or k0.
// Model     amm52_mb8_portable.
//! `amm52_mb8_avxifma`: product, then fold rows; blocks of W digits in 16 registers.

macro_rules! amm52 {
    ($tiles:ident, $isa:literal) => {
        use crate::kernels::tiles52_avxifma::$tiles::{
            Digits, Factors, GROUPS, block, mul_tile, reduce,
        };

        #[target_feature(enable = $isa)]
        pub(crate) fn amm52_mb8_avxifma<const W: usize, const Q: usize>(
            m: &Factors<'_>,
            z: &mut [Digits],
            x: &[Digits],
            y: &[Digits],
            t: &mut [Digits],
        ) {
            let k = x.len();
            let t = &mut t[..2 * k];
            for j in (0..k).step_by(W) {
                for g in 0..GROUPS {
                    if j == 0 {
                        mul_tile::<W, false>(t, x, block(y, 0), g);
                    } else {
                        mul_tile::<W, true>(&mut t[j..], x, block(y, j), g);
                    }
                }
                if j == 0 {
                    t[k + W..].fill([core::arch::x86_64::_mm256_setzero_si256(); GROUPS]);
                }
            }
            reduce::<W, Q>(m, z, t);
        }
    };
}

/// AVX-IFMA.
pub(crate) mod vex {
    amm52!(vex, "avx2,avxifma");
}

/// AVX-512 IFMA with VL.
pub(crate) mod evex {
    amm52!(evex, "avx512ifma,avx512vl");
}
