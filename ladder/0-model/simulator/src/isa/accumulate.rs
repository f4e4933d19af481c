//! The multiply-accumulate extension: an accumulator of 72 bits beside the registers.
//!
//! Names and semantics are this project's own. The opcodes are those named in the table of contents
//! of the *Leon2-CIS User's Manual* (1.0.1, November 2006), and LEON's two multiply-accumulate
//! opcodes, `op3` 0x3e and 0x3f. LEON defines the latter two differently: they multiply 16 by 16
//! bits into an accumulator of 40 bits.
//!
//! 72 bits are enough for moduli of 4096 bits: a column of a Montgomery product holds at most
//! 2 * 128 products and less than 2^40 from the column before, and 256 (2^32 - 1)^2 + 2^40 < 2^72.
//! The accumulator is a separate register, because `umul` overwrites Y in the middle of a column.

use super::row::{Cost, Icc, Meaning, Row, Syntax};

/// All rows.
pub static ROWS: &[Row] = &[
    Row {
        name: "umac",
        mask: 0xffff_ffe0 & !(31 << 14),
        bits: 0x81f0_0000,
        syntax: Syntax::Two,
        cost: Cost::Accumulate,
        icc: Icc::None,
        meaning: Meaning::Custom(|acc, a, b| {
            acc.add(u128::from(a) * u128::from(b));
            0
        }),
        says: "acc := acc + rs1 * rs2, unsigned, modulo 2^72",
    },
    Row {
        name: "umac2",
        mask: 0xffff_ffe0 & !(31 << 14),
        bits: 0x81f8_0000,
        syntax: Syntax::Two,
        cost: Cost::Accumulate,
        icc: Icc::None,
        meaning: Meaning::Custom(|acc, a, b| {
            acc.add(2 * u128::from(a) * u128::from(b));
            0
        }),
        says: "acc := acc + 2 * rs1 * rs2, unsigned, modulo 2^72",
    },
    Row {
        name: "shacr",
        mask: 0xc1ff_ffff,
        bits: 0x8160_2000,
        syntax: Syntax::Target,
        cost: Cost::Accumulator,
        icc: Icc::None,
        meaning: Meaning::Custom(|acc, _, _| acc.shift()),
        says: "rd := acc mod 2^32; acc := acc / 2^32",
    },
    Row {
        name: "rdacc",
        mask: 0xc1ff_ffff,
        bits: 0x8160_0000,
        syntax: Syntax::Target,
        cost: Cost::Accumulator,
        icc: Icc::None,
        meaning: Meaning::Custom(|acc, _, _| acc.low()),
        says: "rd := acc mod 2^32",
    },
    Row {
        name: "addac",
        mask: 0xfff8_3fff,
        bits: 0x8168_0000,
        syntax: Syntax::Source,
        cost: Cost::Accumulator,
        icc: Icc::None,
        meaning: Meaning::Custom(|acc, a, _| {
            acc.add(u128::from(a));
            0
        }),
        says: "acc := acc + rs1",
    },
    Row {
        name: "clracc",
        mask: 0xffff_ffff,
        bits: 0xa780_2000,
        syntax: Syntax::None,
        cost: Cost::Accumulator,
        icc: Icc::None,
        meaning: Meaning::Custom(|acc, _, _| {
            acc.clear();
            0
        }),
        says: "acc := 0; the word is wr %g0, 0, %asr19",
    },
];
