//! RV64IM with three multiply-add instructions, a modern comparison with SPARC.
//!
//! The three instructions and their encodings are published in the repository `scarv/rvkex`:
//! `maddlu` and `maddhu` return the lower and the upper half of a product of two words plus a
//! third; `cadd` adds a carry. They have a table of their own. RV64I is complete except for `fence`
//! and system instructions; `ecall` ends a program.
//!
//! Instructions are counted, not cycles of a real processor. [`Run::slots`] applies a simple timing
//! model of this project.

mod execute;
mod product;
mod row;

pub use execute::{Core, Run, Stopped};
pub use product::{Product, ProductRun, Source};
pub use row::{BASE, Form, Meaning, Operands, PRODUCTS, Row, decode, encode};
