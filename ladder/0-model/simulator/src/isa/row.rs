//! What a row of an instruction table says: encoding, syntax, cost and meaning.

use super::accumulate::Accumulator;

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its mnemonic, with `,a` where the instruction annuls.
    pub name: &'static str,
    /// The bits of the word that are fixed.
    pub mask: u32,
    /// What stands in them.
    pub bits: u32,
    /// What its operands are and how they are written.
    pub syntax: Syntax,
    /// What the timing model takes it for.
    pub cost: Cost,
    /// What it does to the condition codes.
    pub icc: Icc,
    /// What the simulator does.
    pub meaning: Meaning,
    /// What it does, in a line for the reader.
    pub says: &'static str,
}

/// Where operands stand in a word, and how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// No operands.
    None,
    /// `label`, 30 bits of words.
    Call,
    /// `label`, 22 bits of words.
    Branch,
    /// `constant, rd`: 22 bits. Written as `%hi(value)`.
    Sethi,
    /// `constant`: 22 bits.
    Constant,
    /// `rs1, rs2 or constant, rd`.
    Three,
    /// `rs1, rs2`.
    Two,
    /// `rs1`.
    Source,
    /// `rd`.
    Target,
    /// `[address], rd`.
    Load,
    /// `rd, [address]`.
    Store,
    /// `[rs1 + rs2] space, rd`.
    LoadSpace,
    /// `rd, [rs1 + rs2] space`.
    StoreSpace,
    /// `address, rd`.
    Jump,
    /// `address`.
    Address,
    /// A state register, `rd`: its name is the text here.
    Read(&'static str),
    /// `rs1, rs2 or constant`, and the state register of this name.
    Write(&'static str),
}

/// Classes of instructions that take equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Arithmetic, logic, shifts, state registers, windows.
    Alu,
    /// A load of up to a word.
    Load,
    /// A load of two words.
    LoadDouble,
    /// A store of up to a word.
    Store,
    /// A store of two words.
    StoreDouble,
    /// A load and a store that nothing comes between.
    Atomic,
    /// A call or a branch.
    Branch,
    /// A jump to an address in registers.
    Jump,
    /// An integer multiplication.
    Multiply,
    /// An integer division.
    Divide,
    /// A multiplication into the accumulator.
    Accumulate,
    /// Whatever else reads or writes the accumulator.
    Accumulator,
}

/// What an instruction has to do with the condition codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icc {
    /// Nothing.
    None,
    /// Writes them.
    Sets,
    /// Reads the carry.
    Carry,
    /// Reads the carry and writes them.
    CarrySets,
    /// A branch that depends on them.
    Branch,
    /// Reads all of them into a register.
    Reads,
}

impl Icc {
    /// Whether it writes them.
    #[must_use]
    pub fn sets(self) -> bool {
        matches!(self, Self::Sets | Self::CarrySets)
    }

    /// Whether it adds or subtracts the carry.
    #[must_use]
    pub fn carry(self) -> bool {
        matches!(self, Self::Carry | Self::CarrySets)
    }
}

/// What the simulator does for an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// One of the base.
    Base(Base),
    /// One of an extension: what it does with the accumulator and the values of `rs1` and of `rs2`
    /// or the constant, and the value that goes to `rd`.
    Custom(fn(&mut Accumulator, u32, u32) -> u32),
}

/// The instructions of the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the mnemonic of its row, which says what it does")]
pub enum Base {
    Call,
    Unimp,
    Sethi,
    /// Bicc, with its condition.
    Branch(u8),
    /// Ticc, with its condition.
    Trap(u8),
    Add,
    Addcc,
    Addx,
    Addxcc,
    Sub,
    Subcc,
    Subx,
    Subxcc,
    Taddcc,
    TaddccTv,
    Tsubcc,
    TsubccTv,
    And,
    Andcc,
    Andn,
    Andncc,
    Or,
    Orcc,
    Orn,
    Orncc,
    Xor,
    Xorcc,
    Xnor,
    Xnorcc,
    Sll,
    Srl,
    Sra,
    Mulscc,
    Umul,
    Umulcc,
    Smul,
    Smulcc,
    Udiv,
    Udivcc,
    Sdiv,
    Sdivcc,
    Save,
    Restore,
    Jmpl,
    Rett,
    Flush,
    Stbar,
    RdY,
    RdPsr,
    RdWim,
    RdTbr,
    WrY,
    WrPsr,
    WrWim,
    WrTbr,
    Ld,
    Ldub,
    Ldsb,
    Lduh,
    Ldsh,
    Ldd,
    St,
    Stb,
    Sth,
    Std,
    Ldstub,
    Swap,
}
