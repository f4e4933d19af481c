//! The instructions of RV64IM and of the extension, with one row for each instruction.
//!
//! Encodings as in *The RISC-V Instruction Set Manual, Volume I* (20191213), chapter 24.

/// The position of operands in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// rd, rs1, rs2.
    R,
    /// rd, rs1, rs2, rs3.
    R4,
    /// rd, rs1, constant of 12 bits.
    I,
    /// rd, rs1, count of 6 bits.
    Shift,
    /// rd, rs1, count of 5 bits.
    ShiftWord,
    /// rs1, rs2, constant of 12 bits.
    S,
    /// rs1, rs2, distance of 13 bits.
    B,
    /// rd, constant of 20 bits, in the upper part of a word.
    U,
    /// rd, distance of 21 bits.
    J,
    /// No operands.
    None,
}

/// The semantics of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// `rd := f(rs1, rs2 or constant)`.
    Compute(fn(u64, u64) -> u64),
    /// `rd := f(rs1, rs2, rs3)`.
    Three(fn(u64, u64, u64) -> u64),
    /// A load: its number of bytes, and true if it extends the sign.
    Load(u8, bool),
    /// A store: number of bytes.
    Store(u8),
    /// A branch, taken if the function returns true.
    Branch(fn(u64, u64) -> bool),
    /// `lui`.
    Upper,
    /// `auipc`.
    UpperFromHere,
    /// `jal`.
    Jump,
    /// `jalr`.
    JumpByRegister,
    /// `ecall`.
    End,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its mnemonic.
    pub name: &'static str,
    /// The mask of the fixed bits of the word.
    pub mask: u32,
    /// The value of the fixed bits.
    pub bits: u32,
    /// Its operands.
    pub form: Form,
    /// Its semantics.
    pub meaning: Meaning,
}

/// Operands of an instruction; fields that a form does not use are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the manual names them")]
pub struct Operands {
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    pub rs3: u8,
    pub constant: i32,
}

const fn row(name: &'static str, bits: u32, form: Form, meaning: Meaning) -> Row {
    let mask = match form {
        Form::R => 0xfe00_707f,
        Form::R4 => 0x0600_707f,
        Form::I | Form::S | Form::B => 0x0000_707f,
        Form::Shift => 0xfc00_707f,
        Form::ShiftWord => 0xfe00_707f,
        Form::U | Form::J => 0x0000_007f,
        Form::None => 0xffff_ffff,
    };
    Row { name, mask, bits, form, meaning }
}

const fn compute(name: &'static str, bits: u32, form: Form, f: fn(u64, u64) -> u64) -> Row {
    row(name, bits, form, Meaning::Compute(f))
}

const fn three(name: &'static str, bits: u32, f: fn(u64, u64, u64) -> u64) -> Row {
    row(name, bits, Form::R4, Meaning::Three(f))
}

/// Extends the sign of a 32-bit word.
fn word(value: u64) -> u64 {
    i64::from(low(value).cast_signed()).cast_unsigned()
}

fn low(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}

fn shift(value: u64) -> u32 {
    (value & 63) as u32
}

