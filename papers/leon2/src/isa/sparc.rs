//! The integer unit of SPARC V8: one row for each instruction.
//!
//! The encodings are those of *The SPARC Architecture Manual, Version 8* (SPARC International,
//! 1992), chapter 5 and appendix F. Fields that the manual leaves unused, and that processors
//! ignore, must be zero here, so that each instruction has exactly one word. Floating-point and
//! coprocessor instructions, those of a supervisor, and implementation-dependent state registers
//! are not included.

use super::row::Meaning::*;
use super::row::{Cost, Icc, Meaning, Row, Syntax};

/// `op` and `op3`.
const FORMAT_3: u32 = 0xc1f8_0000;
/// `op`, `rd` and `op3`.
const FORMAT_3_RD: u32 = 0xfff8_0000;
/// `op`, annulment, condition and `op2`.
const BRANCH: u32 = 0xffc0_0000;

type Text = &'static str;

/// All rows.
pub static ROWS: &[Row] = &[
    Row {
        mask: 0xc000_0000,
        bits: 0x4000_0000,
        syntax: Syntax::Call,
        cost: Cost::Branch,
        ..simple("call", Call, "%o7 := own address; jump after the next instruction")
    },
    Row {
        mask: 0xffc0_0000,
        syntax: Syntax::Constant,
        ..simple("unimp", Unimp, "trap: illegal instruction")
    },
    Row {
        mask: 0xc1c0_0000,
        bits: 0x0100_0000,
        syntax: Syntax::Sethi,
        ..simple("sethi", Sethi, "rd := constant, in the upper 22 bits")
    },
    branch("bn", 0, false, "never"),
    branch("be", 1, false, "if Z"),
    branch("ble", 2, false, "if Z or N xor V"),
    branch("bl", 3, false, "if N xor V"),
    branch("bleu", 4, false, "if C or Z"),
    branch("bcs", 5, false, "if C"),
    branch("bneg", 6, false, "if N"),
    branch("bvs", 7, false, "if V"),
    branch("ba", 8, false, "always"),
    branch("bne", 9, false, "if not Z"),
    branch("bg", 10, false, "if neither Z nor N xor V"),
    branch("bge", 11, false, "if not N xor V"),
    branch("bgu", 12, false, "if neither C nor Z"),
    branch("bcc", 13, false, "if not C"),
    branch("bpos", 14, false, "if not N"),
    branch("bvc", 15, false, "if not V"),
    branch("bn,a", 0, true, "never, and skip the next instruction"),
    branch("be,a", 1, true, "if Z, else skip the next instruction"),
    branch("ble,a", 2, true, "if Z or N xor V, else skip the next instruction"),
    branch("bl,a", 3, true, "if N xor V, else skip the next instruction"),
    branch("bleu,a", 4, true, "if C or Z, else skip the next instruction"),
    branch("bcs,a", 5, true, "if C, else skip the next instruction"),
    branch("bneg,a", 6, true, "if N, else skip the next instruction"),
    branch("bvs,a", 7, true, "if V, else skip the next instruction"),
    branch("ba,a", 8, true, "always, and skip the next instruction"),
    branch("bne,a", 9, true, "if not Z, else skip the next instruction"),
    branch("bg,a", 10, true, "if neither Z nor N xor V, else skip the next instruction"),
    branch("bge,a", 11, true, "if not N xor V, else skip the next instruction"),
    branch("bgu,a", 12, true, "if neither C nor Z, else skip the next instruction"),
    branch("bcc,a", 13, true, "if not C, else skip the next instruction"),
    branch("bpos,a", 14, true, "if not N, else skip the next instruction"),
    branch("bvc,a", 15, true, "if not V, else skip the next instruction"),
    trap("tn", 0, "never"),
    trap("te", 1, "if Z"),
    trap("tle", 2, "if Z or N xor V"),
    trap("tl", 3, "if N xor V"),
    trap("tleu", 4, "if C or Z"),
    trap("tcs", 5, "if C"),
    trap("tneg", 6, "if N"),
    trap("tvs", 7, "if V"),
    trap("ta", 8, "always"),
    trap("tne", 9, "if not Z"),
    trap("tg", 10, "if neither Z nor N xor V"),
    trap("tge", 11, "if not N xor V"),
    trap("tgu", 12, "if neither C nor Z"),
    trap("tcc", 13, "if not C"),
    trap("tpos", 14, "if not N"),
    trap("tvc", 15, "if not V"),
    alu("add", 0x00, Add, Icc::None, "rd := rs1 + b"),
    alu("and", 0x01, And, Icc::None, "rd := rs1 and b"),
    alu("or", 0x02, Or, Icc::None, "rd := rs1 or b"),
    alu("xor", 0x03, Xor, Icc::None, "rd := rs1 xor b"),
    alu("sub", 0x04, Sub, Icc::None, "rd := rs1 - b"),
    alu("andn", 0x05, Andn, Icc::None, "rd := rs1 and not b"),
    alu("orn", 0x06, Orn, Icc::None, "rd := rs1 or not b"),
    alu("xnor", 0x07, Xnor, Icc::None, "rd := rs1 xor not b"),
    alu("addx", 0x08, Addx, Icc::Carry, "rd := rs1 + b + C"),
    multiply("umul", 0x0a, Umul, Icc::None, "Y:rd := rs1 * b, unsigned"),
    multiply("smul", 0x0b, Smul, Icc::None, "Y:rd := rs1 * b, signed"),
    alu("subx", 0x0c, Subx, Icc::Carry, "rd := rs1 - b - C"),
    divide("udiv", 0x0e, Udiv, Icc::None, "rd := Y:rs1 / b, unsigned, at most 2^32 - 1"),
    divide("sdiv", 0x0f, Sdiv, Icc::None, "rd := Y:rs1 / b, signed, kept within 32 bits"),
    alu("addcc", 0x10, Addcc, Icc::Sets, "rd := rs1 + b; icc"),
    alu("andcc", 0x11, Andcc, Icc::Sets, "rd := rs1 and b; icc"),
    alu("orcc", 0x12, Orcc, Icc::Sets, "rd := rs1 or b; icc"),
    alu("xorcc", 0x13, Xorcc, Icc::Sets, "rd := rs1 xor b; icc"),
    alu("subcc", 0x14, Subcc, Icc::Sets, "rd := rs1 - b; icc"),
    alu("andncc", 0x15, Andncc, Icc::Sets, "rd := rs1 and not b; icc"),
    alu("orncc", 0x16, Orncc, Icc::Sets, "rd := rs1 or not b; icc"),
    alu("xnorcc", 0x17, Xnorcc, Icc::Sets, "rd := rs1 xor not b; icc"),
    alu("addxcc", 0x18, Addxcc, Icc::CarrySets, "rd := rs1 + b + C; icc"),
    multiply("umulcc", 0x1a, Umulcc, Icc::Sets, "Y:rd := rs1 * b, unsigned; icc of rd"),
    multiply("smulcc", 0x1b, Smulcc, Icc::Sets, "Y:rd := rs1 * b, signed; icc of rd"),
    alu("subxcc", 0x1c, Subxcc, Icc::CarrySets, "rd := rs1 - b - C; icc"),
    divide("udivcc", 0x1e, Udivcc, Icc::Sets, "as udiv; icc of rd, V if it was cut"),
    divide("sdivcc", 0x1f, Sdivcc, Icc::Sets, "as sdiv; icc of rd, V if it was cut"),
    alu("taddcc", 0x20, Taddcc, Icc::Sets, "rd := rs1 + b; icc, V also if tags are set"),
    alu("tsubcc", 0x21, Tsubcc, Icc::Sets, "rd := rs1 - b; icc, V also if tags are set"),
    alu("taddcctv", 0x22, TaddccTv, Icc::Sets, "as taddcc; trap instead of V"),
    alu("tsubcctv", 0x23, TsubccTv, Icc::Sets, "as tsubcc; trap instead of V"),
    alu("mulscc", 0x24, Mulscc, Icc::Sets, "one step of a product of rs1, Y and b"),
    alu("sll", 0x25, Sll, Icc::None, "rd := rs1 << b mod 32"),
    alu("srl", 0x26, Srl, Icc::None, "rd := rs1 >> b mod 32, zeros from above"),
    alu("sra", 0x27, Sra, Icc::None, "rd := rs1 >> b mod 32, signs from above"),
    Row { mask: 0xc1ff_ffff, syntax: Syntax::ReadY, ..alu("rd", 0x28, RdY, Icc::None, "rd := Y") },
    Row {
        bits: 0x8143_c000,
        ..simple("stbar", Stbar, "stores before it come before stores after it")
    },
    Row {
        mask: FORMAT_3_RD,
        syntax: Syntax::WriteY,
        ..alu("wr", 0x30, WrY, Icc::None, "Y := rs1 xor b")
    },
    Row {
        syntax: Syntax::Jump,
        cost: Cost::Jump,
        ..alu("jmpl", 0x38, Jmpl, Icc::None, "rd := own address; jump after the next one")
    },
    Row {
        mask: FORMAT_3_RD,
        syntax: Syntax::Address,
        ..alu("flush", 0x3b, Flush, Icc::None, "stored words may be executed")
    },
    alu("save", 0x3c, Save, Icc::None, "rd of the next window := rs1 + b"),
    alu("restore", 0x3d, Restore, Icc::None, "rd of the window before := rs1 + b"),
    load("ld", 0x00, Ld, Cost::Load, "rd := word at address"),
    load("ldub", 0x01, Ldub, Cost::Load, "rd := byte at address"),
    load("lduh", 0x02, Lduh, Cost::Load, "rd := half word at address"),
    load("ldd", 0x03, Ldd, Cost::LoadDouble, "rd, rd + 1 := two words at address"),
    store("st", 0x04, St, Cost::Store, "word at address := rd"),
    store("stb", 0x05, Stb, Cost::Store, "byte at address := rd"),
    store("sth", 0x06, Sth, Cost::Store, "half word at address := rd"),
    store("std", 0x07, Std, Cost::StoreDouble, "two words at address := rd, rd + 1"),
    load("ldsb", 0x09, Ldsb, Cost::Load, "rd := byte at address, with its sign"),
    load("ldsh", 0x0a, Ldsh, Cost::Load, "rd := half word at address, with its sign"),
    load("ldstub", 0x0d, Ldstub, Cost::Atomic, "rd := byte at address := 255, at once"),
    load("swap", 0x0f, Swap, Cost::Atomic, "rd :=: word at address, at once"),
];

