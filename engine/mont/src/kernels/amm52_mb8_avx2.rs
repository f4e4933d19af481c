// Almost Montgomery multiply (AMM), z :== x * y / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], y[K], m[K], b1[K] = 2^-52 mod m, k0; output z[K]; scratch t[9K]. Radix 2^52,
// digit-major, in halves of 26 bits; blocks of W digits, Q = W - 1.
//
// Requires  m odd; 64m <= R = 2^{52K}; x*y <= R*m (true if x, y < 8m);
//           k0 = -1/m mod 2^52; b1 < m.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 3m (in fact < 2m + x*y/R), z :== x*y/R (mod m).
//           All digits of z except the last are dirty.
// Counts    12K^2 + 6 vpmuludq
// Time      constant: no branch or address depends on x, y, m, b1 or k0.
// Model     amm52_mb8_portable.
//! `amm52_mb8_avx2`: products of half digits and of their sums, then fold rows.

use super::tiles26::amm26;
use super::tiles26_avx2::{Digits, Factors, groups, mul_tile, reduce, split, split_block, zero};

amm26!(amm52_mb8_avx2, "avx2");
