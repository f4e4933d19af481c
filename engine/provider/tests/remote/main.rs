//! Keys that a signer has: stubs, and operations in and outside of jobs.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "counts, and what did not run")]
#![allow(unsafe_code, reason = "functions of libcrypto")]

#[path = "../host/mod.rs"]
mod host;

mod failover;
mod jobs;
mod premaster;
mod signer;
mod stubs;
