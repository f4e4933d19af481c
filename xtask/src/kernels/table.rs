//! The rows: one for each function. A kernel's file says why it multiplies so often.

use super::{Instance, Multiplies, Row, Work};
use crate::machine_code::instruction::{R8, R9, RCX, RDI, RDX, RSI};

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
    Row { path, secret: &[], secret_stack: &[], structs: &[], branches, instances, work }
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

/// Products of different limbs of W: a row ends as in a tile.
fn limb_triangle(w: u64) -> Multiplies {
    let above = w * (w - 1) / 2;
    Multiplies::limbs(above, above + w - 1, above)
}

/// W limbs squared onto what is doubled: two steps of both chains for each, and one before and
/// after for the carries.
fn limb_diagonal(w: u64) -> Multiplies {
    Multiplies::limbs(w, 2 * w + 2, 2 * w + 2)
}

/// W limbs of m, or zeros: by the carry, as a number that is 0 or 1 and not as a mask.
fn limb_masking(w: u64) -> Multiplies {
    Multiplies::limbs(w, 0, 0)
}

/// W digits squared: each product of two of them once.
fn triangle(p: &[u64]) -> Work {
    Work::once(halves(p[0] * (p[0] + 1) / 2))
}

/// Fold rows; then the row that ends a reduction, with a low half for its quotient digit. At small
/// W no loop is left: rows stand one after the other, the later ones behind the end of the
/// function, from where a jump back leads to the last row.
fn window(p: &[u64]) -> Work {
    Work { once: Multiplies::halves(p[0] + 1, p[0]), passes: vec![halves(p[0])] }
}

/// The row that ends a reduction in so many streams: both ends of it, and digits in a loop.
fn finish(streams: u64) -> Work {
    Work { once: Multiplies::halves(2 * streams, streams), passes: vec![halves(streams)] }
}

