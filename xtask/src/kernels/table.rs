//! The rows: one for each function. A kernel's file says why it multiplies so often.

use super::work::{
    BLOCKS, at, blocks, each_size, finish, halves, limb_adding, limb_diagonal, limb_masking,
    limb_steps, limb_steps_squared, limb_tile, limb_triangle, long_blocks, nothing, parts, row,
    streams, triangle, window,
};
use super::{Multiplies, Row, Work};
use crate::machine_code::instruction::{R9, RCX, RDI, RDX, RSI};

pub(crate) const TABLE: &[Row] = &[
    row(
        "tiles52_ifma::mul_tile",
        "rows; lengths",
        &[
            at("6, 0, false", 4),
            at("6, 0, true", 4),
            at("6, 1, true", 4),
            at("10, 0, false", 4),
            at("10, 0, true", 4),
            at("10, 1, true", 4),
            at("15, 0, false", 4),
            at("15, 0, true", 4),
            at("15, 1, true", 4),
            at("20, 0, false", 4),
            at("20, 0, true", 4),
            at("20, 1, true", 4),
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
        &[
            at("6, 0", 4),
            at("6, 1", 4),
            at("10, 0", 4),
            at("10, 1", 4),
            at("15, 0", 4),
            at("15, 1", 4),
            at("20, 0", 4),
            at("20, 1", 4),
        ],
        |p| Work::rows(halves(p[0])),
    ),
    // Read
    Row {
        structs: &[(RCX, 1)],
        ..row(
            "tiles52_ifma::fold_tile_reading",
            "rows; lengths",
            &[
                at("6, 0", 4),
                at("6, 1", 4),
                at("10, 0", 4),
                at("10, 1", 4),
                at("15, 0", 4),
                at("15, 1", 4),
                at("20, 0", 4),
                at("20, 1", 4),
            ],
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
    streams(
        "tiles52_ifma::reduce",
        "blocks; lengths",
        &[at("6, 1", 27), at("10, 1", 27), at("15, 1", 27), at("20, 1", 27)],
    ),
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
    // Reduction
    streams(
        "tiles52_ifma::reduce_one",
        "reading; lengths",
        &[at("6", 5), at("10", 5), at("15", 5), at("20", 5)],
    ),
    // Short
    Row {
        structs: &[(RDX, 1)],
        ..row(
            "tiles52_ifma::reduce_window",
            "rows",
            &[at("6", 4), at("10", 4), at("15", 4), at("20", 7)],
            window,
        )
    },
    // Short
    Row {
        structs: &[(RDX, 1)],
        ..row(
            "tiles52_ifma::reduce_window_reading",
            "rows",
            &[at("6", 4), at("10", 4), at("15", 4), at("20", 8)],
            window,
        )
    },
    // Short
    Row {
        structs: &[(RCX, 1)],
        ..row("tiles52_ifma::amm_rows", "rows", &[at("20", 9)], |p| Work {
            once: Multiplies::halves(p[0] + 1, p[0]),
            passes: vec![halves(p[0]), halves(p[0])],
        })
    },
    // [Stream; S]
    streams("table52_mb8_ifma::table52_mb8_ifma", "entries, streams; even or odd", &each_size(6)),
    // [Stream; S]
    streams("window52_mb8_ifma::window52_mb8_ifma", "squares, streams; lengths", &each_size(6)),
    // [Product; S]; LLVM may put the rows of mul_tile in line
    Row {
        structs: &[(RDI, 1)],
        ..row(
            "amm52_mb8_ifma::amm52_mb8_ifma",
            "blocks; lengths",
            &[
                at("6, 1", 43),
                at("6, 2", 60),
                at("10, 1", 43),
                at("10, 2", 60),
                at("15, 1", 36),
                at("15, 2", 115),
                at("20, 1", 39),
                at("20, 2", 111),
            ],
            |p| Work::rows(halves(p[0])),
        )
    },
    // [Square; S]
    streams(
        "ams52_mb8_ifma::ams52_mb8_ifma",
        "blocks; lengths",
        &[
            at("6, 1", 54),
            at("6, 2", 104),
            at("10, 1", 54),
            at("10, 2", 104),
            at("15, 1", 51),
            at("15, 2", 94),
            at("20, 1", 51),
            at("20, 2", 94),
        ],
    ),
    // [&[V]; S], [&mut [V]; S]
    Row {
        structs: &[(RDI, 1), (RSI, 1)],
        ..row(
            "karatsuba52_ifma::differences",
            "digits; lengths",
            &[
                at("10, 1", 4),
                at("10, 2", 4),
                at("15, 1", 4),
                at("15, 2", 4),
                at("20, 1", 4),
                at("20, 2", 4),
            ],
            nothing,
        )
    },
    // [&mut Reduction; 1]
    streams("fold52_halves_ifma::reduce", "streams; lengths", &[at("10, 20, 1", 27)]),
    // [&mut Reduction; 2]
    Row {
        structs: &[(RDI, 2)],
        ..row("fold52_halves_ifma::reduce", "streams; lengths", &[at("10, 20, 2", 90)], nothing)
    },
    // [(&mut [V; W], &mut [V; W]); S]
    streams("fold52_halves_ifma::digits", "digits; lengths", &[at("20, 1", 4), at("20, 2", 4)]),
    // Read
    Row {
        structs: &[(R9, 1)],
        ..row("fold52_halves_ifma::mul_tile_reading", "lengths", &[at("10, 20", 4)], |p| {
            Work::rows(halves(p[0]))
        })
    },
    // the lanes where d is negative
    Row {
        secret: &[R9],
        ..row("fold52_halves_ifma::combine", "lengths", &[at("10", 4)], |p| {
            Work::rows(halves(p[0]))
        })
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
    row("amm52_blocks_ifma::amm52_blocks_ifma", "lengths", BLOCKS, |p| {
        Work::once(blocks((p[1] - 1) * p[0] + p[2], p[0]))
    }),
    row(
        "amm52_blocks_ifma::window52_blocks_ifma",
        "squares of a window; lengths",
        &[at("3, 1", 41), at("5, 5", 126)],
        |p| Work::rows(blocks(3 * p[0] + p[1], p[0])),
    ),
    row(
        "amm52_long_blocks_ifma::amm52_long_blocks_ifma",
        "blocks; lengths",
        &[at("8, 8, 4", 80), at("10, 8, 10", 189), at("5, 2, 5", 60), at("10, 2, 10", 190)],
        |p| long_blocks(p[0], p[1], p[2]),
    ),
    row(
        "amm52_long_blocks_ifma::window52_long_blocks_ifma",
        "squares of a window; lengths",
        &[at("5, 5", 155)],
        |p| Work::rows(long_blocks(p[0], 2, p[1]).once),
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
    streams("tiles26_avx2::split", "digits; lengths", &[at("", 4)]),
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
    streams(
        "amm52_mb8_avx2::amm52_mb8_avx2",
        "blocks; lengths",
        &[at("5, 4", 209), at("6, 5", 176)],
    ),
    // Factors
    streams(
        "ams52_mb8_avx2::ams52_mb8_avx2",
        "blocks; lengths",
        &[at("5, 4, 5", 356), at("5, 4, 10", 356), at("6, 5, 6", 376)],
    ),
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
            let passes = vec![limb_tile(p[0]), limb_masking(p[0]), limb_adding(p[0])];
            Work { once: Multiplies::NONE, passes }
        })
    },
    Row {
        secret_stack: &[8],
        ..row("ams64_mulx::ams64_mulx", "tiles; lengths", &[at("4", 127), at("8", 172)], |p| Work {
            once: Multiplies::NONE,
            passes: vec![
                limb_tile(p[0]),
                limb_triangle(p[0]),
                limb_diagonal(p[0]),
                limb_masking(p[0]),
                limb_adding(p[0]),
            ],
        })
    },
    // k0
    Row {
        secret: &[8],
        ..row("amm64_mulx::amm64_mulx_tile", "nothing", &[at("", 9)], |_| Work::once(limb_steps(8)))
    },
    Row {
        secret: &[1],
        ..row("ams64_mulx::ams64_mulx_tile", "nothing", &[at("", 9)], |_| {
            Work::once(limb_steps_squared(8))
        })
    },
    // Stream
    Row {
        structs: &[(RDI, 1)],
        ..row(
            "window64_mulx::window64_mulx",
            "squares, streams",
            &[at("1", 17), at("2", 51)],
            |_| Work { once: Multiplies::NONE, passes: vec![limb_steps(8), limb_steps_squared(8)] },
        )
    },
];
