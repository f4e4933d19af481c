//! Why an instruction is not done, and what a processor does then.

use core::fmt;

/// What a processor calls a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// There is no instruction at this address.
    NoCode(u32),
    /// The word is no instruction of this machine, or `unimp`.
    Illegal,
    /// An instruction that only a supervisor may execute.
    Privileged,
    /// `save` into a window that is in use.
    WindowOverflow,
    /// `restore` of a window that is not there.
    WindowUnderflow,
    /// An address that is no multiple of what is there.
    Misaligned(u32),
    /// An address where nothing is.
    NoMemory(u32),
    /// A tagged sum whose tags are set, or that overflows.
    Tag,
    /// A division by zero.
    DivisionByZero,
    /// `ta` and its like.
    Software(u8),
}

impl Trap {
    /// The number by which a trap table is entered.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::NoCode(_) => 0x01,
            Self::Illegal => 0x02,
            Self::Privileged => 0x03,
            Self::WindowOverflow => 0x05,
            Self::WindowUnderflow => 0x06,
            Self::Misaligned(_) => 0x07,
            Self::NoMemory(_) => 0x09,
            Self::Tag => 0x0a,
            Self::DivisionByZero => 0x2a,
            Self::Software(number) => 0x80 + u32::from(number & 0x7f),
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCode(_) => f.write_str("there is no memory to take an instruction from"),
            Self::Illegal => f.write_str("illegal instruction"),
            Self::Privileged => f.write_str("only a supervisor may execute it"),
            Self::WindowOverflow => f.write_str("window overflow"),
            Self::WindowUnderflow => f.write_str("window underflow"),
            Self::Misaligned(at) => write!(f, "address {at:#010x} is misaligned"),
            Self::NoMemory(at) => write!(f, "there is no memory at address {at:#010x}"),
            Self::Tag => f.write_str("tag overflow"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Software(number) => write!(f, "software trap {number}, which nothing handles"),
        }
    }
}

/// Why a simulation cannot go on: fixed by who wrote the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The address of the instruction.
    pub address: u32,
    /// The name of that address, if one is known.
    pub place: Option<String>,
    /// The instruction.
    pub instruction: String,
    /// What is wrong with it.
    pub why: String,
    /// The registers that it reads, with what they hold.
    pub operands: Vec<(String, u32)>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:#010x}", self.address)?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        write!(f, ": {}: {}", self.instruction, self.why)?;
        for (i, (name, value)) in self.operands.iter().enumerate() {
            write!(f, "{} {name} = {value:#x}", if i == 0 { ";" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for Failure {}
