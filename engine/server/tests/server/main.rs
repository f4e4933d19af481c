//! The server from outside: with curl, with `openssl s_client`, and with a client of OpenSSL's.
#![allow(clippy::unwrap_used, reason = "tests")]

mod engines;
mod flood;
mod handshakes;
mod hostile;
mod http;
mod rig;
mod starting;
mod stopping;
