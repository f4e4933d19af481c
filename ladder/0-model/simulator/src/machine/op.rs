//! An instruction made ready to be done many times.

use super::state::NOWHERE;
use crate::isa::{Base, Instruction, Meaning, Syntax};

/// An instruction whose second source is always `r[rs2] + constant`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) meaning: Meaning,
    pub(super) rd: u8,
    pub(super) rs1: u8,
    pub(super) rs2: u8,
    pub(super) annuls: bool,
    /// Of `sethi` the word that it makes, of a branch the distance in bytes.
    pub(super) constant: u32,
}

impl Op {
    pub(super) fn of(i: &Instruction) -> Self {
        let constant = i.constant.cast_unsigned();
        let stores = matches!(i.row.syntax, Syntax::Store | Syntax::StoreSpace);
        Self {
            meaning: i.row.meaning,
            rd: if i.rd == 0 && !stores { NOWHERE } else { i.rd },
            rs1: i.rs1,
            rs2: i.rs2,
            annuls: i.row.bits >> 29 & 1 != 0 && i.row.syntax == Syntax::Branch,
            constant: match i.row.syntax {
                Syntax::Sethi => constant << 10,
                Syntax::Branch | Syntax::Call => constant << 2,
                _ => constant,
            },
        }
    }

    /// Whether it may go elsewhere than to the next instruction.
    pub(super) fn jumps(&self) -> bool {
        matches!(
            self.meaning,
            Meaning::Base(Base::Branch(_) | Base::Call | Base::Jmpl | Base::Rett)
        )
    }
}
