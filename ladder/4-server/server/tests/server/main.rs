//! Tests the server from outside: with curl, `openssl s_client`, and an OpenSSL client.
#![allow(clippy::unwrap_used, reason = "tests")]

mod engines;
mod handshakes;
mod hostile;
mod http;
mod rig;
mod starting;
mod stopping;
