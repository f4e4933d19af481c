//! Stock servers of Debian's packages with the provider, under our client.
//!
//! How much load this machine takes beside what else runs on it is not asked.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

mod batches;
mod changes;
mod command;
mod full_disk;
mod handshakes;
mod keys;
mod life;
mod many_keys;
mod probed;
mod resets;
mod resumption;
mod rig;
mod truth;
