//! The variants, one file each; common code is in `schoolbook` and here.
//!
//! All of them: x, y < R = 2^{64K}, z :== x * y / R (mod m), z < R; z < 3m if x*y <= R*m. K is
//! even. If `SQUARE`, x = y. Time: constant; K alone sets the number of passes of a loop.

pub(crate) mod cios;
pub(crate) mod karatsuba;
pub(crate) mod schoolbook;
pub(crate) mod single_step;
pub(crate) mod sos;

use tollgate_mont::Word as _;

use crate::limbs::subtract;

/// z := z + above * R - m if `above` is 1, else z: below R, for z + above * R < R + m.
#[inline(always)]
pub(crate) fn settle(z: &mut [u64], m: &[u64], above: u64) {
    subtract(z, m, above.mask());
}
