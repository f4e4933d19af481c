//! The multiply-accumulate extension: an accumulator of 72 bits in addition to the registers.
//!
//! Names and semantics are this project's own. Some opcodes are those in the table of contents of
//! the *Leon2-CIS User's Manual* (1.0.1, November 2006). The others are LEON's two
//! multiply-accumulate opcodes, `op3` 0x3e and 0x3f. LEON itself defines these two opcodes
//! differently: they multiply 16 by 16 bits into an accumulator of 40 bits.
//!
//! 72 bits are enough for moduli of 4096 bits. A column of a Montgomery product has at most 2 * 128
//! products and less than 2^40 from the column before, and 256 (2^32 - 1)^2 + 2^40 < 2^72. The
//! accumulator is a separate register, because `umul` overwrites Y in the middle of a column.

use super::row::{Accumulator, Cost, Icc, Meaning, Row, Syntax};

/// All rows.
pub static ROWS: &[Row] = &[
    row(
        "umac",
        0x81f0_0000,
        Syntax::Two,
        "acc := acc + rs1 * rs2, unsigned, modulo 2^72",
        |acc, a, b| {
            acc.add(u128::from(a) * u128::from(b));
            0
        },
    ),
    row(
        "shacr",
        0x8160_2000,
        Syntax::Target,
        "rd := acc mod 2^32; acc := acc / 2^32",
        |acc, _, _| acc.shift(),
    ),
    row("rdacc", 0x8160_0000, Syntax::Target, "rd := acc mod 2^32", |acc, _, _| acc.low()),
    row("addac", 0x8168_0000, Syntax::Source, "acc := acc + rs1", |acc, a, _| {
        acc.add(u128::from(a));
        0
    }),
    row(
        "clracc",
        0xa780_2000,
        Syntax::None,
        "acc := 0; the word is wr %g0, 0, %asr19",
        |acc, _, _| {
            acc.clear();
            0
        },
    ),
];

const fn row(
    name: &'static str,
    bits: u32,
    syntax: Syntax,
    says: &'static str,
    meaning: fn(&mut Accumulator, u32, u32) -> u32,
) -> Row {
    let (mask, cost) = match syntax {
        Syntax::Two => (0xffff_ffe0 & !(31 << 14), Cost::Accumulate),
        Syntax::Source => (!(31 << 14), Cost::Alu),
        Syntax::Target => (0xc1ff_ffff, Cost::Alu),
        _ => (0xffff_ffff, Cost::Alu),
    };
    let meaning = Meaning::Custom(meaning);
    Row { name, mask, bits, syntax, cost, icc: Icc::None, meaning, says }
}
