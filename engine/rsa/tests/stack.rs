//! A private operation leaves nothing on the stack, whatever its size and its company.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../curves/tests/painted/mod.rs"]
mod painted;

use std::sync::Mutex;

use tollgate_rsa::{PrivateKey, PrivateRequest, Workspace, private_batch};

use painted::check;

#[test]
fn private_operations_leave_nothing_on_the_stack() {
    for bits in [1024, 2048, 3072, 4096, 8192] {
        let pem = format!("{}/../../vectors/keys/rsa-{bits}.pem", env!("CARGO_MANIFEST_DIR"));
        let key = PrivateKey::from_pem(&std::fs::read_to_string(pem).unwrap()).unwrap();
        let workspace = Mutex::new(Workspace::new().unwrap());
        for count in [1, 2, 8] {
            check(&format!("{bits} bits, {count}"), || {
                let mut buffers = vec![vec![1; key.size()]; count];
                let requests = buffers.iter_mut().map(|buffer| PrivateRequest::new(&key, buffer));
                let mut requests: Vec<_> = requests.collect();
                private_batch(&mut workspace.lock().unwrap(), &mut requests);
                assert!(requests.iter().all(|request| request.outcome().is_ok()));
            });
        }
    }
}