fn upper(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

fn signed_upper(a: u64, b: u64) -> u64 {
    let product = i128::from(a.cast_signed()) * i128::from(b.cast_signed());
    (product.cast_unsigned() >> 64) as u64
}

fn mixed_upper(a: u64, b: u64) -> u64 {
    let product = i128::from(a.cast_signed()) * i128::from(b);
    (product.cast_unsigned() >> 64) as u64
}

fn quotient(a: u64, b: u64) -> u64 {
    if b == 0 { u64::MAX } else { a.cast_signed().wrapping_div(b.cast_signed()).cast_unsigned() }
}

fn remainder(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { a.cast_signed().wrapping_rem(b.cast_signed()).cast_unsigned() }
}

fn word_quotient(a: u64, b: u64) -> u64 {
    let (a, b) = (low(a).cast_signed(), low(b).cast_signed());
    let quotient = if b == 0 { -1 } else { a.wrapping_div(b) };
    i64::from(quotient).cast_unsigned()
}

fn word_remainder(a: u64, b: u64) -> u64 {
    let (a, b) = (low(a).cast_signed(), low(b).cast_signed());
    i64::from(if b == 0 { a } else { a.wrapping_rem(b) }).cast_unsigned()
}

/// RV64IM.
pub static BASE: &[Row] = &[
    row("lui", 0x37, Form::U, Meaning::Upper),
    row("auipc", 0x17, Form::U, Meaning::UpperFromHere),
    row("jal", 0x6f, Form::J, Meaning::Jump),
    row("jalr", 0x67, Form::I, Meaning::JumpByRegister),
    row("beq", 0x0063, Form::B, Meaning::Branch(|a, b| a == b)),
    row("bne", 0x1063, Form::B, Meaning::Branch(|a, b| a != b)),
    row("blt", 0x4063, Form::B, Meaning::Branch(|a, b| a.cast_signed() < b.cast_signed())),
    row("bge", 0x5063, Form::B, Meaning::Branch(|a, b| a.cast_signed() >= b.cast_signed())),
    row("bltu", 0x6063, Form::B, Meaning::Branch(|a, b| a < b)),
    row("bgeu", 0x7063, Form::B, Meaning::Branch(|a, b| a >= b)),
    row("lb", 0x0003, Form::I, Meaning::Load(1, true)),
    row("lh", 0x1003, Form::I, Meaning::Load(2, true)),
    row("lw", 0x2003, Form::I, Meaning::Load(4, true)),
    row("ld", 0x3003, Form::I, Meaning::Load(8, true)),
    row("lbu", 0x4003, Form::I, Meaning::Load(1, false)),
    row("lhu", 0x5003, Form::I, Meaning::Load(2, false)),
    row("lwu", 0x6003, Form::I, Meaning::Load(4, false)),
    row("sb", 0x0023, Form::S, Meaning::Store(1)),
    row("sh", 0x1023, Form::S, Meaning::Store(2)),
    row("sw", 0x2023, Form::S, Meaning::Store(4)),
    row("sd", 0x3023, Form::S, Meaning::Store(8)),
    compute("addi", 0x0013, Form::I, u64::wrapping_add),
    compute("slti", 0x2013, Form::I, |a, b| (a.cast_signed() < b.cast_signed()).into()),
    compute("sltiu", 0x3013, Form::I, |a, b| (a < b).into()),
    compute("xori", 0x4013, Form::I, |a, b| a ^ b),
    compute("ori", 0x6013, Form::I, |a, b| a | b),
    compute("andi", 0x7013, Form::I, |a, b| a & b),
    compute("slli", 0x1013, Form::Shift, |a, b| a << shift(b)),
    compute("srli", 0x5013, Form::Shift, |a, b| a >> shift(b)),
    compute("srai", 0x4000_5013, Form::Shift, |a, b| (a.cast_signed() >> shift(b)).cast_unsigned()),
    compute("addiw", 0x001b, Form::I, |a, b| word(a.wrapping_add(b))),
    compute("slliw", 0x101b, Form::ShiftWord, |a, b| word(a << (b & 31))),
    compute("srliw", 0x501b, Form::ShiftWord, |a, b| word(u64::from(low(a)) >> (b & 31))),
    compute("sraiw", 0x4000_501b, Form::ShiftWord, |a, b| {
        i64::from(low(a).cast_signed() >> (b & 31)).cast_unsigned()
    }),
    compute("add", 0x0033, Form::R, u64::wrapping_add),
    compute("sub", 0x4000_0033, Form::R, u64::wrapping_sub),
    compute("sll", 0x1033, Form::R, |a, b| a << shift(b)),
    compute("slt", 0x2033, Form::R, |a, b| (a.cast_signed() < b.cast_signed()).into()),
    compute("sltu", 0x3033, Form::R, |a, b| (a < b).into()),
    compute("xor", 0x4033, Form::R, |a, b| a ^ b),
    compute("srl", 0x5033, Form::R, |a, b| a >> shift(b)),
    compute("sra", 0x4000_5033, Form::R, |a, b| (a.cast_signed() >> shift(b)).cast_unsigned()),
    compute("or", 0x6033, Form::R, |a, b| a | b),
    compute("and", 0x7033, Form::R, |a, b| a & b),
    compute("addw", 0x003b, Form::R, |a, b| word(a.wrapping_add(b))),
    compute("subw", 0x4000_003b, Form::R, |a, b| word(a.wrapping_sub(b))),
    compute("sllw", 0x103b, Form::R, |a, b| word(a << (b & 31))),
    compute("srlw", 0x503b, Form::R, |a, b| word(u64::from(low(a)) >> (b & 31))),
    compute("sraw", 0x4000_503b, Form::R, |a, b| {
        i64::from(low(a).cast_signed() >> (b & 31)).cast_unsigned()
    }),
    compute("mul", 0x0200_0033, Form::R, u64::wrapping_mul),
    compute("mulh", 0x0200_1033, Form::R, signed_upper),
    compute("mulhsu", 0x0200_2033, Form::R, mixed_upper),
    compute("mulhu", 0x0200_3033, Form::R, upper),
    compute("div", 0x0200_4033, Form::R, quotient),
    compute("divu", 0x0200_5033, Form::R, |a, b| a.checked_div(b).unwrap_or(u64::MAX)),
    compute("rem", 0x0200_6033, Form::R, remainder),
    compute("remu", 0x0200_7033, Form::R, |a, b| a.checked_rem(b).unwrap_or(a)),
    compute("mulw", 0x0200_003b, Form::R, |a, b| word(a.wrapping_mul(b))),
    compute("divw", 0x0200_403b, Form::R, word_quotient),
    compute("divuw", 0x0200_503b, Form::R, |a, b| {
        low(a).checked_div(low(b)).map_or(u64::MAX, |quotient| word(quotient.into()))
    }),
    compute("remw", 0x0200_603b, Form::R, word_remainder),
    compute("remuw", 0x0200_703b, Form::R, |a, b| {
        word(low(a).checked_rem(low(b)).unwrap_or(low(a)).into())
    }),
    row("ecall", 0x73, Form::None, Meaning::End),
];

/// The multiply-add instructions of `scarv/rvkex`.
pub static PRODUCTS: &[Row] = &[
    three("maddlu", 0x0000_707b, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
    three("maddhu", 0x0200_707b, |a, b, c| {
        ((u128::from(a) * u128::from(b) + u128::from(c)) >> 64) as u64
    }),
    three("cadd", 0x0400_707b, |a, b, c| c.wrapping_add(a.overflowing_add(b).1.into())),
];

/// Decodes a word by these tables.
#[must_use]
pub fn decode(tables: &[&'static [Row]], instruction: u32) -> Option<(&'static Row, Operands)> {
    let rows = tables.iter().copied().flatten();
    let row = rows.into_iter().find(|row| instruction & row.mask == row.bits)?;
    let register = |from: u32| (instruction >> from & 31) as u8;
    // Bits `from..from + count`, moved to place `to`.
    let part = |from: u32, count: u32, to: u32| (instruction >> from & ((1 << count) - 1)) << to;
    let signed = |value: u32, bits: u32| (value << (32 - bits)).cast_signed() >> (32 - bits);
    let (rd, rs1, rs2, rs3) = (register(7), register(15), register(20), register(27));
    let none = Operands::default();
    let operands = match row.form {
        Form::R => Operands { rd, rs1, rs2, ..none },
        Form::R4 => Operands { rd, rs1, rs2, rs3, ..none },
        Form::I => Operands { rd, rs1, constant: signed(part(20, 12, 0), 12), ..none },
        Form::Shift => Operands { rd, rs1, constant: part(20, 6, 0).cast_signed(), ..none },
        Form::ShiftWord => Operands { rd, rs1, constant: part(20, 5, 0).cast_signed(), ..none },
        Form::S => {
            let constant = signed(part(25, 7, 5) | part(7, 5, 0), 12);
            Operands { rs1, rs2, constant, ..none }
        }
        Form::B => {
            let distance = part(31, 1, 12) | part(7, 1, 11) | part(25, 6, 5) | part(8, 4, 1);
            Operands { rs1, rs2, constant: signed(distance, 13), ..none }
        }
        Form::U => Operands { rd, constant: (instruction & 0xffff_f000).cast_signed(), ..none },
        Form::J => {
            let distance = part(31, 1, 20) | part(12, 8, 12) | part(20, 1, 11) | part(21, 10, 1);
            Operands { rd, constant: signed(distance, 21), ..none }
        }
        Form::None => none,
    };
    Some((row, operands))
}

/// Encodes a row with operands; `None` if a constant does not fit.
#[must_use]
pub fn encode(row: &Row, operands: Operands) -> Option<u32> {
    let register = |register: u8, to: u32| u32::from(register & 31) << to;
    let value = operands.constant.cast_unsigned();
    let part = |from: u32, count: u32, to: u32| (value >> from & ((1 << count) - 1)) << to;
    let Operands { rd, rs1, rs2, rs3, constant } = operands;
    let (d, a, b) = (register(rd, 7), register(rs1, 15), register(rs2, 20));
    let fits = |bits: u32| (-(1_i64 << (bits - 1))..1 << (bits - 1)).contains(&constant.into());
    let (fields, right) = match row.form {
        Form::R => (d | a | b, constant == 0),
        Form::R4 => (d | a | b | register(rs3, 27), constant == 0),
        Form::I => (d | a | part(0, 12, 20), fits(12)),
        Form::Shift => (d | a | part(0, 6, 20), (0..64).contains(&constant)),
        Form::ShiftWord => (d | a | part(0, 5, 20), (0..32).contains(&constant)),
        Form::S => (a | b | part(5, 7, 25) | part(0, 5, 7), fits(12)),
        Form::B => {
            let distance = part(12, 1, 31) | part(11, 1, 7) | part(5, 6, 25) | part(1, 4, 8);
            (a | b | distance, fits(13) && constant % 2 == 0)
        }
        Form::U => (d | value & 0xffff_f000, value & 0xfff == 0),
        Form::J => {
            let distance = part(20, 1, 31) | part(12, 8, 12) | part(11, 1, 20) | part(1, 10, 21);
            (d | distance, fits(21) && constant % 2 == 0)
        }
        Form::None => (0, constant == 0),
    };
    right.then_some(row.bits | fields)
}
