//! The public API against published vectors, OpenSSL and AWS-LC.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "prints skipped cases and the seed of a failure")]

mod cross_checks;
mod decryption;
mod encoding;
mod keys;
#[path = "../made/mod.rs"]
mod made;
mod old_hashes;
mod operations;
mod pem;
mod vectors;
mod wycheproof;

use std::path::Path;

use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use tollgate_mont::{Kernel, LaneKernel, LimbKernel};
use tollgate_rsa::{Error, PrivateKey, Rejected, Workspace};

/// The folder of the test keys.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/keys");

/// The valid private keys and their sizes in bits: every size, a public exponent of one byte, and a
/// modulus that does not fill its top byte.
const KEYS: [(&str, usize); 8] = [
    ("rsa-512.pem", 512),
    ("rsa-1024.pem", 1024),
    ("rsa-2047.pem", 2047),
    ("rsa-2048.pem", 2048),
    ("rsa-2048-e3.pem", 2048),
    ("rsa-3072.pem", 3072),
    ("rsa-4096.pem", 4096),
    ("rsa-8192.pem", 8192),
];

/// A key in both libraries.
struct Key {
    ours: PrivateKey,
    theirs: PKey<Private>,
}

impl Key {
    fn new(pem: &str) -> Self {
        let theirs = PKey::private_key_from_pem(pem.as_bytes()).unwrap();
        Self { ours: PrivateKey::from_pem(pem).unwrap(), theirs }
    }

    /// Generates a key by OpenSSL.
    fn generated(bits: u32) -> Self {
        let pem = Rsa::generate(bits).unwrap().private_key_to_pem().unwrap();
        Self::new(core::str::from_utf8(&pem).unwrap())
    }

    /// Reads a test key.
    fn read(name: &str) -> Self {
        Self::new(&read(name))
    }
}

/// Reads a test key.
fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap()
}

fn is_refusal(verdict: &Result<(), Error>) -> bool {
    *verdict == Err(Rejected::SignatureInvalid.into())
}

/// Returns a workspace for each pair of kernels.
fn workspaces() -> impl Iterator<Item = (String, Workspace)> {
    let limbs = LimbKernel::all().into_iter();
    limbs.zip(LaneKernel::all().into_iter().cycle()).map(|(limbs, lanes)| {
        let name = format!("{}, {}", limbs.name(), lanes.name());
        (name, Workspace::with_kernels(limbs, lanes))
    })
}
