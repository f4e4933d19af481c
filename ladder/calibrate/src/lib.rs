//! Calibration of this machine: cycle counter, core clock, instruction rates, a shared core.
//!
//! * [`tsc`], [`clock`]: ticks of the time stamp counter, and their conversion to core cycles.
//! * [`probe`]: instruction rates of this core, per cycle.
//! * [`sibling`]: a gauge that shows whether the core's other hardware thread is busy.
//! * [`machine`]: facts of this machine from the operating system.
//!
//! The crate compiles on every architecture; except on x86-64, every measurement is `None`.
#![allow(unsafe_code, reason = "instructions that are timed")]

pub mod clock;
pub mod machine;
pub mod probe;
pub mod sibling;
pub mod tsc;
