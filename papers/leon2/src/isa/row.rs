//! A row of an instruction table: encoding, syntax, cost and meaning.

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its mnemonic, with `,a` where the instruction annuls.
    pub name: &'static str,
    /// The mask of the fixed bits of the word.
    pub mask: u32,
    /// The value of the fixed bits.
    pub bits: u32,
    /// Its operands and their notation.
    pub syntax: Syntax,
    /// Its class in the timing model.
    pub cost: Cost,
    /// Its use of the condition codes.
    pub icc: Icc,
    /// Its semantics.
    pub meaning: Meaning,
    /// A one-line description of its semantics, for readers.
    pub says: &'static str,
}

/// The position of operands in a word, and their notation.
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
    /// `address, rd`.
    Jump,
    /// `address`.
    Address,
    /// `%y, rd`.
    ReadY,
    /// `rs1, rs2 or constant, %y`.
    WriteY,
}

/// Classes of instructions with the same timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Arithmetic, logic, shifts, state registers, windows, the accumulator.
    Alu,
    /// A load of up to a word.
    Load,
    /// A load of two words.
    LoadDouble,
    /// A store of up to a word.
    Store,
    /// A store of two words.
    StoreDouble,
    /// An atomic load and store.
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
}

/// The use of the condition codes by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icc {
    /// Nothing.
    None,
    /// Writes the condition codes.
    Sets,
    /// Reads the carry.
    Carry,
    /// Reads the carry and writes the condition codes.
    CarrySets,
    /// A branch that depends on the condition codes.
    Branch,
    /// Reads all condition codes into a register.
    Reads,
}

impl Icc {
    /// Returns whether the instruction writes the condition codes.
    pub fn sets(self) -> bool {
        matches!(self, Self::Sets | Self::CarrySets)
    }

    /// Returns whether the instruction adds or subtracts the carry.
    pub fn carry(self) -> bool {
        matches!(self, Self::Carry | Self::CarrySets)
    }
}

/// The 72-bit accumulator of the multiply-accumulate extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accumulator(u128);

impl Accumulator {
    const MASK: u128 = (1 << 72) - 1;

    /// Adds, modulo 2^72.
    pub fn add(&mut self, value: u128) {
        self.0 = (self.0 + (value & Self::MASK)) & Self::MASK;
    }

    /// Returns the lowest word.
    pub fn low(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }

    /// Shifts the lowest word out.
    pub fn shift(&mut self) -> u32 {
        let low = self.low();
        self.0 >>= 32;
        low
    }

    /// Sets it to zero.
    pub fn clear(&mut self) {
        self.0 = 0;
    }
}

/// The semantics of an instruction.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each is the mnemonic of its row, which describes it")]
pub enum Meaning {
    /// An instruction of an extension: a function of the accumulator, `rs1`, and `rs2` or the
    /// constant, which returns the value of `rd`.
    Custom(fn(&mut Accumulator, u32, u32) -> u32),
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
    Flush,
    Stbar,
    RdY,
    WrY,
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
