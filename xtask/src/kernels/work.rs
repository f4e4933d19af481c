//! Constructors of rows, and the multiplications of their functions by the sizes of a kernel.

use super::{Multiplies, Row, Work};
use crate::machine_code::instruction::RDI;

/// Parameters of tiles of every size, in one stream and in two.
pub(super) const SIZES: &str = "6, 1; 6, 2; 10, 1; 10, 2; 15, 1; 15, 2; 20, 1; 20, 2";

/// The same in both forms of `short52_ifma`.
pub(super) const FORMS: &str = "6, 1, false; 6, 1, true; 6, 2, false; 6, 2, true; \
    10, 1, false; 10, 1, true; 10, 2, false; 10, 2, true; \
    15, 1, false; 15, 1, true; 15, 2, false; 15, 2, true; \
    20, 1, false; 20, 1, true; 20, 2, false; 20, 2, true";

/// Parameters of tiles on 256-bit registers: digits of a block, and rows of the last fold; the same
/// for every fold; and whether a product is added to the columns.
pub(super) const NARROW: &str = "5, 4; 6, 5; 10, 9";
pub(super) const NARROW_FOLDS: &str = "5, 4; 5, 5; 6, 5; 6, 6; 10, 9; 10, 10";
pub(super) const NARROW_PRODUCTS: &str =
    "5, false; 5, true; 6, false; 6, true; 10, false; 10, true";

/// Parameters K, L, C of lane blocks whose products have no loop: digits of a block, blocks of a
/// number, digits of the last block that count.
pub(super) const BLOCKS: &str = "3, 4, 1; 5, 4, 5; 4, 8, 2; 5, 8, 5";

/// Returns a row whose arguments are all public.
pub(crate) const fn row(
    path: &'static str,
    instances: &'static str,
    work: fn(&[u64]) -> Work,
) -> Row {
    Row { path, secret: &[], secret_stack: &[], structs: &[], instances, work }
}

/// Returns a row of a function that contains no multiplications itself. Its first argument points
/// to structs; the function passes their numbers to tiles.
pub(super) const fn streams(path: &'static str, instances: &'static str) -> Row {
    row(path, instances, nothing).structs(&[(RDI, 1)])
}

/// Returns W low halves and W high halves: a row of a product or a fold row.
pub(super) fn halves(w: u64) -> Multiplies {
    Multiplies::halves(w, w)
}

/// Returns a loop whose passes are rows of W digits.
pub(super) fn rows(p: &[u64]) -> Work {
    Work::rows(halves(p[0]))
}

/// Returns a loop whose passes are fold rows of W digits, and the textbook row.
pub(super) fn fold_columns(p: &[u64]) -> Work {
    Work { once: Multiplies::halves(p[0] + 1, p[0]), passes: vec![halves(p[0])] }
}

/// Returns a loop whose passes are two rows of W digits, and a loop for a last row.
pub(super) fn narrow_rows(p: &[u64]) -> Work {
    Work { once: Multiplies::NONE, passes: vec![halves(2 * p[0]), halves(p[0])] }
}

/// Returns R fold rows of W digits: passes of two rows, and a last row if R is odd.
pub(super) fn narrow_fold(p: &[u64]) -> Work {
    Work { once: halves(p[0] * (p[1] % 2)), passes: vec![halves(2 * p[0])] }
}

pub(crate) fn nothing(_: &[u64]) -> Work {
    Work::once(Multiplies::NONE)
}

/// Returns a product of `rows` rows in lane blocks of K digits. The last quotient digit takes only
/// a low half.
pub(super) fn blocks(rows: u64, k: u64) -> Multiplies {
    Multiplies::halves(2 * rows * k + 1, 2 * rows * k)
}

/// Returns a product in eight lane blocks of K digits; C digits of the last block count. The last
/// block and a row of zeros are outside the loop. Each pass is one other block.
pub(super) fn long_blocks(k: u64, c: u64) -> Work {
    let last = k * (2 * c + 1);
    Work { once: Multiplies::halves(last + 1, last), passes: vec![halves(2 * k * k)] }
}

/// Returns a tile of W by W limbs. Each row ends with one more adcx, which adds the carry.
pub(super) fn limb_tile(w: u64) -> Multiplies {
    Multiplies::limbs(w * w, w * (w + 1), w * w)
}

/// Returns the products of different limbs among W. A row ends with one more adcx, as in a tile.
pub(super) fn limb_triangle(w: u64) -> Multiplies {
    let above = w * (w - 1) / 2;
    Multiplies::limbs(above, above + w - 1, above)
}

