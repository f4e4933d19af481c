//! Feature proofs and their veto, cycle counter, core clock, calibration probes, forks.
//!
//! * [`features`]: zero-sized proofs that this processor has what a kernel needs ([`HaveIfma`],
//!   [`HaveAvx2`], [`HaveAdxBmi2`]), and the user's veto `TOLLGATE_CPU_DISABLE`.
//! * [`tsc`], [`clock`]: ticks of the time stamp counter, and real core cycles out of them.
//! * [`probe`]: how many of an instruction this core finishes per cycle.
//! * [`sibling`]: whether the core is whole, or shared with its other thread now.
//! * [`machine`]: what the machine says about itself.
//! * [`process`]: whether this process was forked since.
//! * [`memcheck`], [`rerun`]: mark secrets for valgrind and run a test under it, so that
//!   constant-time tests need neither unsafe code nor C headers; or run a test alone.
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

pub mod clock;
pub mod features;
pub mod machine;
pub mod memcheck;
pub mod probe;
pub mod process;
pub mod rerun;
pub mod sibling;
pub mod tsc;

pub use features::{Feature, HaveAdxBmi2, HaveAvx2, HaveIfma, UnknownFeature};
