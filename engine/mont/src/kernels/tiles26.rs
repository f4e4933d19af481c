// Tiles of the eight-lane kernels without vpmadd52, radix B = 2^52 in halves of H = 2^26. Vectors
// of 256 bits hold two groups of four numbers, vectors of 512 bits one group of eight.
//
//   mul_tile   t[0..R+W-1] := t[0..R+W-1] + a[0..R] * b[0..W], columns of one kind
//   sq_tile    t[0..2W-1]  := a[0..W]^2, columns of one kind
//   fold       Q fold rows on columns of all kinds: the columns become the folded digits
//   reduce     z[0..K] :== columns / B^K (mod m), in all groups
//
// Kinds. vpmuludq multiplies 32 by 32 bits. A digit is a0 + a1*H. The product
// of two digits is, by Karatsuba's method,
//   a0*b0 + (s*u - a0*b0 - a1*b1) * H + a1*b1 * H^2,   s = a0 + a1, u = b0 + b1.
// The subtractions are linear, so they can wait until a column is complete. A number is three
// sequences of K parts, one of each kind: low, high, sum. A product of two numbers is three
// products of sequences of the same kind. The three columns of a position are combined only when
// its digit is folded or is part of the result. A product of two digits takes three vpmuludq
// instead of four.
//
// Columns. Parts are below 2^26 and their sums below 2^27, so a product adds less than 2^54 to a
// column. A column gets at most 2K + 1 products, K <= 160. It stays below 2^63, and carries stay
// below 2^38 (asserted in `shape`). Neither a column nor s*u - a0*b0 - a1*b1 is ever negative.
//
// Fold. As in `tiles52_ifma`: t_i * B^i :== t_i * b1 * B^{i+1} (mod m), b1 = B^-1 mod m. After
// K - 1 such rows and a textbook row,  z < x*y/R + 2m.
//
// Windows. W parts and W - 1 accumulators stay in registers: W = 5 or 6 in 16 registers, W <= 10 in
// 32. In each row every accumulator moves down by one column: the addition writes to the next
// register.
//! Tiles of the eight-lane kernels without IFMA: one source for vectors of 256 and of 512 bits.
//!
//! `tiles26_avx2` and `tiles26_avx512` expand `tiles26`, and the kernels' files the other macros.
//! The names of the vector type V and of its operations are those of the file that expands them.

/// Adds R = `a.len()` rows of a product to a window of W - 1 columns. If ACC, also adds the columns
/// of t above the window. Each iteration does two rows: one is too short for the core's front end.
macro_rules! rows26 {
    ($W:ident, $acc:expr, $t:ident, $w:ident, $a:expr, $b:ident) => {{
        let a = $a;
        let t = &mut $t[..a.len() + $W - 1];
        let pairs = a.len() / 2;
        for i in 0..pairs {
            let (x, y) = (a[2 * i], a[2 * i + 1]);
            if $acc {
                $w[$W - 1] = t[2 * i + $W - 1];
                $w[$W] = t[2 * i + $W];
            } else {
                $w[$W - 1] = zero();
                $w[$W] = zero();
            }
            t[2 * i] = madd($w[0], x, $b[0]);
            t[2 * i + 1] = madd(madd($w[1], x, $b[1]), y, $b[0]);
            for j in 2..$W {
                $w[j - 2] = madd(madd($w[j], x, $b[j]), y, $b[j - 1]);
            }
            $w[$W - 2] = madd($w[$W], y, $b[$W - 1]);
        }
        let mut done = 2 * pairs;
        if done < a.len() {
            let x = a[done];
            $w[$W - 1] = if $acc { t[done + $W - 1] } else { zero() };
            t[done] = madd($w[0], x, $b[0]);
            for j in 1..$W {
                $w[j - 1] = madd($w[j], x, $b[j]);
            }
            done += 1;
        }
        t[done..][..$W - 1].copy_from_slice(&$w[..$W - 1]);
    }};
}

