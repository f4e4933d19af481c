//! Tests the server from outside: with curl, `openssl s_client`, and an OpenSSL client.
#![allow(clippy::unwrap_used, reason = "tests")]

mod engines;
mod flood;
mod frames;
mod handshakes;
mod hostile;
mod http;
mod http2;
mod http2_rogue;
mod names;
mod proxy;
mod rig;
mod sessions;
mod site;
mod spill;
mod starting;
mod stopping;
