//! A signer with clients of each kind: honest ones, others, and those that break the protocol.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod frames;
mod gpu;
mod operations;
mod permissions;
mod rates;
mod rig;
mod running;
mod starting;
mod tls;
