//! Tests the client with rustls in this process, and with OpenSSL in a process of its
//! own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod alerts;
mod allocation;
mod peer;
mod resumption;
mod tampering;
mod with_openssl;
mod with_rustls;