/// Returns a row without operands and without effects on the condition codes, whose bits are zero.
const fn simple(name: Text, meaning: Meaning, says: Text) -> Row {
    Row {
        name,
        mask: 0xffff_ffff,
        bits: 0,
        syntax: Syntax::None,
        cost: Cost::Alu,
        icc: Icc::None,
        meaning,
        says,
    }
}

const fn branch(name: Text, condition: u8, annul: bool, says: Text) -> Row {
    Row {
        mask: BRANCH,
        bits: ((annul as u32) << 29) | ((condition as u32) << 25) | (2 << 22),
        syntax: Syntax::Branch,
        cost: Cost::Branch,
        icc: if matches!(condition, 0 | 8) { Icc::None } else { Icc::Branch },
        ..simple(name, Branch(condition), says)
    }
}

const fn trap(name: Text, condition: u8, says: Text) -> Row {
    Row {
        mask: FORMAT_3_RD,
        bits: (2 << 30) | ((condition as u32) << 25) | (0x3a << 19),
        syntax: Syntax::Address,
        icc: if matches!(condition, 0 | 8) { Icc::None } else { Icc::Reads },
        ..simple(name, Trap(condition), says)
    }
}

const fn alu(name: Text, op3: u32, meaning: Meaning, icc: Icc, says: Text) -> Row {
    let bits = (2 << 30) | (op3 << 19);
    Row { mask: FORMAT_3, bits, syntax: Syntax::Three, icc, ..simple(name, meaning, says) }
}

const fn multiply(name: Text, op3: u32, meaning: Meaning, icc: Icc, says: Text) -> Row {
    Row { cost: Cost::Multiply, ..alu(name, op3, meaning, icc, says) }
}

const fn divide(name: Text, op3: u32, meaning: Meaning, icc: Icc, says: Text) -> Row {
    Row { cost: Cost::Divide, ..alu(name, op3, meaning, icc, says) }
}

const fn load(name: Text, op3: u32, meaning: Meaning, cost: Cost, says: Text) -> Row {
    // Two words use a pair of registers; the first register of a pair is even.
    let double = matches!(cost, Cost::LoadDouble | Cost::StoreDouble);
    let mask = FORMAT_3 | ((double as u32) << 25);
    let bits = (3 << 30) | (op3 << 19);
    Row { mask, bits, syntax: Syntax::Load, cost, ..simple(name, meaning, says) }
}

const fn store(name: Text, op3: u32, meaning: Meaning, cost: Cost, says: Text) -> Row {
    Row { syntax: Syntax::Store, ..load(name, op3, meaning, cost, says) }
}
