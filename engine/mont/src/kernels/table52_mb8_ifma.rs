// The table of an exponentiation, table[i] :== x^i / R^{i-1} (mod m) for 2 <= i < E, R = 2^{52W},
// in each of 8 lanes, for numbers of one tile: K = W digits of 52 bits. One call computes S such
// tables (streams; ROWS: see short52_ifma): entry i of every stream, then entry i + 1.
// Inputs x[W] = table[1], m[W], b1[W] = 2^-52 mod m, half[W] = b1 / 2 mod m, k0; output
// table[2..E][W]; scratch t[2W].
//
// Requires  m odd; 64m <= R; x < 7m.
// Ensures   each of these entries is below 3m; all its digits except the last are dirty.
// Counts    W(W+1) + 2W^2 + 1 vpmadd52 an even entry, 4W^2 + 1 an odd one.
// Time      constant: no branch or address depends on x, m, b1 or k0.
// Model     `window::table` of amm52_mb8_portable.
//
// One call computes all entries, by the functions of ams52_mb8_ifma and amm52_mb8_ifma, to avoid
// the cost of a call for each product (see window52_mb8_ifma).
//! `table52_mb8_ifma`: squares and products of one tile, from earlier entries.

use super::short52_ifma::{amm_short, ams_short};
use super::window52_mb8_ifma::Stream;

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn table52_mb8_ifma<const W: usize, const S: usize, const ROWS: bool>(
    streams: &mut [Stream<'_, W>; S],
) {
    for i in 2..streams[0].table.len() {
        for s in &mut *streams {
            let (done, entries) = s.table.split_at_mut(i);
            let z = &mut entries[0];
            if i % 2 == 0 {
                ams_short(z, &done[i / 2], &s.m, s.t, ROWS);
            } else {
                amm_short(z, &done[i - 1], &done[1], &s.m, s.t, ROWS);
            }
        }
    }
}
