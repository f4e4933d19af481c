//! The provider through libcrypto's C functions, in this process.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "counts, and what did not run")]
#![allow(unsafe_code, reason = "functions of libcrypto")]

#[path = "../host/mod.rs"]
mod host;

mod async_job;
mod async_pause;
mod decryption;
mod fork;
mod keys;
mod parameters;
mod signatures;
mod threads;
