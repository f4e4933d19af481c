//! Traps.

/// A trap: the reason why an instruction was not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trap {
    /// No memory at the address of the instruction.
    #[error("no memory at the address of the instruction")]
    NoCode(u32),
    /// The word is no instruction of this machine, or `unimp`.
    #[error("illegal instruction")]
    Illegal,
    /// `save` into a window that is in use.
    #[error("window overflow")]
    WindowOverflow,
    /// `restore` of a window that was stored.
    #[error("window underflow")]
    WindowUnderflow,
    /// An address that is not a multiple of the operand's size.
    #[error("address {0:#010x} is misaligned")]
    Misaligned(u32),
    /// An address without memory.
    #[error("no memory at address {0:#010x}")]
    NoMemory(u32),
    /// A tagged sum whose tags are set, or that overflows.
    #[error("tag overflow")]
    Tag,
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// Ticc, such as `ta`.
    #[error("software trap {0}")]
    Software(u8),
}
