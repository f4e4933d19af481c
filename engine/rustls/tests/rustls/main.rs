//! Keys and handshakes of rustls with the engine, checked by rustls and OpenSSL.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod ecdsa;
mod handshakes;
mod identity;
mod key_exchange;
mod keys;
