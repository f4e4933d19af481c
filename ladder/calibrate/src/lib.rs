//! Calibration of this machine: cycle counter, core clock, instruction rates, a shared core.
//!
//! * [`tsc`], [`clock`]: ticks of the time stamp counter, and the core cycles that they stand for.
//! * [`probe`]: the rate at which this core finishes an instruction, per cycle.
//! * [`sibling`]: a gauge that tells if the core's other hardware thread is running.
//! * [`machine`]: the facts that the operating system gives about this machine.
//!
//! The crate compiles on every architecture; away from x86-64 each measurement is `None`.

pub mod clock;
pub mod machine;
pub mod probe;
pub mod sibling;
pub mod tsc;
