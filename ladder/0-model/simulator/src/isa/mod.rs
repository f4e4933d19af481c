//! Instructions: one row each, in tables that stand side by side.

pub mod accumulate;
pub mod instruction;
pub mod row;
pub mod set;
pub mod sparc;

pub use accumulate::Accumulator;
pub use instruction::{Instruction, Unencodable};
pub use row::{Base, Cost, Icc, Meaning, Row, Syntax};
pub use set::{InstructionSet, Overlap};
