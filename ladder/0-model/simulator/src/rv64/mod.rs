//! RV64IM with three multiply-add instructions: the modern row beside SPARC.
//!
//! The three are published, with their encodings, in the repository `scarv/rvkex`: `maddlu` and
//! `maddhu` add a word to a product of two and give its lower and its upper half, `cadd` adds a
//! carry. They stand in a table of their own, as SPARC's extension does. Of RV64I there is what
//! programs of numbers need: no system instructions but `ecall`, which ends a program, and no
//! `fence`.
//!
//! Instructions are counted; there is no processor behind this. [`Run::slots`] adds a model of
//! ours.

mod execute;
mod measure;
mod product;
mod row;

pub use execute::{Core, Run, Stopped};
pub use measure::Measured;
pub use product::{Product, Source};
pub use row::{BASE, Form, Meaning, Operands, PRODUCTS, Row, decode, encode};
