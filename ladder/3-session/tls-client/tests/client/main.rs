//! Tests the client with rustls in this process, and with OpenSSL and `GnuTLS` in processes of
//! their own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod alerts;
mod allocation;
mod peer;
mod resumption;
mod tampering;
mod with_gnutls;
mod with_openssl;
mod with_rustls;
