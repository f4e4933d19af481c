// Tiles of the eight-lane kernels on 256-bit registers, radix B = 2^52: two groups of four numbers.
//
//   mul_tile   t[0..R+W] := t[0..R+W] + a[0..R] * b[0..W]
//   sq_tile    t[0..2W]  := 2 * t[0..2W] + a[0..W]^2
//   fold_tile  R fold rows on t[0..R+W+1] against b1[0..W]: t[0..R] become the folded digits
//   finish     z[0..K] := (t[0..K+1] + q * m) / B, the textbook row that ends a reduction
//   reduce     z[0..K] :== t[0..2K] / B^K (mod m), tile by tile, both groups; K is a multiple of W
//
// Fold rows and columns are those of `tiles52_ifma`, but no column is negative, since there is no
// Karatsuba.
//
// Encodings. AVX-IFMA has the VEX encoding and 16 registers. AVX-512 IFMA with VL has the same
// operations in the EVEX encoding. Both are compiled from this source, so that the kernels can be
// tested and measured on processors without AVX-IFMA.
//
// Windows. Two rows at a time load a digit of b once for four vpmadd52: W + 2 accumulators, two
// digits of a and one of b, at most 15 registers for W = 10. While one group waits for the digits
// that it folds, the other multiplies.
//! Tiles of the eight-lane kernels: VPMADD52 on 256-bit registers.

