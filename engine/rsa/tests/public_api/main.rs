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
mod vectors;
mod wycheproof;

use std::path::Path;

use tollgate_mont::{Kernel, LaneKernel, LimbKernel};
use tollgate_rsa::Workspace;

/// The folder of the test keys.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/keys");

/// Reads a test key.
fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap()
}

/// One workspace per pair of kernels.
fn workspaces() -> impl Iterator<Item = (String, Workspace)> {
    let limbs = LimbKernel::all().into_iter();
    limbs.zip(LaneKernel::all().into_iter().cycle()).map(|(limbs, lanes)| {
        let name = format!("{}, {}", limbs.name(), lanes.name());
        (name, Workspace::with_kernels(limbs, lanes))
    })
}
