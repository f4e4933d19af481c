//! Traps.

use core::fmt;

/// A trap: the reason why an instruction was not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// No memory at the address of the instruction.
    NoCode(u32),
    /// The word is no instruction of this machine, or `unimp`.
    Illegal,
    /// An instruction for the supervisor only.
    Privileged,
    /// `save` into a window that is in use.
    WindowOverflow,
    /// `restore` of a window that was stored.
    WindowUnderflow,
    /// An address that is not a multiple of the operand's size.
    Misaligned(u32),
    /// An address without memory.
    NoMemory(u32),
    /// A tagged sum whose tags are set, or that overflows.
    Tag,
    /// A division by zero.
    DivisionByZero,
    /// Ticc, such as `ta`.
    Software(u8),
}

impl Trap {
    /// Returns its number (`tt`), which selects the entry of a trap table.
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
            Self::NoCode(_) => f.write_str("no memory at the address of the instruction"),
            Self::Illegal => f.write_str("illegal instruction"),
            Self::Privileged => f.write_str("privileged instruction"),
            Self::WindowOverflow => f.write_str("window overflow"),
            Self::WindowUnderflow => f.write_str("window underflow"),
            Self::Misaligned(at) => write!(f, "address {at:#010x} is misaligned"),
            Self::NoMemory(at) => write!(f, "no memory at address {at:#010x}"),
            Self::Tag => f.write_str("tag overflow"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Software(number) => write!(f, "software trap {number}, which nothing handles"),
        }
    }
}
