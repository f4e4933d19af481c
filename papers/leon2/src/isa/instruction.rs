//! A decoded instruction: its row and its operands.

use super::row::{Meaning, Row, Syntax};

/// A row with its operands. Operands that the row does not use are zero.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// The row.
    pub row: &'static Row,
    /// The destination register; in a store, the register that is stored.
    pub rd: u8,
    /// The first source register.
    pub rs1: u8,
    /// The second source, if it is a register.
    pub rs2: u8,
    /// True if the second source is [`Instruction::constant`] instead.
    pub immediate: bool,
    /// The constant: 13 bits with sign, 22 bits for `sethi`, or the distance in words for a jump.
    pub constant: i32,
}

impl PartialEq for Instruction {
    fn eq(&self, other: &Self) -> bool {
        let fields =
            |i: &Self| (i.row.name, i.row.bits, i.rd, i.rs1, i.rs2, i.immediate, i.constant);
        fields(self) == fields(other)
    }
}

impl Instruction {
    /// Creates an instruction of this row with all operands zero.
    #[must_use]
    pub fn new(row: &'static Row) -> Self {
        Self { row, rd: 0, rs1: 0, rs2: 0, immediate: false, constant: 0 }
    }

    /// Decodes a word of this row; `None` if a field that the row does not use is not zero.
    pub(super) fn read(row: &'static Row, word: u32) -> Option<Self> {
        let register = |from: u32| ((word >> from) & 31) as u8;
        let mut this = Self::new(row);
        match row.syntax {
            Syntax::None => {}
            Syntax::Call => this.constant = signed(word, 30),
            Syntax::Branch => this.constant = signed(word, 22),
            Syntax::Sethi => {
                this.rd = register(25);
                this.constant = (word & 0x3f_ffff).cast_signed();
            }
            Syntax::Constant => this.constant = (word & 0x3f_ffff).cast_signed(),
            Syntax::Target | Syntax::ReadY => this.rd = register(25),
            Syntax::Source => this.rs1 = register(14),
            Syntax::Two => (this.rs1, this.rs2) = (register(14), register(0)),
            _ => {
                (this.rd, this.rs1) = (register(25), register(14));
                this.immediate = word & 0x2000 != 0;
                if this.immediate {
                    this.constant = signed(word, 13);
                } else {
                    this.rs2 = register(0);
                }
            }
        }
        if !this.row.has_rd() {
            this.rd = 0;
        }
        (this.encode() == Ok(word)).then_some(this)
    }

    /// Encodes the instruction.
    ///
    /// # Errors
    ///
    /// A message, if a constant is out of range or the row does not allow a register.
    pub fn encode(&self) -> Result<u32, String> {
        let row = self.row;
        let wrong = |why| Err(format!("{} {why}", row.name));
        let rd = u32::from(self.rd) << 25;
        let two = u32::from(self.rs1) << 14 | u32::from(self.rs2);
        if row.mask & rd & !row.bits != 0 {
            return wrong("needs an even register, the first of a pair");
        }
        let fields = match row.syntax {
            Syntax::None => 0,
            Syntax::Call => self.constant.cast_unsigned() & 0x3fff_ffff,
            Syntax::Branch if signed(self.constant.cast_unsigned(), 22) != self.constant => {
                return wrong("reaches 8 MiB; its target is farther; jump with jmpl");
            }
            Syntax::Branch => self.constant.cast_unsigned() & 0x3f_ffff,
            Syntax::Sethi | Syntax::Constant if !(0..1 << 22).contains(&self.constant) => {
                return wrong("takes a constant of 22 bits");
            }
            Syntax::Sethi | Syntax::Constant => rd | self.constant.cast_unsigned(),
            Syntax::Target | Syntax::ReadY => rd,
            Syntax::Source | Syntax::Two => two,
            _ if !self.immediate => rd | two,
            _ if row.is_trap() && !(0..128).contains(&self.constant) => {
                return wrong("takes a number from 0 to 127");
            }
            _ if row.is_shift() && !(0..32).contains(&self.constant) => {
                return wrong("takes a count from 0 to 31");
            }
            _ if signed(self.constant.cast_unsigned(), 13) != self.constant => {
                return wrong("takes a constant from -4096 to 4095; use set and a register");
            }
            _ => rd | two | 0x2000 | self.constant.cast_unsigned() & 0x1fff,
        };
        Ok(row.bits | fields)
    }

