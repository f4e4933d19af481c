//! Programs whose configuration loads the module: the command `openssl`, and Python.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "what did not run says so")]
#![allow(unsafe_code, reason = "functions of libcrypto")]

#[path = "../host/mod.rs"]
mod host;

mod ecdsa;
mod handshakes;
mod memcheck;
mod metrics;
mod outputs;
mod programs;
mod settings;
mod x25519;