/// Returns the squares of W limbs, added to the doubled products. Each square takes two steps of
/// both chains; the carries take one step before and one after all squares.
pub(super) fn limb_diagonal(w: u64) -> Multiplies {
    Multiplies::limbs(w, 2 * w + 2, 2 * w + 2)
}

/// Returns the last sums of a row of tiles, with two carries.
pub(super) fn limb_adding(w: u64) -> Multiplies {
    Multiplies::limbs(0, w + 2, w + 2)
}

/// Masks W limbs of m: each limb is multiplied by the carry, 0 or 1.
pub(super) fn limb_masking(w: u64) -> Multiplies {
    Multiplies::limbs(w, 0, 0)
}

/// Returns the square of W digits, with each product of two different digits once.
pub(super) fn triangle(p: &[u64]) -> Work {
    Work::once(halves(p[0] * (p[0] + 1) / 2))
}

/// Returns the square of W digits and its reduction, without a loop. The last quotient digit takes
/// only a low half.
pub(super) fn whole_square(p: &[u64]) -> Work {
    let halves = p[0] * (p[0] + 1) / 2 + p[0] * p[0];
    Work::once(Multiplies::halves(halves + 1, halves))
}

/// Returns the last row of a reduction in `streams` streams. The quotient digit and both ends of
/// the row are outside the loop.
pub(super) fn finish(streams: u64) -> Work {
    Work { once: Multiplies::halves(2 * streams, streams), passes: vec![halves(streams)] }
}

/// Returns W products of half digits: a row.
pub(super) fn half_rows(p: &[u64]) -> Work {
    Work::rows(Multiplies::half_digits(p[0]))
}

/// Returns the square of W half digits.
pub(super) fn half_triangle(p: &[u64]) -> Work {
    Work::once(Multiplies::half_digits(p[0] * (p[0] + 1) / 2))
}

/// Returns the quotient digits of Q fold rows, in all three kinds.
pub(super) fn half_fold(p: &[u64]) -> Work {
    Work::once(Multiplies::half_digits(3 * p[0] * (p[0] - 1) / 2))
}

/// Returns fold rows of Q half digits, without the first columns.
pub(super) fn half_fold_rows(p: &[u64]) -> Work {
    Work { once: Multiplies::half_digits(p[0] * (p[0] - 1) / 2), ..half_rows(p) }
}

/// Returns the last row of a reduction in `groups` groups of half digits.
pub(super) fn half_finish(groups: u64) -> Work {
    let row = 3 * groups;
    Work { once: Multiplies::half_digits(2 * row), passes: vec![Multiplies::half_digits(row)] }
}

/// Adds multiplications.
pub(super) fn sum(all: &[Multiplies]) -> Multiplies {
    let mut sum = Multiplies::NONE;
    for Multiplies(counts) in all {
        for (sum, count) in sum.0.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    sum
}

/// Returns products in the field of 2^255 - 19: 25 low and high halves, and the fold of five
/// columns, whose last high half is zero.
pub(super) fn field_products(n: u64) -> Multiplies {
    Multiplies::halves(n * (25 + 5), n * (25 + 4))
}

/// Returns squares, with each product of two different digits once.
pub(super) fn field_squares(n: u64) -> Multiplies {
    Multiplies::halves(n * (15 + 5), n * (15 + 4))
}

/// Returns carries: the top one is multiplied by 19.
pub(super) fn field_carries(n: u64) -> Multiplies {
    Multiplies::halves(n, 0)
}

/// Returns the product by 121665, with the fold of its top half.
pub(super) fn small_factor() -> Multiplies {
    Multiplies::halves(6, 5)
}

/// Returns products by 2^520 mod p, the prime of P-256, with their reductions. This factor is a
/// multiple of 2^8, so the first quotient digit is too. Its product with 2^44 has a low half of 0,
/// which LLVM leaves out.
pub(super) fn montgomery_forms(n: u64) -> Multiplies {
    Multiplies::halves(n * (25 + 15 - 1), n * (25 + 15))
}

/// Returns products and squares in the field of P-256 in limbs. The reduction takes four products.
pub(super) fn field_limbs(products: u64, squares: u64) -> Multiplies {
    sum(&[
        Multiplies::limbs(products * (16 + 4), products * 15, products * 15),
        Multiplies::limbs(squares * (10 + 4), squares * 10, squares * 9),
    ])
}
