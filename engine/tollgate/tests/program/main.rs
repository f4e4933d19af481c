//! Tests of the built program `tollgate`: keys, the provider, the signer, and the way to the verbs
//! that measure.
#![allow(clippy::unwrap_used, reason = "tests")]

mod key;
mod program;
mod provider;
mod signer;
mod verbs;
