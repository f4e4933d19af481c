//! Processes that fork: a server with workers, a process whose threads are signing, and an engine
//! without libcrypto.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::thread;

use tollgate_queue::{Config, Error, Queue, Work};
use tollgate_rerun::alone;
use tollgate_rsa::{Hash, PrivateKey};

use crate::host::child::in_child;
use crate::host::job::Job;
use crate::host::libcrypto;
use crate::host::{DEMAND, Host, Key, Operation, pem};

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

#[test]
fn an_engine_returns_errors_in_a_forked_child() {
    alone("fork::an_engine_returns_errors_in_a_forked_child", engine_alone);
}

fn engine_alone() {
    let engine = Queue::of_this_processor(Config::default()).unwrap();
    let caller = engine.caller().unwrap();
    let key = Arc::new(PrivateKey::from_pem(&pem("rsa-1024.pem")).unwrap());
    let digest = Hash::Sha256.digest(b"a message");
    let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
    let kept = caller.submit(|job| job.load(&key, work, digest.as_ref())).unwrap();
    // Another thread is in the middle of a submission. That thread does not exist in the child.
    let (tell, told) = mpsc::channel();
    let holder = caller.clone();
    let other = Arc::clone(&key);
    let filling = thread::spawn(move || {
        holder.run(|job| {
            tell.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            job.load(&other, work, Hash::Sha256.digest(b"another").as_ref())
        })
    });
    told.recv().unwrap();
    // The child takes and drops its copy.
    let mut parts = Some((caller, engine, kept));
    assert!(in_child(|| {
        let (caller, engine, kept) = parts.take().unwrap();
        let submitted = caller.submit(|job| job.load(&key, work, digest.as_ref()));
        matches!(submitted, Err(Error::Forked))
            && matches!(engine.stats(), Err(Error::Forked))
            && matches!(engine.shut_down(Duration::ZERO), Err(Error::Forked))
            && matches!(kept.wait(), Err(Error::Forked))
    }));
    let (_caller, _engine, kept) = parts.unwrap();
    assert!(kept.wait().is_ok() && filling.join().unwrap().is_ok());
}
