//! Reads any bytes as a key file. The result is a key, or an error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_rsa::{PrivateKey, PublicKey};

fuzz_target!(|bytes: &[u8]| {
    refused(PrivateKey::from_bytes(bytes));
    refused(PublicKey::from_bytes(bytes));
    if let Ok(text) = str::from_utf8(bytes) {
        refused(PrivateKey::from_pem(text));
        refused(PublicKey::from_pem(text));
    }
});

/// Checks that an error message is one line.
fn refused<K, E: core::fmt::Display>(key: Result<K, E>) {
    if let Err(error) = key {
        let line = error.to_string();
        assert!(!line.is_empty() && !line.contains(['\n', '\r']), "{line:?}");
    }
}
