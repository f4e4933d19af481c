//! Stock servers of Debian's packages with the provider, loaded by `tollgate-load`.
//!
//! The tests check counts, not rates: other programs may use the machine meanwhile.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

mod appliance;
mod batches;
mod changes;
mod clients;
mod command;
mod handshakes;
mod hybrid;
mod keys;
mod life;
mod many_keys;
mod probed;
mod resets;
mod resumption;
mod rig;
mod signer;
mod signer_jobs;
mod truth;
