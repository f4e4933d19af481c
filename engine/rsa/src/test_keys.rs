//! The keys of `vectors/keys` and private operations with them, for tests.

use std::fs;

use crate::{Error, PrivateKey, PrivateRequest, Workspace, private_batch};

/// Reads the key of a file, such as `rsa-512`.
pub(crate) fn key(name: &str) -> PrivateKey {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/keys");
    let file = fs::read(format!("{folder}/{name}.pem")).expect("a file of the folder");
    PrivateKey::from_bytes(&file).expect("a good key")
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
