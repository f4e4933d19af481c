//! Derivations in jobs that are paused and never resumed: the provider leaks nothing.

use tollgate_curves::X25519;
use tollgate_rerun::alone;

use crate::allocator::{in_use, is_in_use, left_behind};
use crate::host::job::Job;
use crate::host::libcrypto;
use crate::host::x25519::ANY;
use crate::host::{DEFAULT, Host, Key, Operation};
use crate::x25519::{is_in, masked};

#[test]
fn abandoned_derivations_leak_nothing() {
    alone("abandoned_curves::abandoned_derivations_leak_nothing", abandon_alone);
}

/// A derivation in a job, without Rust objects on the job's stack. When dropped, it frees its parts
/// in the same order as `SSL_free` does in a handshake.
struct Derivation<'a> {
    job: Job<'a>,
    _operation: Operation,
    _len: Box<usize>,
}

impl<'a> Derivation<'a> {
    fn new(host: &Host, key: &Key, peer: &Key, out: &'a mut [u8; 32]) -> Self {
        let operation = host.exchange(ANY, key, peer).unwrap();
        let mut len = Box::new(out.len());
        let (context, out, out_len) = (operation.0, out.as_mut_ptr(), &raw mut *len);
        let job = Job::with_callback(move || {
            // SAFETY: a context, and a buffer of the secret's size.
            unsafe { libcrypto::EVP_PKEY_derive(context, out, out_len) };
        });
        Self { job, _operation: operation, _len: len }
    }
}

/// Starts derivations after one another, so that further ones wait for others. The sixteenth is the
/// first that waits.
fn fill_batches(host: &Host, key: &Key, peer: &Key) {
    for _ in 0..2 {
        let mut outs = [[0; 32]; 20];
        let mut all: Vec<_> =
            outs.iter_mut().map(|out| Derivation::new(host, key, peer, out)).collect();
        all.retain_mut(|one| !one.job.resume());
        all.iter_mut().for_each(|one| while !one.job.resume() {});
    }
}

/// Abandons derivations while their requests wait, and after another job has run them.
fn abandon(host: &Host, peer: &Key, jobs: usize) -> Vec<u8> {
    let key = host.new_x25519(ANY);
    fill_batches(host, &key, peer);
    let (mut nowhere, mut out) = ([0; 32], [0; 32]);
    for number in 0..jobs {
        let mut abandoned = Derivation::new(host, &key, peer, &mut nowhere);
        assert!(!abandoned.job.resume(), "it waits");
        if number % 2 == 0 {
            drop(abandoned);
        } else {
            let mut other = Derivation::new(host, &key, peer, &mut out);
            while !other.job.resume() {}
            drop(abandoned);
        }
        fill_batches(host, &key, peer);
    }
    masked(&out)
}

fn abandon_alone() {
    if !X25519::best().is_ok_and(X25519::has_lanes) {
        println!("not tested: without lanes there are no batches");
        return;
    }
    let Some(host) = Host::with_curves("x25519 = on") else { return };
    let peer = host.new_x25519(DEFAULT);
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    abandon(&host, &peer, 2);
    let (before, open, jobs) = (in_use(), descriptors(), 20);
    let (secret, left) = left_behind(|| abandon(&host, &peer, jobs));
    assert!(!is_in(&left, &secret), "requests and answers are wiped");
    drop(left);
    assert!(!is_in_use(|memory| is_in(memory, &secret)));
    assert_eq!(host.counter("abandoned-operations"), 2 + jobs as u64);
    assert_eq!(in_use() - secret.len(), before, "nothing leaks");
    assert_eq!(descriptors(), open);
}
