//! Processor features as proofs, with a veto; detection of forks.
//!
//! * [`features`]: zero-sized proofs that this processor has the features of a kernel
//!   ([`HaveIfma`], [`HaveAvxIfma`], [`HaveAvx512`], [`HaveAvx2`], [`HaveAdxBmi2`]), and the variable
//!   `TOLLGATE_CPU_DISABLE`. [`proven`] calls a function that needs features.
//! * [`process`]: a number that changes when this process is forked.
//! * [`memcheck`]: functions that mark values as secret or public for valgrind. Without debug
//!   assertions these functions compile to nothing.
//! * [`wipe`]: overwrites what an operation on secrets leaves on the stack and in registers.
//!
//! The crate compiles on every architecture. On architectures other than x86-64, every
//! check returns `None`.
//!
//! ```
//! use tollgate_cpu::HaveIfma;
//!
//! // A kernel that needs IFMA takes the proof as an argument.
//! fn best(_: HaveIfma) -> &'static str { "ifma" }
//! let chosen = HaveIfma::check().map_or("portable", best);
//! assert!(["ifma", "portable"].contains(&chosen));
//! ```
//!
//! This crate is internal: a new version may change anything. Programs use `tollgate-rsa`.

pub mod features;
pub mod memcheck;
pub mod process;
pub mod wipe;

pub use features::{
    Feature, HaveAdxBmi2, HaveAvx2, HaveAvx512, HaveAvxIfma, HaveIfma, Proof, UnknownFeature,
};
