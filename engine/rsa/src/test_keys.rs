//! The keys of `vectors/keys` and private operations with them, for tests.

use std::fs;

use crate::{Error, PrivateKey, PrivateRequest, Workspace, private_batch};

/// Reads a file, such as `rsa-512`.
pub(crate) fn file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/keys");
    fs::read(format!("{folder}/{name}.pem")).expect("a file of the folder")
}

/// Reads the key of a file.
pub(crate) fn key(name: &str) -> PrivateKey {
    PrivateKey::from_bytes(&file(name)).expect("a good key")
}

/// Runs an operation on each buffer, in one batch, and returns their outcomes.
pub(crate) fn run(
    workspace: &mut Workspace,
    key: &PrivateKey,
    buffers: &mut [Vec<u8>],
) -> Vec<Result<(), Error>> {
    let mut requests: Vec<_> = buffers.iter_mut().map(|b| PrivateRequest::new(key, b)).collect();
    private_batch(workspace, &mut requests);
    requests.iter().map(PrivateRequest::outcome).collect()
}
