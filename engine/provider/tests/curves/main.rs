//! The provider's elliptic curves through libcrypto's C functions, in this process.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]
#![allow(unsafe_code, reason = "functions of libcrypto")]

#[path = "../host/mod.rs"]
mod host;

mod async_pause;
mod ecdsa;
mod left_to_openssl;
mod tls_contexts;
mod x25519;
