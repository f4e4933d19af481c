//! Processes that fork: a server with workers, and a process whose threads are signing.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::job::Job;
use crate::host::libcrypto;
use crate::host::{DEMAND, Host, Key, Operation};

#[test]
fn a_forked_child_signs() {
    alone("fork::a_forked_child_signs", server_alone);
}

fn server_alone() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let sign = || host.sign(&key, DEMAND, c"SHA256", &[], b"a message");
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let expected = sign().unwrap();
    assert_eq!(threads(), before, "no thread is started");
    assert!(in_child(|| sign().is_ok_and(|signature| signature == expected)));
    assert_eq!(sign().unwrap(), expected);
}

/// Prepares a signature, so that libcrypto takes no further locks.
fn signer(host: &Host, key: &Key) -> Operation {
    let operation = host.operation(key, DEMAND);
    operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[]).unwrap();
    operation
}

fn sign(operation: &Operation) -> Vec<u8> {
    operation.run(libcrypto::EVP_PKEY_sign, b"a message").unwrap()
}

/// Signs directly, in a new job, and in a job that the parent has paused. Then a child of this
/// child signs directly.
fn child(operation: &Operation, paused: &mut Job<'_>, expected: &[u8], generations: usize) -> bool {
    let mut in_job = Vec::new();
    Job::new(|| in_job = sign(operation)).finish();
    while !paused.resume() {}
    let is_good = sign(operation) == expected && in_job == expected;
    is_good && (generations == 0 || in_child(|| sign(operation) == expected))
}

#[test]
fn children_of_a_process_at_work_sign() {
    alone("fork::children_of_a_process_at_work_sign", at_work_alone);
}

/// Stops the threads when dropped, even if the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn at_work_alone() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let operation = signer(&host, &key);
    let expected = sign(&operation);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let operation = signer(&host, &key);
                while !is_over.load(Relaxed) {
                    assert_eq!(sign(&operation), expected);
                }
            });
        }
        let _end = End(&is_over);
        for _ in 0..20 {
            let other = signer(&host, &key);
            let mut signature = Vec::new();
            let mut job = Job::new(|| signature = sign(&other));
            let is_finished = job.resume();
            let is_good = in_child(|| is_finished || child(&operation, &mut job, &expected, 1));
            assert!(is_good);
            // The parent continues normally.
            if is_finished {
                drop(job);
            } else {
                job.finish();
            }
            assert_eq!(signature, expected);
            assert_eq!(sign(&operation), expected);
        }
    });
}
