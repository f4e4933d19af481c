// Products and squares of numbers of one tile, K = W digits, in the form that suits the core.
//
//   rows      all columns in registers, two rows at once (`rows52_ifma`): a digit is loaded once
//             for four multiplications. On Intel's cores loads slow down multiplications.
//   columns   the columns of the product, then the reduction (`columns52_ifma`), with a loop over
//             its rows. On Zen 5 loads are free beside multiplications. With 20 digits, the rows of
//             both squares of a window are 23 kB of code. They took 1.04 times as long as columns
//             there, and at times 1.2 times, run after run (docs/tried-kernels.md).
//
// The contracts of both forms are equal. A machine uses rows if `HaveIfma::shares_vector_ports`.
//! Products and squares of one tile, in two forms.

use super::columns52_ifma::{Columns, reduce_columns, reduce_columns_reading};
use super::rows52_ifma::{amm_rows, ams_rows, ams_rows_reading};
use super::select52_mb8_avx512::{SPAN, V};
use super::tiles52_ifma::{Short, mul_tile, sq_tile};

/// z :== x * y / B^W (mod m). Scratch t.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn amm_short<const W: usize>(
    z: &mut [V; W],
    x: &[V; W],
    y: &[V; W],
    m: &Short<'_, W>,
    t: &mut Columns<W>,
    by_rows: bool,
) {
    // with more than 15 digits, the rows of a product are a loop, as fast on both kinds of cores
    if by_rows || W > 15 {
        return amm_rows(z, x, y, m);
    }
    mul_tile::<W, 0, false>(t.as_flattened_mut(), x, y);
    reduce_columns(z, t, m);
}

/// z :== x^2 / B^W (mod m). Scratch t.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn ams_short<const W: usize>(
    z: &mut [V; W],
    x: &[V; W],
    m: &Short<'_, W>,
    t: &mut Columns<W>,
    by_rows: bool,
) {
    if by_rows {
        return ams_rows(z, x, m);
    }
    sq_tile::<W, false>(t.as_flattened_mut(), x);
    reduce_columns(z, t, m);
}

/// Does the same as [`ams_short`], and reads table entries into `out`: see
/// [`Read`](super::select52_mb8_avx512::Read).
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
#[expect(clippy::too_many_arguments, reason = "the operands of two kernels that are interleaved")]
pub(super) fn ams_short_reading<const W: usize>(
    z: &mut [V; W],
    x: &[V; W],
    m: &Short<'_, W>,
    t: &mut Columns<W>,
    entries: &[[V; W]; SPAN],
    index: &V,
    first: i64,
    out: &mut [V; W],
    by_rows: bool,
) {
    if by_rows {
        return ams_rows_reading(z, x, m, entries, index, first, out);
    }
    sq_tile::<W, false>(t.as_flattened_mut(), x);
    reduce_columns_reading(z, t, m, entries, index, first, out);
}
