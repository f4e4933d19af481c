//! Instructions: tables with one row each.

pub mod accumulate;
pub mod instruction;
pub mod row;
pub mod set;
pub mod sparc;

pub use instruction::Instruction;
pub use row::{Accumulator, Cost, Icc, Meaning, Row, Syntax};
pub use set::{InstructionSet, Overlap};
