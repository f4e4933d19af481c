// Almost Montgomery square (AMS), z :== x^2 / 2^{52K} (mod m), in each of 8 lanes.
// Inputs x[K], m[K], b1[K] = 2^-52 mod m, k0; output z[K]; scratch t[9K]. Radix 2^52, digit-major,
// in halves of 26 bits; blocks of W digits, Q = W - 1, squares of blocks of S.
//
// Requires  m odd; 64m <= R = 2^{52K}; x^2 <= R*m (true if x < 8m); k0 = -1/m mod 2^52; b1 < m.
//           Digits may be dirty: their low 52 bits count.
// Ensures   z < 3m (in fact < 2m + x^2/R), z :== x^2/R (mod m).
//           All digits of z except the last are dirty.
// Counts    3K(K+1) + 6K^2 + 6 vpmuludq: products of different digits once, one of them doubled.
// Time      constant: no branch or address depends on x, m, b1 or k0.
// Model     amm52_mb8_portable, with y = x.
//! `ams52_mb8_avx2`: squares of blocks, products of different blocks once, then fold rows.

use super::tiles26::ams26;
use super::tiles26_avx2::{Digits, Factors, add, groups, mul_tile, reduce, split, sq_tile};

ams26!(ams52_mb8_avx2, "avx2");
