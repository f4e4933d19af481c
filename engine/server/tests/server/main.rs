//! Tests the server from outside: with curl, `openssl s_client`, and an OpenSSL client.
#![allow(clippy::unwrap_used, reason = "tests")]

mod apart;
mod engines;
mod faults;
mod flood;
mod frames;
mod handshakes;
mod hostile;
mod http;
mod http2;
mod http2_rogue;
mod kernel_tls;
mod load;
mod many_names;
mod names;
mod ocsp;
mod proxy;
mod rig;
mod scanners;
mod sessions;
mod site;
mod soak;
mod spill;
mod starting;
mod stopping;
