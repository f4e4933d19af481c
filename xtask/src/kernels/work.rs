//! Constructors of rows, and the multiplications of their functions by the sizes of a kernel.

use super::{Multiplies, Row, Work};
use crate::machine_code::instruction::RDI;

/// Tiles of every size, in one stream and two.
pub(super) const SIZES: &str = "6, 1; 6, 2; 10, 1; 10, 2; 15, 1; 15, 2; 20, 1; 20, 2";

/// Lane blocks whose products are one piece: K digits, L to a number, C in the last.
pub(super) const BLOCKS: &str = "3, 4, 1; 3, 7, 2; 5, 4, 5; 4, 8, 2; 5, 8, 5";

/// A row whose arguments are all public.
pub(crate) const fn row(
    path: &'static str,
    branches: &'static str,
    instances: &'static str,
    work: fn(&[u64]) -> Work,
) -> Row {
    Row { path, secret: &[], secret_stack: &[], structs: &[], branches, instances, work }
}

/// A row of a function that contains no multiplications itself. Its first argument points to
/// structs, whose numbers it passes to tiles.
pub(super) const fn streams(
    path: &'static str,
    branches: &'static str,
    instances: &'static str,
) -> Row {
    row(path, branches, instances, nothing).structs(&[(RDI, 1)])
}

/// W low halves and W high ones: a row of a product or a fold row.
pub(super) fn halves(w: u64) -> Multiplies {
    Multiplies::halves(w, w)
}

/// Rows of W digits.
pub(super) fn rows(p: &[u64]) -> Work {
    Work::rows(halves(p[0]))
}

pub(crate) fn nothing(_: &[u64]) -> Work {
    Work::once(Multiplies::NONE)
}

/// Lane blocks of K digits, a product of `rows` rows; the last quotient digit takes a low half
/// only.
pub(super) fn blocks(rows: u64, k: u64) -> Multiplies {
    Multiplies::halves(2 * rows * k + 1, 2 * rows * k)
}

/// Lane blocks of K digits, L to a number, C digits in the last. Outside the loop: the last block
/// and a row of zeros. In a pass: one other block. If there is only one other block, LLVM leaves no
/// loop and no zeros.
pub(super) fn long_blocks(k: u64, l: u64, c: u64) -> Work {
    if l == 2 {
        return Work::once(blocks(k + c, k));
    }
    let last = k * (2 * c + 1);
    Work { once: Multiplies::halves(last + 1, last), passes: vec![halves(2 * k * k)] }
}

/// W by W limbs: each row ends with one more adcx, which adds the carry.
pub(super) fn limb_tile(w: u64) -> Multiplies {
    Multiplies::limbs(w * w, w * (w + 1), w * w)
}

/// Products of different limbs of W: a row ends as in a tile.
pub(super) fn limb_triangle(w: u64) -> Multiplies {
    let above = w * (w - 1) / 2;
    Multiplies::limbs(above, above + w - 1, above)
}

/// The squares of W limbs, added to the doubled products: two steps of both chains for each square,
/// and one step before and after for the carries.
pub(super) fn limb_diagonal(w: u64) -> Multiplies {
    Multiplies::limbs(w, 2 * w + 2, 2 * w + 2)
}

/// The last sums of a row of tiles, with two carries.
pub(super) fn limb_adding(w: u64) -> Multiplies {
    Multiplies::limbs(0, w + 2, w + 2)
}

/// Product of one tile, W by W limbs, row by row with its reduction: the first row adds nothing.
pub(super) fn limb_steps(w: u64) -> Multiplies {
    let rows = (w - 1) * (w + 1);
    limb_steps_reduced(Multiplies::limbs(w * w, rows, rows), w)
}

/// The square of one tile: half of the products, and in all rows but the last the bit above the
/// doubled limbs.
pub(super) fn limb_steps_squared(w: u64) -> Multiplies {
    let (products, first) = (w * (w + 1) / 2, w);
    let bits = w - 1;
    // a row adds the carries of both chains; the first row has a chain of ADC
    let (adcx, adox) = (products - first + 2 * (w - 1), products - first + w - 1);
    limb_steps_reduced(Multiplies::limbs(products + bits, adcx, adox), w)
}

/// A product, W rows of its reduction with W limbs of m in each, and the masks of m.
fn limb_steps_reduced(product: Multiplies, w: u64) -> Multiplies {
    let Multiplies([_, _, mulx, adcx, adox, _]) = product;
    let rows = w * (w + 1);
    Multiplies::limbs(mulx + w * w + w, adcx + rows, adox + rows)
}

/// W limbs of m, or zeros: each limb is multiplied by the carry, 0 or 1.
pub(super) fn limb_masking(w: u64) -> Multiplies {
    Multiplies::limbs(w, 0, 0)
}

/// W digits squared: each product of two different digits once.
pub(super) fn triangle(p: &[u64]) -> Work {
    Work::once(halves(p[0] * (p[0] + 1) / 2))
}

/// Fold rows, then the last row of a reduction, with a low half for its quotient digit. For small W
/// LLVM unrolls the loop.
pub(super) fn window(p: &[u64]) -> Work {
    Work { once: Multiplies::halves(p[0] + 1, p[0]), passes: vec![halves(p[0])] }
}

/// The last row of a reduction in `streams` streams: its two ends, and its digits in a loop.
pub(super) fn finish(streams: u64) -> Work {
    Work { once: Multiplies::halves(2 * streams, streams), passes: vec![halves(streams)] }
}

/// `rows` rows of W products of half digits.
pub(super) fn parts(rows: u64, w: u64) -> Multiplies {
    Multiplies::half_digits(rows * w)
}
