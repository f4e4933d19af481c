//! Jobs that are paused for a signer and never resumed: the provider leaks nothing.

use std::fs;
use std::os::unix::net::UnixListener;

use tollgate_keyless::Stub;
use tollgate_rerun::alone;

use crate::allocator::in_use;
use crate::host::job::Job;
use crate::host::libcrypto;
use crate::host::{Host, PREFER, pem};

#[test]
fn abandoned_requests_leak_nothing() {
    alone("abandoned_remote::abandoned_requests_leak_nothing", abandon_alone);
}

/// Starts jobs, without Rust objects on their stacks, and frees each one in the order of
/// `SSL_free`. Its key is freed before, so only the request holds it.
fn abandon(host: &Host, stub: &str, jobs: usize) {
    for _ in 0..jobs {
        let key = host.key(stub);
        let operation = host.operation(&key, PREFER);
        let digest = libcrypto::text(c"digest", c"SHA256");
        operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[digest]).unwrap();
        let (mut out, mut len) = ([0; 256], 256);
        let (context, out, out_len) = (operation.0, out.as_mut_ptr(), &raw mut len);
        let mut job = Job::new(move || {
            let digest: &[u8] = &[7; 32];
            // SAFETY: a context, a buffer of the key's size, and a digest.
            unsafe { libcrypto::EVP_PKEY_sign(context, out, out_len, digest.as_ptr(), 32) };
        });
        assert!(!job.resume(), "it waits");
        drop(job);
    }
}

fn abandon_alone() {
    let path = std::env::temp_dir().join(format!("tollgate-abandoned-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap(); // it answers nobody
    let host = Host::configured(&format!("remote = unix:{}", path.display()));
    let key = openssl::pkey::PKey::private_key_from_pem(pem("rsa-2048.pem").as_bytes()).unwrap();
    let stub = Stub::new(key.public_key_to_der().unwrap()).unwrap().to_pem();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    abandon(&host, &stub, 3);
    let (before, open) = (in_use(), descriptors());
    abandon(&host, &stub, 30);
    let grown = in_use().saturating_sub(before);
    assert_eq!(descriptors(), open);
    assert_eq!(host.counter("abandoned-operations"), 33);
    assert_eq!(grown, 0, "{grown} bytes of 30 jobs");
    drop(listener);
    fs::remove_file(&path).unwrap();
}