    /// Returns the target of a jump by [`Instruction::constant`] words from this address.
    pub fn target(&self, address: u32) -> u32 {
        address.wrapping_add(self.constant.cast_unsigned() << 2)
    }

    /// Returns the instruction in assembly language, for this address.
    pub fn text(&self, address: u32) -> String {
        let i = self;
        let name = i.row.name;
        let (rd, rs1, rs2) = (register_name(i.rd), register_name(i.rs1), register_name(i.rs2));
        let b = if i.immediate { i.constant.to_string() } else { rs2.clone() };
        let place = match (i.immediate, i.constant, i.rs2) {
            (true, constant, _) if i.rs1 == 0 => constant.to_string(),
            (true, constant, _) if constant < 0 => format!("{rs1} - {}", constant.unsigned_abs()),
            (true, constant, _) => format!("{rs1} + {constant}"),
            (false, _, 0) => rs1.clone(),
            (false, ..) => format!("{rs1} + {rs2}"),
        };
        match i.row.syntax {
            Syntax::None => name.to_owned(),
            Syntax::Call | Syntax::Branch => format!("{name} {:#x}", i.target(address)),
            Syntax::Sethi if i.rd == 0 && i.constant == 0 => "nop".to_owned(),
            Syntax::Sethi => format!("{name} %hi({:#x}), {rd}", i.constant.cast_unsigned() << 10),
            Syntax::Constant => format!("{name} {:#x}", i.constant),
            Syntax::Three => format!("{name} {rs1}, {b}, {rd}"),
            Syntax::Two => format!("{name} {rs1}, {rs2}"),
            Syntax::Source => format!("{name} {rs1}"),
            Syntax::Target => format!("{name} {rd}"),
            Syntax::Load => format!("{name} [{place}], {rd}"),
            Syntax::Store => format!("{name} {rd}, [{place}]"),
            Syntax::Jump => format!("{name} {place}, {rd}"),
            Syntax::Address => format!("{name} {place}"),
            Syntax::ReadY => format!("{name} %y, {rd}"),
            Syntax::WriteY => format!("{name} {rs1}, {b}, %y"),
        }
    }
}

impl Row {
    /// Returns whether instructions of this row use the `rd` field for a register.
    pub(crate) fn has_rd(&self) -> bool {
        use Syntax::*;
        !matches!(self.syntax, None | Call | Branch | Constant | Two | Source | Address | WriteY)
    }

    /// Returns whether instructions of this row store `rd`.
    pub(crate) fn stores(&self) -> bool {
        self.syntax == Syntax::Store
    }

    /// Returns whether instructions of this row shift.
    fn is_shift(&self) -> bool {
        matches!(self.meaning, Meaning::Sll | Meaning::Srl | Meaning::Sra)
    }

    /// Returns whether instructions of this row are Ticc.
    pub(crate) fn is_trap(&self) -> bool {
        matches!(self.meaning, Meaning::Trap(_))
    }
}

/// Returns the lowest bits of a word, with sign.
fn signed(word: u32, bits: u32) -> i32 {
    (word << (32 - bits)).cast_signed() >> (32 - bits)
}

/// Returns the name of a register.
#[must_use]
pub fn register_name(register: u8) -> String {
    let kind = ["g", "o", "l", "i"][usize::from(register >> 3 & 3)];
    match register & 31 {
        14 => "%sp".to_owned(),
        30 => "%fp".to_owned(),
        _ => format!("%{kind}{}", register & 7),
    }
}
