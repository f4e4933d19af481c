//! Checks the contents of freed memory, and that nothing leaks.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]
#![allow(unsafe_code, reason = "functions of libcrypto, and an allocator")]

#[path = "../host/mod.rs"]
mod host;
#[path = "../kem/rig.rs"]
mod rig;

mod abandoned;
mod allocator;
mod ecdsa;
mod kem;
mod wiping;
mod x25519;