/// The tiles, for the instructions `$isa`.
macro_rules! tiles26 {
    ($isa:literal) => {
        /// The groups of numbers that share a vector.
        const GROUPS: usize = 64 / size_of::<V>();

        /// A digit of eight numbers: the lanes of the first group, then those of the second.
        pub(crate) type Digits = [V; GROUPS];

        /// The kinds of parts: low half, high half, and their sum.
        const KINDS: usize = 3;

        /// The registers of a window, for W below it.
        const WINDOW: usize = 12;

        /// The constants of a modulus: m, b1 = B^-1 mod m, k0 = -1/m mod B.
        #[derive(Clone, Copy)]
        pub(crate) struct Factors<'a> {
            pub(crate) m: &'a [Digits],
            pub(crate) b1: &'a [Digits],
            pub(crate) k0: &'a Digits,
        }

        /// The state of a group of numbers.
        pub(super) struct Group<'a> {
            /// 2K columns of each kind.
            pub(super) t: [&'a mut [V]; KINDS],
            /// K parts of each kind, the factors of the rows.
            pub(super) a: [&'a mut [V]; KINDS],
        }

        /// Divides scratch memory of 9K digits between the groups.
        #[inline(always)]
        pub(super) fn groups(scratch: &mut [Digits], k: usize) -> [Group<'_>; GROUPS] {
            let mut rest = scratch.as_flattened_mut();
            let mut take = |n: usize| {
                let (part, more) = core::mem::take(&mut rest).split_at_mut(n);
                rest = more;
                part
            };
            [(); GROUPS].map(|()| Group {
                t: [(); KINDS].map(|()| take(2 * k)),
                a: [(); KINDS].map(|()| take(k)),
            })
        }

        /// Returns the first N parts.
        fn block<const N: usize>(x: &[V]) -> &[V; N] {
            x.first_chunk().expect("a whole block")
        }

        /// Returns c + x * y.
        #[inline]
        #[target_feature(enable = $isa)]
        fn madd(c: V, x: V, y: V) -> V {
            add(c, mul(x, y))
        }

        /// Returns the low half of a digit, or of a column whose carry has been taken out.
        #[inline]
        #[target_feature(enable = $isa)]
        fn low(x: V) -> V {
            and(x, splat((1 << 26) - 1))
        }

        #[inline]
        #[target_feature(enable = $isa)]
        fn shifted(x: V) -> V {
            shr::<26>(x)
        }

        /// Returns the parts of a digit. Ignores the bits above 52.
        #[inline]
        #[target_feature(enable = $isa)]
        fn parts(x: V) -> [V; KINDS] {
            let (a0, a1) = (low(x), low(shifted(x)));
            [a0, a1, add(a0, a1)]
        }

        /// a := the parts of the digits of x, for the numbers of group g.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        pub(super) fn split(a: &mut [&mut [V]; KINDS], x: &[Digits], g: usize) {
            let [low, high, sum] = a;
            let k = x.len();
            let (low, high, sum) = (&mut low[..k], &mut high[..k], &mut sum[..k]);
            for (j, x) in x.iter().enumerate() {
                [low[j], high[j], sum[j]] = parts(x[g]);
            }
        }

        /// Returns the parts of W digits.
        #[inline]
        #[target_feature(enable = $isa)]
        pub(super) fn split_block<const W: usize>(x: &[Digits], g: usize) -> [[V; W]; KINDS] {
            let mut z = [[zero(); W]; KINDS];
            for (j, x) in x[..W].iter().enumerate() {
                let x = parts(x[g]);
                for kind in 0..KINDS {
                    z[kind][j] = x[kind];
                }
            }
            z
        }

        /// t[0..R+W-1] := a * b, R = `a.len()`; if ACC, adds the product to t.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        pub(super) fn mul_tile<const W: usize, const ACC: bool>(t: &mut [V], a: &[V], b: &[V; W]) {
            let mut w = [zero(); WINDOW];
            if ACC {
                w[..W - 1].copy_from_slice(&t[..W - 1]);
            }
            rows26!(W, ACC, t, w, a, b);
        }

        /// Adds the columns of a * q from column Q - 1 on to t[0..R+1]: column i + Q - 1 of the
        /// product to column i of t.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        fn fold_tile<const Q: usize>(t: &mut [V], a: &[V], q: &[V; Q]) {
            let mut w = [zero(); WINDOW];
            w[..Q - 1].copy_from_slice(&t[..Q - 1]);
            un10!(J < Q {
                un10!(1 <= R < Q {
                    if J < Q - 1 && J + R >= Q - 1 {
                        w[J + R + 1 - Q] = madd(w[J + R + 1 - Q], a[J], q[R]);
                    }
                });
            });
            rows26!(Q, true, t, w, &a[Q - 1..], q);
        }

        /// t[0..2W-1] := a^2.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        pub(super) fn sq_tile<const W: usize>(t: &mut [V], a: &[V; W]) {
            let t = &mut t[..2 * W];
            let mut w = [zero(); 20];
            // row I begins two columns and completes two: at most W accumulators are in use
            un10!(I < W {
                w[2 * I] = madd(w[2 * I], a[I], a[I]);
                let x = add(a[I], a[I]);
                un10!(1 <= J < W {
                    if J > I {
                        w[I + J] = madd(w[I + J], x, a[J]);
                    }
                });
                t[2 * I] = w[2 * I];
                t[2 * I + 1] = w[2 * I + 1];
            });
        }

        /// Combines a column of three kinds and a carry. Returns the low half of its digit, the
        /// high half (the bits above it are a carry), and the carry of the column.
        #[inline]
        #[target_feature(enable = $isa)]
        fn close([l, h, s]: [V; KINDS], carry: V) -> (V, V, V) {
            let cross = sub(sub(s, l), h);
            let l = add(l, carry);
            let cross = add(cross, shifted(l));
            (low(l), cross, add(h, shifted(cross)))
        }

        /// Does Q fold rows on the columns from i on, with the parts of b1.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        fn fold<const Q: usize>(group: &mut Group<'_>, i: usize) {
            let (mut q, mut carry) = ([[zero(); Q]; KINDS], zero());
            let [t0, t1, t2] = &mut group.t;
            let [t0, t1, t2] = [&mut t0[i..], &mut t1[i..], &mut t2[i..]];
            {
                let t: [&[V; Q]; KINDS] = [block(t0), block(t1), block(t2)];
                let a: [&[V; Q]; KINDS] = [block(group.a[0]), block(group.a[1]), block(group.a[2])];
                un10!(R < Q {
                    let mut column = [t[0][R], t[1][R], t[2][R]];
                    un10!(S < R {
                        column[0] = madd(column[0], q[0][S], a[0][R - 1 - S]);
                        column[1] = madd(column[1], q[1][S], a[1][R - 1 - S]);
                        column[2] = madd(column[2], q[2][S], a[2][R - 1 - S]);
                    });
                    let (lower, upper, above) = close(column, carry);
                    q[0][R] = lower;
                    q[1][R] = low(upper);
                    q[2][R] = add(q[0][R], q[1][R]);
                    carry = above;
                });
            }
            // added to both columns, since it then cancels in s*u - a0*b0 - a1*b1
            t0[Q] = add(t0[Q], carry);
            t2[Q] = add(t2[Q], carry);
            fold_tile::<Q>(&mut t0[Q..], group.a[0], &q[0]);
            fold_tile::<Q>(&mut t1[Q..], group.a[1], &q[1]);
            fold_tile::<Q>(&mut t2[Q..], group.a[2], &q[2]);
        }

        /// Returns the columns plus q * m, for one digit q.
        #[inline]
        #[target_feature(enable = $isa)]
        fn with_row([l, h, s]: [V; KINDS], q: [V; KINDS], m: [V; KINDS]) -> [V; KINDS] {
            [madd(l, q[0], m[0]), madd(h, q[1], m[1]), madd(s, q[2], m[2])]
        }

        /// Returns the quotient digit of the last row, and the carry of the first column, whose
        /// digit becomes 0.
        #[inline]
        #[target_feature(enable = $isa)]
        fn last_digit(column: [V; KINDS], m: V, k0: V) -> ([V; KINDS], V) {
            let (c0, c1, _) = close(column, zero());
            let [k0, k1, _] = parts(k0);
            let p = mul(c0, k0);
            let q0 = low(p);
            let q1 = low(madd(madd(shifted(p), c0, k1), low(c1), k0));
            let q = [q0, q1, add(q0, q1)];
            (q, close(with_row(column, q, parts(m)), zero()).2)
        }

        /// z := (t + q * m) / B with q = t[0] * k0 mod B, for the columns from K - 1 on. All digits
        /// of z except the last are dirty. The groups are processed in parallel, since the carries
        /// of a group take longer than its row.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        fn finish(z: &mut [Digits], groups: &[Group<'_>; GROUPS], m: &Factors<'_>) {
            let k = z.len();
            let mut t = [[&groups[0].t[0][..]; KINDS]; GROUPS];
            for g in 0..GROUPS {
                for kind in 0..KINDS {
                    t[g][kind] = &groups[g].t[kind][k - 1..2 * k];
                }
            }
            let column = |g: usize, j: usize| [t[g][0][j], t[g][1][j], t[g][2][j]];
            let digits = &m.m[..k];
            let (mut q, mut carry) = ([[zero(); KINDS]; GROUPS], [zero(); GROUPS]);
            for g in 0..GROUPS {
                (q[g], carry[g]) = last_digit(column(g, 0), digits[0][g], m.k0[g]);
            }
            for j in 1..k {
                for g in 0..GROUPS {
                    let row = with_row(column(g, j), q[g], parts(digits[j][g]));
                    let (lower, upper, above) = close(row, carry[g]);
                    z[j - 1][g] = add(lower, shl::<26>(upper));
                    carry[g] = above;
                }
            }
            for g in 0..GROUPS {
                let (lower, upper, _) = close(column(g, k), carry[g]);
                z[k - 1][g] = add(lower, shl::<26>(upper));
            }
        }

        /// z :== columns / B^K (mod m), z < columns / B^K + 2m, in all groups, tile by tile. While
        /// a group waits for the digits that it folds, another multiplies. Q = W - 1.
        #[inline(never)]
        #[target_feature(enable = $isa)]
        pub(super) fn reduce<const W: usize, const Q: usize>(
            z: &mut [Digits],
            mut groups: [Group<'_>; GROUPS],
            m: &Factors<'_>,
        ) {
            let k = z.len();
            for (g, group) in groups.iter_mut().enumerate() {
                split(&mut group.a, m.b1, g);
            }
            for i in (0..k).step_by(W) {
                for group in &mut groups {
                    if i + W < k {
                        fold::<W>(group, i);
                    } else {
                        fold::<Q>(group, i);
                    }
                }
            }
            finish(z, &groups, m);
        }
    };
}

