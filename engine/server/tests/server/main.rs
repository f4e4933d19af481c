//! Tests the server from outside: with curl, `openssl s_client`, and an OpenSSL client.
#![allow(clippy::unwrap_used, reason = "tests")]

mod engines;
mod flood;
mod handshakes;
mod hostile;
mod http;
mod names;
mod proxy;
mod rig;
mod site;
mod starting;
mod stopping;
