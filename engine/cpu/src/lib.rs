//! Processor features as proofs, with a veto; detection of forks.
//!
//! * [`features`]: zero-sized proofs that this processor has what a kernel needs ([`HaveIfma`],
//!   [`HaveAvx2`], [`HaveAdxBmi2`]), and the user's veto `TOLLGATE_CPU_DISABLE`.
//! * [`process`]: a number that changes when this process is forked.
//! * [`memcheck`]: marks of secret and public values for valgrind. Without the feature `memcheck`,
//!   which only tests turn on, each mark compiles to nothing.
//!
//! The crate compiles on every architecture; away from x86-64 each check answers `None`.
//!
//! ```
//! use tollgate_cpu::HaveIfma;
//!
//! // A kernel that needs IFMA asks for the proof; whoever holds one need not ask again.
//! fn best(_: HaveIfma) -> &'static str { "ifma" }
//! let chosen = HaveIfma::check().map_or("portable", best);
//! assert!(["ifma", "portable"].contains(&chosen));
//! ```

pub mod features;
pub mod memcheck;
pub mod process;

pub use features::{Feature, HaveAdxBmi2, HaveAvx2, HaveIfma, UnknownFeature};
