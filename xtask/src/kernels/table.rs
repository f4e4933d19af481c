//! The rows of the functions. The file of each kernel explains its number of multiplications.
//!
//! A comment above a row names the type behind a declared pointer, or a secret argument.

use super::work::{
    BLOCKS, FORMS, NARROW, NARROW_FOLDS, NARROW_PRODUCTS, SIZES, blocks, field_carries,
    field_limbs, field_products, field_squares, finish, fold_columns, half_finish, half_fold,
    half_fold_rows, half_rows, half_triangle, halves, limb_adding, limb_diagonal, limb_masking,
    limb_tile, limb_triangle, long_blocks, montgomery_forms, narrow_fold, narrow_rows, nothing,
    row, rows, small_factor, streams, sum, triangle, whole_square,
};
use super::{Multiplies, Row, Work};
use crate::machine_code::instruction::{R9, RCX, RDI, RDX, RSI};

pub(crate) const TABLE: &[Row] = &[
    row(
        "tiles52_ifma::mul_tile",
        "6, 0, false; 6, 0, true; 6, 1, true; 10, 0, false; 10, 0, true; 10, 1, true; \
         15, 0, false; 15, 0, true; 15, 1, true; 20, 0, false; 20, 0, true; 20, 1, true",
        rows,
    ),
    row(
        "tiles52_ifma::sq_tile",
        "6, false; 6, true; 10, false; 10, true; 15, false; 15, true; 20, false; 20, true",
        triangle,
    ),
    row("tiles52_ifma::fold_tile", "6, 0; 6, 1; 10, 0; 10, 1; 15, 0; 15, 1; 20, 0; 20, 1", rows),
    // Read
    row(
        "tiles52_ifma::fold_tile_reading",
        "6, 0; 6, 1; 10, 0; 10, 1; 15, 0; 15, 1; 20, 0; 20, 1",
        rows,
    )
    .structs(&[(RCX, 1)]),
    // [&mut Reduction; 1]
    row("tiles52_ifma::finish", "1", |_| finish(1)).structs(&[(RDI, 1)]),
    // [&mut Reduction; 2]
    row("tiles52_ifma::finish", "2", |_| finish(2)).structs(&[(RDI, 2)]),
    // [&mut Reduction; 1]
    streams("tiles52_ifma::reduce", "6, 1; 10, 1; 15, 1; 20, 1"),
    // [&mut Reduction; 2]
    row("tiles52_ifma::reduce", "6, 2; 10, 2; 15, 2; 20, 2", nothing).structs(&[(RDI, 2)]),
    // Short; a pass is two rows of the product and two fold rows
    row("rows52_ifma::amm_rows", "6; 10; 15; 20", |p| {
        let once = if p[0] % 2 == 0 { 4 } else { 2 };
        Work {
            once: Multiplies::halves(once * p[0] + 1, once * p[0]),
            passes: vec![Multiplies::halves(4 * p[0], 4 * p[0])],
        }
    })
    .structs(&[(RCX, 1)]),
    // Short
    row("rows52_ifma::ams_rows", "6; 10; 15; 20", whole_square).structs(&[(RDX, 1)]),
    // Short
    row("rows52_ifma::ams_rows_reading", "6; 10; 15; 20", whole_square).structs(&[(RDX, 1)]),
    // Short
    row("columns52_ifma::reduce_columns", "6; 10; 15; 20", fold_columns).structs(&[(RDX, 1)]),
    // Short
    row("columns52_ifma::reduce_columns_reading", "6; 10; 15; 20", fold_columns)
        .structs(&[(RDX, 1)]),
    // [Stream; S]
    streams("table52_mb8_ifma::table52_mb8_ifma", FORMS),
    // [Stream; S]
    streams("window52_mb8_ifma::window52_mb8_ifma", FORMS),
    // [Product; S]; LLVM may inline the rows of mul_tile
    row("amm52_mb8_ifma::amm52_mb8_ifma", SIZES, rows).structs(&[(RDI, 1)]),
    // [Square; S]
    streams("ams52_mb8_ifma::ams52_mb8_ifma", SIZES),
    // [&[V]; S], [&mut [V]; S]
    row("karatsuba52_ifma::differences", "10, 1; 10, 2; 15, 1; 15, 2; 20, 1; 20, 2", nothing)
        .structs(&[(RDI, 1), (RSI, 1)]),
    // [&mut Reduction; 1]
    streams("fold52_halves_ifma::reduce", "10, 20, 1"),
    // [&mut Reduction; 2]
    row("fold52_halves_ifma::reduce", "10, 20, 2", nothing).structs(&[(RDI, 2)]),
    // [(&mut [V; W], &mut [V; W]); S]
    streams("fold52_halves_ifma::digits", "20, 1; 20, 2"),
    // Read
    row("fold52_halves_ifma::mul_tile_reading", "10, 20", rows).structs(&[(R9, 1)]),
    // the lanes where d is negative
    row("fold52_halves_ifma::combine", "10", rows).secret(&[R9]),
    // the lanes where d is negative
    row("karatsuba52_ifma::square_combine", "15; 20", triangle).secret(&[RCX]),
    // the lanes where d and e are negative
    row("karatsuba52_ifma::product_combine", "15; 20", rows).secret(&[R9]).secret_stack(&[16]),
    row("amm52_blocks_ifma::amm52_blocks_ifma", BLOCKS, |p| {
        Work::once(blocks((p[1] - 1) * p[0] + p[2], p[0]))
    }),
    row("amm52_blocks_ifma::window52_blocks_ifma", "3, 1, 1; 3, 2, 1; 5, 1, 5; 5, 2, 5", |p| {
        Work::rows(blocks(3 * p[0] + p[2], p[0]))
    }),
    row("amm52_long_blocks_ifma::amm52_long_blocks_ifma", "8, 4; 10, 10", |p| {
        long_blocks(p[0], p[1])
    }),
    row("select52_blocks_ifma::select52_blocks_ifma", "3; 4; 5; 8; 10", nothing),
    row("tiles26_avx2::mul_tile", "5, false; 5, true; 6, false; 6, true", half_rows),
    row("tiles26_avx2::sq_tile", "5; 6; 10", half_triangle),
    // Group
    row("tiles26_avx2::fold", "4; 5; 6", half_fold).structs(&[(RDI, 1)]),
    row("tiles26_avx2::fold_tile", "4; 5; 6", half_fold_rows),
    // &mut [&mut [V]; 3]
    streams("tiles26_avx2::split", ""),
    // [Group; 2], Factors
    row("tiles26_avx2::finish", "", |_| half_finish(2)).structs(&[(RDX, 1), (RCX, 1)]),
    // [Group; 2], Factors
    row("tiles26_avx2::reduce", "5, 4; 6, 5", nothing).structs(&[(RDX, 1), (RCX, 1)]),
    // Factors
    streams("amm52_mb8_avx2::amm52_mb8_avx2", "5, 4; 6, 5"),
    // Factors
    streams("ams52_mb8_avx2::ams52_mb8_avx2", "5, 4, 5; 5, 4, 10; 6, 5, 6"),
    row(
        "tiles26_avx512::mul_tile",
        "5, false; 5, true; 6, false; 6, true; 10, false; 10, true",
        half_rows,
    ),
    row("tiles26_avx512::sq_tile", "5; 6; 10", half_triangle),
    // Group
    row("tiles26_avx512::fold", "4; 5; 6; 9; 10", half_fold).structs(&[(RDI, 1)]),
    row("tiles26_avx512::fold_tile", "4; 5; 6; 9; 10", half_fold_rows),
    // &mut [&mut [V]; 3]
    streams("tiles26_avx512::split", ""),
    // [Group; 1], Factors
    row("tiles26_avx512::finish", "", |_| half_finish(1)).structs(&[(RDX, 1), (RCX, 1)]),
    // [Group; 1], Factors
    row("tiles26_avx512::reduce", "5, 4; 6, 5; 10, 9", nothing).structs(&[(RDX, 1), (RCX, 1)]),
    // Factors
    streams("amm52_mb8_avx512::amm52_mb8_avx512", "5, 4; 6, 5; 10, 9"),
    // Factors
    streams("ams52_mb8_avx512::ams52_mb8_avx512", "5, 4, 5; 10, 9, 10; 6, 5, 6"),
    row("tiles52_avxifma::vex::mul_tile", NARROW_PRODUCTS, narrow_rows),
    row("tiles52_avxifma::vex::sq_tile", "5; 6; 10", triangle),
    row("tiles52_avxifma::vex::fold_tile", NARROW_FOLDS, narrow_fold),
    row("tiles52_avxifma::vex::finish", "", |_| finish(2)),
    // Factors
    streams("tiles52_avxifma::vex::reduce", NARROW),
    // Factors
    streams("amm52_mb8_avxifma::vex::amm52_mb8_avxifma", NARROW),
    // Factors
    streams("ams52_mb8_avxifma::vex::ams52_mb8_avxifma", NARROW),
    row("tiles52_avxifma::evex::mul_tile", NARROW_PRODUCTS, narrow_rows),
    row("tiles52_avxifma::evex::sq_tile", "5; 6; 10", triangle),
    row("tiles52_avxifma::evex::fold_tile", NARROW_FOLDS, narrow_fold),
    row("tiles52_avxifma::evex::finish", "", |_| finish(2)),
    // Factors
    streams("tiles52_avxifma::evex::reduce", NARROW),
    // Factors
    streams("amm52_mb8_avxifma::evex::amm52_mb8_avxifma", NARROW),
    // Factors
    streams("ams52_mb8_avxifma::evex::ams52_mb8_avxifma", NARROW),
    row("select52_mb8_avx2::select52_mb8_avx2", "", nothing),
    row("select52_mb8_avx512::select52_mb8_avx512", "", nothing),
    row("select52_mb8_avx512::start", "", nothing),
    // the index
    row("select64_sse2::select64_sse2", "", nothing).secret(&[8]),
    // k0
    row("amm64_mulx::amm64_mulx", "4; 8", |p| {
        let passes = vec![limb_tile(p[0]), limb_masking(p[0]), limb_adding(p[0])];
        Work { once: Multiplies::NONE, passes }
    })
    .secret_stack(&[24]),
    row("ams64_mulx::ams64_mulx", "4; 8", |p| Work {
        once: Multiplies::NONE,
        passes: vec![
            limb_tile(p[0]),
            limb_triangle(p[0]),
            limb_diagonal(p[0]),
            limb_masking(p[0]),
            limb_adding(p[0]),
        ],
    })
    .secret_stack(&[8]),
    row("ladder52_mb8_ifma::ladder52_mb8_ifma", "", |_| Work {
        once: field_carries(4),
        passes: vec![sum(&[
            field_products(5),
            field_squares(4),
            field_carries(11),
            small_factor(),
        ])],
    }),
    row("ladder51_quad_ifma::one::ladder51_quad_ifma", "", |_| ladder_steps()),
    row("ladder51_quad_ifma::two::ladder51_two_quads_ifma", "", |_| ladder_steps()),
    row("comb52_mb8_ifma::comb52_mb8_ifma", "", |_| Work {
        once: field_carries(2),
        // the first window starts the sums
        passes: vec![field_carries(3), sum(&[field_products(7), field_carries(9)])],
    }),
    row("comb52_sum8_ifma::comb52_sum8_ifma", "", |_| Work {
        once: field_carries(6),
        passes: vec![
            // the first step starts the sums
            field_carries(3),
            sum(&[field_products(7), field_carries(9)]),
            sum(&[field_products(9), field_carries(11)]),
        ],
    }),
    row("quotient52_mb8_ifma::product52_mb8_ifma", "", |_| {
        Work::once(sum(&[field_products(3), field_carries(3 + 4)]))
    }),
    row("quotient52_mb8_ifma::quotient52_mb8_ifma", "", |_| {
        Work::once(sum(&[field_products(4), field_carries(4 + 3)]))
    }),
    row("field52_ifma::element", "", |_| Work::once(field_carries(1))),
    row("p256_points52_ifma::double", "", |_| Work::once(halves(265))),
    row("p256_points52_ifma::add_affine", "", |_| Work::once(halves(150))),
    row("p256_points52_ifma::add_points", "", |_| Work::once(halves(340))),
    row("p256_points52_ifma::add_partner", "", |_| Work::once(halves(190))),
    row("p256_points52_ifma::sum", "", |_| Work::once(halves(245))),
    row("p256_points52_ifma::sum_of_lanes", "", |_| Work::once(halves(3 * 15))),
    row("p256_points52_ifma::opposite_halves", "", |_| Work::once(halves(4 * 40 + 30 + 3 * 15))),
    row("p256_comb_mb8_ifma::p256_comb_mb8_ifma", "", nothing),
    row("p256_comb_sum8_ifma::p256_comb_sum8_ifma", "", nothing),
    row("p256_comb_sum8_ifma::difference", "", |_| Work::once(montgomery_forms(2))),
    row("p256_window_mb8_ifma::p256_window_mb8_ifma", "", |_| Work::once(montgomery_forms(2))),
    row("p256_affine_mb8_ifma::denominator", "", |_| Work::once(halves(4 * 40 + 15))),
    row("p256_affine_mb8_ifma::p256_affine_mb8_ifma", "", |_| {
        Work::once(sum(&[montgomery_forms(1), halves(5 * 40 + 30 + 2 * 15)]))
    }),
    row("p256_verify_mb8_ifma::p256_verify_mb8_ifma", "", |_| {
        Work::once(sum(&[montgomery_forms(1), halves(40 + 30 + 2 * 15)]))
    }),
    row("sha512_mb8_avx512::sha512_mb8_avx512", "", nothing),
    row("p256_points64_mulx::double", "", |_| Work::once(field_limbs(4, 4))),
    row("p256_points64_mulx::add_affine", "false; true", |p| {
        Work::once(field_limbs(8 + p[0], 3 + p[0]))
    }),
    row("p256_points64_mulx::moved", "", |_| Work::once(field_limbs(3, 1))),
    row("p256_points64_mulx::odd_multiples", "8; 16", |_| Work {
        once: field_limbs(3, 6),
        passes: vec![field_limbs(4, 2), field_limbs(4, 1)],
    }),
    // the index
    row("p256_select_avx2::p256_select_avx2", "", nothing).secret(&[RCX]),
    row("p256_window_mulx::p256_window_mulx", "", |_| Work::once(field_limbs(1, 0))),
    row("p256_comb_mulx::p256_comb_mulx", "", nothing),
];

/// The steps of one Montgomery ladder in four lanes, or of two in eight.
fn ladder_steps() -> Work {
    Work {
        once: field_carries(1),
        passes: vec![sum(&[Multiplies::halves(3 * 25, 3 * 25), field_carries(4), small_factor()])],
    }
}
