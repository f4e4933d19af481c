//! Operations on curves in jobs of libcrypto, which share batches.

use core::cell::RefCell;

use tollgate_curves::X25519;
use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::job::Job;
use crate::host::x25519::ANY;
use crate::host::{DEFAULT, Host, Key, pem};

fn host() -> Option<Host> {
    Host::with_curves("x25519 = on\necdsa = on")
}

/// Runs `operation` in jobs that all start before the first one resumes.
fn in_jobs<T>(jobs: usize, operation: impl Fn() -> T) -> Vec<T> {
    let results: Vec<_> = (0..jobs).map(|_| RefCell::new(None)).collect();
    let started = results.iter().map(|result| {
        Job::with_callback(|| {
            result.replace(Some(operation()));
        })
    });
    let mut paused: Vec<_> = started.collect();
    paused.retain_mut(|job| !job.resume());
    paused.iter_mut().for_each(|job| while !job.resume() {});
    drop(paused);
    results.into_iter().filter_map(RefCell::into_inner).collect()
}

fn sign(host: &Host, key: &Key) -> Vec<u8> {
    host.sign(key, ANY, c"SHA256", &[], b"a message").unwrap()
}

fn is_valid(host: &Host, key: &Key, signature: &[u8]) -> bool {
    host.verify(key, DEFAULT, c"SHA256", &[], b"a message", signature).is_ok()
}

/// The first of these jobs run alone, until one waits and finds that others come.
const JOBS: usize = 64;

#[test]
fn jobs_share_batches() {
    let Some(host) = host() else { return };
    let [key, peer] = [0, 1].map(|_| host.new_x25519(ANY));
    let expected = host.derive(DEFAULT, &key, &peer).unwrap();
    let secrets = in_jobs(JOBS, || host.derive(ANY, &key, &peer).unwrap());
    assert_eq!(secrets, vec![expected; JOBS]);

    let key = host.key(&pem("ec-p256.pem"));
    let mut signatures = in_jobs(JOBS, || sign(&host, &key));
    assert!(signatures.iter().all(|signature| is_valid(&host, &key, signature)));
    signatures.sort();
    signatures.dedup();
    assert_eq!(signatures.len(), JOBS, "no two have the same nonce");

    let names = ["ecdsa-signatures", "x25519-derivations", "batched-curve-operations"];
    let [signed, derived, batched] = names.map(|name| host.counter(name));
    assert_eq!((signed, derived), (JOBS as u64, JOBS as u64));
    let paused = host.counter("async-operations");
    if X25519::best().has_lanes() {
        assert!(batched >= JOBS as u64, "{batched} of {}", 2 * JOBS);
        assert!(paused > 0);
        assert!(batched >= 4 * host.counter("curve-batches"), "most batches are full");
    } else {
        assert_eq!((batched, paused), (0, 0), "without lanes there are no batches");
    }
}

#[test]
fn jobs_that_wait_for_a_descriptor_are_not_paused() {
    let Some(host) = host() else { return };
    let [key, peer] = [0, 1].map(|_| host.new_x25519(ANY));
    for _ in 0..JOBS {
        assert!(Job::new(|| drop(host.derive(ANY, &key, &peer).unwrap())).resume());
    }
    assert_eq!(host.counter("async-operations"), 0);
}

#[test]
fn a_lone_job_rarely_pauses() {
    let Some(host) = host() else { return };
    let key = host.key(&pem("ec-p256.pem"));
    for _ in 0..160 {
        let mut job = Job::with_callback(|| drop(sign(&host, &key)));
        while !job.resume() {}
    }
    // one in 16, to find out; without lanes there is nothing to find out
    let paused = if X25519::best().has_lanes() { 10 } else { 0 };
    assert_eq!(host.counter("async-operations"), paused);
    assert_eq!(host.counter("curve-batches"), 0);
}

/// The child has a copy of the random bytes of the paused job, and must not use them.
#[test]
fn a_child_takes_a_nonce_of_its_own() {
    alone("async_pause::a_child_takes_a_nonce_of_its_own", fork_alone);
}

fn fork_alone() {
    if !X25519::best().has_lanes() {
        println!("not tested: without lanes no job pauses");
        return;
    }
    let Some(host) = host() else { return };
    let [key, peer] = [0, 1].map(|_| host.new_x25519(ANY));
    let signing = host.key(&pem("ec-p256.pem"));
    let expected = host.derive(DEFAULT, &key, &peer).unwrap();
    let (signature, secret) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let (mut paused, path) = (0, format!("/tmp/tollgate-nonce-{}", std::process::id()));
    for _ in 0..32 {
        let mut sign = Job::with_callback(|| drop(signature.replace(sign(&host, &signing))));
        let mut derive =
            Job::with_callback(|| drop(secret.replace(host.derive(ANY, &key, &peer).unwrap())));
        let (signed, derived) = (sign.resume(), derive.resume());
        if !signed {
            paused += 1;
            assert!(in_child(|| {
                while !sign.resume() {}
                std::fs::write(&path, &*signature.borrow()).is_ok()
            }));
            while !sign.resume() {}
            let child = std::fs::read(&path).unwrap();
            assert!([&child, &*signature.borrow()].iter().all(|s| is_valid(&host, &signing, s)));
            assert_ne!(child[..20], signature.borrow()[..20], "r is that of another nonce");
        }
        if !derived {
            paused += 1;
            assert!(in_child(|| {
                while !derive.resume() {}
                *secret.borrow() == expected
            }));
            while !derive.resume() {}
        }
        assert_eq!(*secret.borrow(), expected);
    }
    let _ = std::fs::remove_file(path);
    assert!(paused >= 2);
}
