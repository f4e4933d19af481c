//! An engine in a process that forks: the child gets an error, and the parent continues.

use core::ffi::c_int;
use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::thread;

use tollgate_queue::{Config, Error, Queue, Work};
use tollgate_rerun::alone;
use tollgate_rsa::{Hash, PrivateKey};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

const PEM: &str = include_str!("../../../../vectors/keys/rsa-1024.pem");

#[test]
fn a_forked_child_has_no_waker() {
    alone("engine_fork::a_forked_child_has_no_waker", fork_alone);
}

fn fork_alone() {
    let engine = Queue::of_this_processor(Config { workers: 1, ..Config::default() }).unwrap();
    let caller = engine.caller().unwrap();
    let key = Arc::new(PrivateKey::from_pem(PEM).unwrap());
    let digest = Hash::Sha256.digest(b"a message");
    let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
    let submit = || caller.submit(|job| job.load(&key, work, digest.as_ref()));
    let kept = submit().unwrap();
    // Another thread is in the middle of a submission, and does not exist in the child.
    let (tell, told) = mpsc::channel();
    let holder = caller.clone();
    let own = Arc::clone(&key);
    let filling = thread::spawn(move || {
        holder.run(|job| {
            tell.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            job.load(&own, work, Hash::Sha256.digest(b"another").as_ref())
        })
    });
    told.recv().unwrap();
    // SAFETY: the child touches this thread's data only, and ends without unwinding.
    let pid = unsafe { fork() };
    if pid == 0 {
        let is_told = matches!(submit(), Err(Error::Forked))
            && matches!(engine.stats(), Err(Error::Forked))
            && matches!(engine.shut_down(Duration::ZERO), Err(Error::Forked))
            && matches!(kept.wait(), Err(Error::Forked));
        drop((caller, engine));
        // SAFETY: ends the child.
        unsafe { _exit(if is_told { 42 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a buffer for its status.
    assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status >> 8, 42);
    assert!(kept.wait().is_ok() && filling.join().unwrap().is_ok());
    drop((caller, engine));
}
