// A window of an exponentiation, z :== z^{2^squares} * table[index] / R^{2^squares} (mod m), R =
// 2^{52W}, in each of 8 lanes, for numbers of one tile: K = W digits of 52 bits. One call computes
// S such windows (streams): one square of every stream, then the next. ROWS: see short52_ifma.
// Inputs z[W], table[E][W], index, m[W], b1[W] = 2^-52 mod m, half[W] = b1 / 2 mod m, k0; output
// z[W], or next[W] if the number of products is odd; scratch next[W], entry[W], t[2W].
//
// Requires  m odd; 64m <= R; z and the entries below 8m; index < E; E is a multiple of SPAN, at
//           most SPAN * squares, so that the squares read the whole table.
// Ensures   the result is below 3m; all its digits except the last are dirty.
// Counts    W(W+1) + 2W^2 + 1 vpmadd52 a square, 4W^2 + 1 the product; EW / 2 operations to read.
// Time      constant: no branch or address depends on z, the table, the index, m, b1 or k0.
// Model     `window::plain` of amm52_mb8_portable.
//
// Uses the functions of ams52_mb8_ifma and amm52_mb8_ifma, but one call for the whole window. With
// ten digits a square takes 160 cycles, and a call for each square would add 35.
//! `window52_mb8_ifma`: squares and a product of one tile, with interleaved reads of the table.

use super::columns52_ifma::Columns;
use super::select52_mb8_avx512::{SPAN, odd};
use super::short52_ifma::{amm_short, ams_short, ams_short_reading};
use super::tiles52_ifma::{Short, V};

/// The operands of one stream.
pub(crate) struct Stream<'a, const W: usize> {
    pub(crate) z: &'a mut [V; W],
    pub(crate) next: &'a mut [V; W],
    pub(crate) entry: &'a mut [V; W],
    pub(crate) t: &'a mut Columns<W>,
    pub(crate) table: &'a mut [[V; W]],
    pub(crate) index: V,
    pub(crate) m: Short<'a, W>,
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn window52_mb8_ifma<const W: usize, const S: usize, const ROWS: bool>(
    streams: &mut [Stream<'_, W>; S],
    squares: usize,
) {
    for s in &mut *streams {
        *s.entry = [odd(&s.index); W];
    }
    for at in (0..squares).map(|part| part * SPAN) {
        for s in &mut *streams {
            if let Some(entries) = s.table.get(at..).and_then(<[_]>::first_chunk) {
                let first = i64::try_from(at).expect("a table has few entries");
                let (m, t) = (&s.m, &mut *s.t);
                ams_short_reading(s.next, s.z, m, t, entries, &s.index, first, s.entry, ROWS);
            } else {
                ams_short(s.next, s.z, &s.m, s.t, ROWS);
            }
            core::mem::swap(&mut s.z, &mut s.next);
        }
    }
    for s in streams {
        amm_short(s.next, s.z, s.entry, &s.m, s.t, ROWS);
        core::mem::swap(&mut s.z, &mut s.next);
    }
}