/// So many products of half digits, each of W parts in a row.
fn parts(rows: u64, w: u64) -> Multiplies {
    Multiplies::half_digits(rows * w)
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
            at("15, true", 27),
            at("20, false", 4),
            at("20, true", 4),
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
            at("20, false", 54),
            at("20, true", 56),
        ],
        triangle,
    ),
    row(
        "tiles52_ifma::fold_tile",
        "rows; lengths",
        &[at("6", 4), at("10", 4), at("15", 31), at("20", 42)],
        |p| Work::rows(halves(p[0])),
    ),
    // Read
    Row {
        structs: &[(R8, 1)],
        ..row(
            "tiles52_ifma::fold_tile_reading",
            "rows; lengths",
            &[at("6", 4), at("10", 4), at("15", 4), at("20", 6)],
            |p| Work::rows(halves(p[0])),
        )
    },
    // [&mut Reduction; 1]
    Row {
        structs: &[(RDI, 1)],
        ..row("tiles52_ifma::finish", "digits; lengths", &[at("1", 4)], |_| finish(1))
    },
    // [&mut Reduction; 2]
    Row {
        structs: &[(RDI, 2)],
        ..row("tiles52_ifma::finish", "digits; lengths", &[at("2", 4)], |_| finish(2))
    },
    // [&mut Reduction; 1]
    Row {
        structs: &[(RDI, 1)],
        ..row(
            "tiles52_ifma::reduce",
            "blocks; lengths",
            &[at("6, 1", 27), at("10, 1", 27), at("15, 1", 27), at("20, 1", 27)],
            nothing,
        )
    },
    // [&mut Reduction; 2]
    Row {
        structs: &[(RDI, 2)],
        ..row(
            "tiles52_ifma::reduce",
            "blocks; lengths",
            &[at("6, 2", 61), at("10, 2", 61), at("15, 2", 61), at("20, 2", 61)],
            nothing,
        )
    },
    // Factors
    Row {
        structs: &[(R8, 1)],
        ..row(
            "tiles52_ifma::reduce_window",
            "rows; lengths",
            &[at("6", 4), at("10", 4), at("15", 31), at("20", 7)],
            window,
        )
    },
    // Factors, Read
    Row {
        structs: &[(R8, 1), (R9, 1)],
        ..row(
            "tiles52_ifma::reduce_window_reading",
            "rows; lengths",
            &[at("6", 4), at("10", 4), at("15", 4), at("20", 7)],
            window,
        )
    },
    // Factors
    Row {
        structs: &[(R8, 1)],
        ..row("tiles52_ifma::amm_rows", "rows; lengths", &[at("20", 7)], |p| Work {
            once: Multiplies::halves(p[0] + 1, p[0]),
            passes: vec![halves(p[0]), halves(p[0])],
        })
    },
    // [Product; S]; LLVM may put the rows of mul_tile in line
    Row {
        structs: &[(RDI, 1)],
        ..row(
            "amm52_mb8_ifma::amm52_mb8_ifma",
            "blocks; lengths",
            &[
                at("6, 1", 21),
                at("6, 2", 4),
                at("10, 1", 21),
                at("10, 2", 4),
                at("15, 1", 36),
                at("15, 2", 83),
                at("20, 1", 39),
                at("20, 2", 83),
            ],
            |p| Work::rows(halves(p[0])),
        )
    },
    // [Square; S]
    Row {
        structs: &[(RDI, 1)],
        ..row(
            "ams52_mb8_ifma::ams52_mb8_ifma",
            "blocks; lengths",
            &[
                at("6, 1", 30),
                at("6, 2", 48),
                at("10, 1", 30),
                at("10, 2", 48),
                at("15, 1", 39),
                at("15, 2", 105),
                at("20, 1", 41),
                at("20, 2", 111),
            ],
            nothing,
        )
    },
    // [&[V]; S], [&mut [V]; S]
    Row {
        structs: &[(RDI, 1), (RSI, 1)],
        ..row(
            "karatsuba52_ifma::differences",
            "digits; lengths",
            &[at("15, 1", 5), at("15, 2", 11), at("20, 1", 5), at("20, 2", 11)],
            nothing,
        )
    },
    // the lanes where d is negative
    Row {
        secret: &[RCX],
        ..row("karatsuba52_ifma::square_combine", "lengths", &[at("15", 4), at("20", 22)], triangle)
    },
    // the lanes where d and e are negative
    Row {
        secret: &[R9],
        secret_stack: &[16],
        ..row(
            "karatsuba52_ifma::product_combine",
            "rows; lengths",
            &[at("15", 13), at("20", 5)],
            |p| Work::rows(halves(p[0])),
        )
    },
    row(
        "amm52_blocks_ifma::amm52_blocks_ifma",
        "lengths",
        &[at("3, 4, 1", 24), at("5, 4, 5", 101), at("4, 8, 2", 70), at("5, 8, 5", 136)],
        |p| Work::once(blocks((p[1] - 1) * p[0] + p[2], p[0])),
    ),
    row(
        "amm52_blocks_ifma::window52_blocks_ifma",
        "squares of a window; lengths",
        &[at("3, 1", 41), at("5, 5", 126)],
        |p| Work::rows(blocks(3 * p[0] + p[1], p[0])),
    ),
    row(
        "amm52_long_blocks_ifma::amm52_long_blocks_ifma",
        "blocks; lengths",
        &[at("8, 4", 72), at("10, 10", 142)],
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
    row(
        "tiles26_avx2::mul_tile",
        "rows; lengths",
        &[at("5, false", 4), at("5, true", 4), at("6, false", 4), at("6, true", 4)],
        |p| Work::rows(parts(1, p[0])),
    ),
    row("tiles26_avx2::sq_tile", "lengths", &[at("5", 4), at("6", 4), at("10", 4)], |p| {
        Work::once(Multiplies::half_digits(p[0] * (p[0] + 1) / 2))
    }),
    // Group
    Row {
        structs: &[(RDI, 1)],
        ..row("tiles26_avx2::fold", "lengths", &[at("4", 24), at("5", 53), at("6", 82)], |p| {
            Work::once(Multiplies::half_digits(3 * p[0] * (p[0] - 1) / 2))
        })
    },
    row("tiles26_avx2::fold_tile", "rows; lengths", &[at("4", 4), at("5", 4), at("6", 4)], |p| {
        Work { once: Multiplies::half_digits(p[0] * (p[0] - 1) / 2), passes: vec![parts(1, p[0])] }
    }),
    // &mut [&mut [V]; 3]
    Row {
        structs: &[(RDI, 1)],
        ..row("tiles26_avx2::split", "digits; lengths", &[at("", 4)], nothing)
    },
    // [Group; 2], Factors
    Row {
        structs: &[(RDX, 1), (RCX, 1)],
        ..row("tiles26_avx2::finish", "digits; lengths", &[at("", 15)], |_| Work {
            once: parts(4, 3),
            passes: vec![parts(2, 3)],
        })
    },
    // [Group; 2], Factors
    Row {
        structs: &[(RDX, 1), (RCX, 1)],
        ..row("tiles26_avx2::reduce", "blocks; lengths", &[at("5, 4", 4), at("6, 5", 4)], nothing)
    },
    // Factors
    Row {
        structs: &[(RDI, 1)],
        ..row(
            "amm52_mb8_avx2::amm52_mb8_avx2",
            "blocks; lengths",
            &[at("5, 4", 209), at("6, 5", 176)],
            nothing,
        )
    },
    // Factors
    Row {
        structs: &[(RDI, 1)],
        ..row(
            "ams52_mb8_avx2::ams52_mb8_avx2",
            "blocks; lengths",
            &[at("5, 4, 5", 356), at("5, 4, 10", 356), at("6, 5, 6", 376)],
            nothing,
        )
    },
    row("select52_mb8_avx2::select52_mb8_avx2", "entries, digits; lengths", &[at("", 11)], nothing),
    row("select52_mb8_ifma::select52_mb8_ifma", "entries, digits; lengths", &[at("", 84)], nothing),
    // the index
    Row {
        secret: &[8],
        ..row("select64_sse2::select64_sse2", "entries, limbs; lengths", &[at("", 4)], nothing)
    },
    // k0
    Row {
        secret_stack: &[24],
        ..row("amm64_mulx::amm64_mulx", "tiles; lengths", &[at("4", 118), at("8", 164)], |p| {
            let passes = vec![limb_tile(p[0]), limb_masking(p[0])];
            Work { once: Multiplies::NONE, passes }
        })
    },
    // k0
    Row {
        secret_stack: &[8],
        ..row("ams64_mulx::ams64_mulx", "tiles; lengths", &[at("4", 127), at("8", 172)], |p| Work {
            once: Multiplies::NONE,
            passes: vec![
                limb_tile(p[0]),
                limb_triangle(p[0]),
                limb_diagonal(p[0]),
                limb_masking(p[0]),
            ],
        })
    },
];
