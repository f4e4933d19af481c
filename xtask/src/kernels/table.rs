//! The rows: one for each function. A kernel's file says why it multiplies so often.

use super::{Instance, Multiplies, Row, Work};

/// Measured, and a tenth more: another compiler may spill a little elsewhere.
const fn at(parameters: &'static str, stack: usize) -> Instance {
    Instance { parameters, stack }
}

/// A row whose arguments are all public.
const fn row(
    path: &'static str,
    branches: &'static str,
    instances: &'static [Instance],
    work: fn(&[u64]) -> Work,
) -> Row {
    Row { path, secret: &[], secret_stack: &[], branches, instances, work }
}

/// W low halves and W high ones: a row of a product or a fold row.
fn halves(w: u64) -> Multiplies {
    Multiplies::halves(w, w)
}

fn nothing(_: &[u64]) -> Work {
    Work::once(Multiplies::NONE)
}

/// Lane blocks of K digits, a product of `rows` rows: the quotient digit of the last is a low half.
fn blocks(rows: u64, k: u64) -> Multiplies {
    Multiplies::halves(2 * rows * k + 1, 2 * rows * k)
}

/// W by W limbs: each row ends with one adcx more, which takes the carry.
fn limb_tile(w: u64) -> Multiplies {
    Multiplies::limbs(w * w, w * (w + 1), w * w)
}

/// W limbs squared: the triangle's rows, then two steps of both chains for each limb.
fn limb_square(w: u64) -> Multiplies {
    let above = w * (w - 1) / 2;
    Multiplies::limbs(above + w, above + (w - 1) + 2 * w, above + 2 * w)
}

/// W limbs doubled and added, with a step before and after for the carries.
fn limb_doubling(w: u64) -> Multiplies {
    Multiplies::limbs(0, w + 2, w + 2)
}

pub(crate) const TABLE: &[Row] = &[
    row(
        "tiles52_ifma::mul_tile",
        "rows; lengths",
        &[
            at("6, false", 4),
            at("6, true", 4),
            at("10, false", 4),
            at("10, true", 4),
            at("15, false", 4),
            at("15, true", 32),
            at("20, false", 8),
            at("20, true", 8),
        ],
        |p| Work::rows(halves(p[0])),
    ),
    row(
        "tiles52_ifma::sq_tile",
        "lengths",
        &[
            at("6, false", 4),
            at("6, true", 4),
            at("10, false", 4),
            at("10, true", 4),
            at("15, false", 4),
            at("15, true", 4),
            at("20, false", 56),
            at("20, true", 60),
        ],
        |p| Work::once(Multiplies::halves(p[0] * (p[0] + 1) / 2, p[0] * (p[0] + 1) / 2)),
    ),
    row(
        "tiles52_ifma::fold_tile",
        "rows; lengths",
        &[at("6", 4), at("10", 4), at("15", 4), at("20", 8)],
        |p| Work::rows(halves(p[0])),
    ),
    row("tiles52_ifma::finish", "digits; lengths", &[at("", 4)], |_| Work {
        once: Multiplies::halves(2, 1),
        passes: vec![halves(1)],
    }),
    row(
        "tiles52_ifma::reduce",
        "blocks; lengths",
        &[at("6", 60), at("10", 60), at("15", 64), at("20", 60)],
        nothing,
    ),
    row(
        "tiles52_ifma::reduce_window",
        "rows; lengths",
        &[at("6", 4), at("10", 4), at("15", 8), at("20", 8)],
        |p| Work { once: Multiplies::halves(p[0] + 1, p[0]), passes: vec![halves(p[0])] },
    ),
    row("tiles52_ifma::amm_rows", "rows; lengths", &[at("20", 12)], |p| Work {
        once: Multiplies::halves(p[0] + 1, p[0]),
        passes: vec![halves(p[0]), halves(p[0])],
    }),
    row(
        "amm52_mb8_ifma::amm52_mb8_ifma",
        "blocks; lengths",
        &[at("6", 32), at("10", 32), at("15", 32), at("20", 52)],
        nothing,
    ),
    row(
        "ams52_mb8_ifma::ams52_mb8_ifma",
        "blocks; lengths",
        &[at("6", 56), at("10", 56), at("15", 56), at("20", 60)],
        nothing,
    ),
    row(
        "amm52_blocks_ifma::amm52_blocks_ifma",
        "lengths",
        &[at("4, 2", 72), at("5, 5", 140)],
        |p| Work::once(blocks(7 * p[0] + p[1], p[0])),
    ),
    row(
        "amm52_blocks_ifma::window52_blocks_ifma",
        "squares of a window; lengths",
        &[at("3, 1", 28), at("5, 5", 108)],
        |p| Work::rows(blocks(3 * p[0] + p[1], p[0])),
    ),
    row(
        "amm52_long_blocks_ifma::amm52_long_blocks_ifma",
        "blocks; lengths",
        &[at("8, 4", 76), at("10, 10", 144)],
        // the last block, of C digits, and a row of zeros; a pass is one of the other seven
        |p| Work {
            once: Multiplies::halves(p[0] * (2 * p[1] + 1) + 1, p[0] * (2 * p[1] + 1)),
            passes: vec![halves(2 * p[0] * p[0])],
        },
    ),
    row(
        "select52_blocks_ifma::select52_blocks_ifma",
        "entries; lengths",
        &[at("3", 4), at("4", 4), at("5", 4), at("8", 4), at("10", 4)],
        nothing,
    ),
    row("select52_mb8_ifma::select52_mb8_ifma", "entries, digits; lengths", &[at("", 88)], nothing),
    // the index
    Row {
        secret: &[8],
        ..row("select64_sse2::select64_sse2", "entries, limbs; lengths", &[at("", 4)], nothing)
    },
    // k0
    Row {
        secret_stack: &[24],
        ..row("amm64_mulx::amm64_mulx", "tiles; lengths", &[at("4", 124), at("8", 156)], |p| {
            Work::rows(limb_tile(p[0]))
        })
    },
    // k0
    Row {
        secret_stack: &[8],
        ..row("ams64_mulx::ams64_mulx", "tiles; lengths", &[at("4", 140), at("8", 188)], |p| Work {
            once: Multiplies::NONE,
            passes: vec![limb_tile(p[0]), limb_square(p[0]), limb_doubling(p[0])],
        })
    },
];