/// The product: the kernel of this name, for the instructions `$isa`.
macro_rules! amm26 {
    ($kernel:ident, $isa:literal) => {
        #[target_feature(enable = $isa)]
        pub(crate) fn $kernel<const W: usize, const Q: usize>(
            m: &Factors<'_>,
            z: &mut [Digits],
            x: &[Digits],
            y: &[Digits],
            t: &mut [Digits],
        ) {
            let k = x.len();
            let mut groups = groups(t, k);
            for (g, group) in groups.iter_mut().enumerate() {
                split(&mut group.a, x, g);
                group.t.iter_mut().for_each(|t| t[k + W - 1..].fill(zero()));
            }
            for j in (0..k).step_by(W) {
                for (g, group) in groups.iter_mut().enumerate() {
                    let y = split_block::<W>(&y[j..], g);
                    for (kind, y) in y.iter().enumerate() {
                        let t = &mut group.t[kind][j..];
                        if j == 0 {
                            mul_tile::<W, false>(t, group.a[kind], y);
                        } else {
                            mul_tile::<W, true>(t, group.a[kind], y);
                        }
                    }
                }
            }
            reduce::<W, Q>(z, groups, m);
        }
    };
}

/// The square: the kernel of this name, for the instructions `$isa`.
macro_rules! ams26 {
    ($kernel:ident, $isa:literal) => {
        #[target_feature(enable = $isa)]
        pub(crate) fn $kernel<const W: usize, const Q: usize, const S: usize>(
            m: &Factors<'_>,
            z: &mut [Digits],
            x: &[Digits],
            t: &mut [Digits],
        ) {
            let k = x.len();
            let mut groups = groups(t, k);
            for (g, group) in groups.iter_mut().enumerate() {
                split(&mut group.a, x, g);
            }
            for i in (0..k).step_by(S) {
                for group in &mut groups {
                    for (t, a) in group.t.iter_mut().zip(&group.a) {
                        sq_tile::<S>(&mut t[2 * i..], a[i..].first_chunk().expect("a whole block"));
                    }
                }
            }
            for i in (0..k - S).step_by(W) {
                let above = i / S * S + S;
                for group in &mut groups {
                    for (t, a) in group.t.iter_mut().zip(&group.a) {
                        let mut twice: [_; W] = *a[i..].first_chunk().expect("a whole block");
                        twice.iter_mut().for_each(|x| *x = add(*x, *x));
                        mul_tile::<W, true>(&mut t[i + above..], &a[above..], &twice);
                    }
                }
            }
            reduce::<W, Q>(z, groups, m);
        }
    };
}

pub(super) use {amm26, ams26, rows26, tiles26};