/// The tiles, for the instructions `$isa`, with their intrinsics for VPMADD52.
macro_rules! tiles52 {
    ($isa:literal, $madd_low:ident, $madd_high:ident) => {
        use core::arch::x86_64::{
            __m256i as V, _mm256_add_epi64 as add, _mm256_setzero_si256 as zero,
            _mm256_srli_epi64 as shr, $madd_high as hi, $madd_low as lo,
        };

        use crate::kernels::unroll::{un, un10};

        /// A digit of eight numbers: the lanes of the first group, then those of the second.
        pub(crate) type Digits = [V; GROUPS];

        pub(in crate::kernels) const GROUPS: usize = 2;

        /// The constants of a modulus: m, b1 = B^-1 mod m, k0 = -1/m mod B.
        #[derive(Clone, Copy)]
        pub(crate) struct Factors<'a> {
            pub(crate) m: &'a [Digits],
            pub(crate) b1: &'a [Digits],
            pub(crate) k0: &'a Digits,
        }

        /// The registers of a window, for W below it.
        const WINDOW: usize = 13;

        /// Returns the block of W digits that starts at `at`.
        pub(in crate::kernels) fn block<const W: usize>(x: &[Digits], at: usize) -> &[Digits; W] {
            x[at..].first_chunk().expect("a whole block")
        }

        /// Returns the carry of a column.
        #[inline]
        #[target_feature(enable = $isa)]
        fn carry(x: V) -> V {
            shr::<52>(x)
        }

        /// t[0..R+W] := a * b in group g, R = `a.len()`; if ACC, adds the product to t.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        pub(in crate::kernels) fn mul_tile<const W: usize, const ACC: bool>(
            t: &mut [Digits],
            a: &[Digits],
            b: &[Digits; W],
            g: usize,
        ) {
            const { assert!(W <= 10, "the window would not fit in the registers") };
            assert!(g < GROUPS, "a group of a digit");
            let t = &mut t[..a.len() + W];
            let mut w = [zero(); WINDOW];
            if ACC {
                un10!(J < W { w[J] = t[J][g]; });
            }
            let (pairs, last) = a.as_chunks::<2>();
            let mut i = 0;
            for [x0, x1] in pairs {
                let (x0, x1) = (x0[g], x1[g]);
                w[W] = if ACC { t[i + W][g] } else { zero() };
                w[W + 1] = if ACC { t[i + W + 1][g] } else { zero() };
                un10!(J < W {
                    let y = b[J][g];
                    w[J] = lo(w[J], x0, y);
                    w[J + 1] = hi(w[J + 1], x0, y);
                    w[J + 1] = lo(w[J + 1], x1, y);
                    w[J + 2] = hi(w[J + 2], x1, y);
                });
                t[i][g] = w[0];
                t[i + 1][g] = w[1];
                un10!(J < W { w[J] = w[J + 2]; });
                i += 2;
            }
            for x in last {
                let x = x[g];
                w[W] = if ACC { t[i + W][g] } else { zero() };
                un10!(J < W {
                    let y = b[J][g];
                    w[J] = lo(w[J], x, y);
                    w[J + 1] = hi(w[J + 1], x, y);
                });
                t[i][g] = w[0];
                un10!(J < W { w[J] = w[J + 1]; });
                i += 1;
            }
            un10!(J < W { t[i + J][g] = w[J]; });
        }

        /// t[0..2W] := 2 * t + a^2 in group g. The caller has added the cross products of blocks to
        /// t, each once.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        pub(in crate::kernels) fn sq_tile<const W: usize>(
            t: &mut [Digits],
            a: &[Digits; W],
            g: usize,
        ) {
            assert!(g < GROUPS, "a group of a digit");
            let t = &mut t[..2 * W];
            // row I begins two columns and completes two: at most W + 2 accumulators are in use
            let mut w = [zero(); 24];
            un10!(J < W { w[J] = t[J][g]; });
            un10!(I < W {
                let x = a[I][g];
                w[I + W] = t[I + W][g];
                un10!(1 <= J < W {
                    if J > I {
                        let y = a[J][g];
                        w[I + J] = lo(w[I + J], x, y);
                        w[I + J + 1] = hi(w[I + J + 1], x, y);
                    }
                });
                t[2 * I][g] = lo(add(w[2 * I], w[2 * I]), x, x);
                t[2 * I + 1][g] = hi(add(w[2 * I + 1], w[2 * I + 1]), x, x);
            });
        }

        /// Does R fold rows with the lowest W digits of b1 in group g. t[0..R] become the folded
        /// digits (dirty); t[R..R+W+1] are the remaining columns. The caller then multiplies
        /// t[0..R] by the higher blocks of b1.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        fn fold_tile<const W: usize, const R: usize>(
            t: &mut [Digits],
            b1: &[Digits; W],
            g: usize,
        ) {
            assert!(g < GROUPS, "a group of a digit");
            let t = &mut t[..R + W + 1];
            let mut w = [zero(); WINDOW];
            un10!(J < W { w[J] = t[J][g]; });
            w[W] = t[W][g];
            for i in 0..R / 2 {
                let t = &mut t[2 * i..][..W + 3];
                let (q0, b) = (w[0], b1[0][g]);
                w[W + 1] = t[W + 1][g];
                w[W + 2] = t[W + 2][g];
                // the carry is added last, since its shift runs in parallel
                let q1 = add(lo(w[1], q0, b), carry(q0));
                w[2] = hi(w[2], q0, b);
                w[2] = add(lo(w[2], q1, b), carry(q1));
                w[3] = hi(w[3], q1, b);
                un10!(1 <= J < W {
                    let y = b1[J][g];
                    w[J + 1] = lo(w[J + 1], q0, y);
                    w[J + 2] = hi(w[J + 2], q0, y);
                    w[J + 2] = lo(w[J + 2], q1, y);
                    w[J + 3] = hi(w[J + 3], q1, y);
                });
                t[0][g] = q0;
                t[1][g] = q1;
                un10!(J < W { w[J] = w[J + 2]; });
                w[W] = w[W + 2];
            }
            if R % 2 == 1 {
                let (q, b) = (w[0], b1[0][g]);
                w[W + 1] = t[R + W][g];
                w[1] = add(lo(w[1], q, b), carry(q));
                w[2] = hi(w[2], q, b);
                un10!(1 <= J < W {
                    let y = b1[J][g];
                    w[J + 1] = lo(w[J + 1], q, y);
                    w[J + 2] = hi(w[J + 2], q, y);
                });
                t[R - 1][g] = q;
                un10!(J < W { w[J] = w[J + 1]; });
                w[W] = w[W + 1];
            }
            un10!(J < W { t[R + J][g] = w[J]; });
            t[R + W][g] = w[W];
        }

        /// z[0..K] := (t + q * m) / B with q = t[0] * k0 mod B, for t of K + 1 columns. All digits
        /// of z except the last are dirty. The groups are processed in parallel, since the carries of
        /// a group take longer than its row.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        fn finish(z: &mut [Digits], t: &[Digits], m: &[Digits], k0: &Digits) {
            let n = z.len() - 1; // digits that carry into a higher digit
            let (mut q, mut c) = ([zero(); GROUPS], [zero(); GROUPS]);
            for g in 0..GROUPS {
                q[g] = lo(zero(), t[0][g], k0[g]);
                c[g] = carry(lo(t[0][g], q[g], m[0][g]));
            }
            // slices of the same length: the loop needs no bounds checks
            let (last, z) = z.split_last_mut().expect("K > 0");
            let (t, top) = (&t[1..][..n], &t[n + 1]);
            let (digits, above) = (&m[..n], &m[1..][..n]);
            for j in 0..n {
                for g in 0..GROUPS {
                    let sum = lo(hi(t[j][g], q[g], digits[j][g]), q[g], above[j][g]);
                    z[j][g] = add(sum, c[g]);
                    c[g] = carry(z[j][g]);
                }
            }
            for g in 0..GROUPS {
                last[g] = add(hi(top[g], q[g], m[n][g]), c[g]);
            }
        }

        /// z :== t / B^K (mod m), K a multiple of W. Q = W - 1.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        pub(in crate::kernels) fn reduce<const W: usize, const Q: usize>(
            m: &Factors<'_>,
            z: &mut [Digits],
            t: &mut [Digits],
        ) {
            let k = z.len();
            for i in (0..k - W).step_by(W) {
                fold_block::<W, W>(&mut t[i..], m.b1);
            }
            fold_block::<W, Q>(&mut t[k - W..], m.b1);
            finish(z, &t[k - 1..2 * k], m.m, m.k0);
        }

        /// Folds R digits of both groups, tile by tile.
        #[inline]
        #[target_feature(enable = $isa)]
        fn fold_block<const W: usize, const R: usize>(t: &mut [Digits], b1: &[Digits]) {
            for g in 0..GROUPS {
                fold_tile::<W, R>(t, block(b1, 0), g);
            }
            let (q, above) = t.split_at_mut(W + 1);
            for j in (W..b1.len()).step_by(W) {
                for g in 0..GROUPS {
                    mul_tile::<W, true>(&mut above[j - W..], &q[..R], block(b1, j), g);
                }
            }
        }
    };
}

/// AVX-IFMA.
pub(crate) mod vex {
    tiles52!("avx2,avxifma", _mm256_madd52lo_avx_epu64, _mm256_madd52hi_avx_epu64);
}

/// AVX-512 IFMA with VL.
pub(crate) mod evex {
    tiles52!("avx512ifma,avx512vl", _mm256_madd52lo_epu64, _mm256_madd52hi_epu64);
}
