//! Tests of the simulator.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

mod instructions;
mod machine;
mod micro_benchmarks;
mod others;
mod routines;
mod rv64;
mod study;
