//! Keys and handshakes of rustls with the engine, judged by rustls, OpenSSL and our client.
#![allow(clippy::unwrap_used, reason = "tests")]

mod handshakes;
mod identity;
mod keys;
