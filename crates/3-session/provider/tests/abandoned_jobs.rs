//! Jobs that are paused and never go on, as when a client resets in the middle of a handshake:
//! libcrypto leaks their stacks, and we leak nothing. One test: memory and descriptors are counted.
#![allow(clippy::unwrap_used, reason = "tests")]

mod host;

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

use host::job::Job;
use host::libcrypto;
use host::{DEMAND, Host, pem};

/// Bytes of Rust's allocator that are in use: ours, and not libcrypto's.
static IN_USE: AtomicUsize = AtomicUsize::new(0);
/// What is looked for in memory that is given back, once it is set; and whether it was there.
static SECRET: AtomicU64 = AtomicU64::new(0);
static IS_LEFT: AtomicBool = AtomicBool::new(false);

struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

// SAFETY: memory comes from `System` and goes back to it.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Relaxed);
        // SAFETY: zeroed, so that all of it may be read; the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        let secret = SECRET.load(Relaxed).to_ne_bytes();
        // SAFETY: the caller gives back memory of this layout, which `alloc` has zeroed.
        let bytes = unsafe { core::slice::from_raw_parts(memory, layout.size()) };
        if secret != [0; 8] && bytes.windows(8).any(|eight| eight == secret) {
            IS_LEFT.store(true, Relaxed);
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// An operation in a job, with nothing of Rust's on the job's stack.
fn sign_in_job(host: &Host, pem: &str, out: &mut [u8], is_abandoned: bool) -> bool {
    let key = host.key(pem);
    let operation = host.operation(&key, DEMAND);
    operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[]).unwrap();
    let (context, out, mut len) = (operation.0, out.as_mut_ptr(), out.len());
    let len = &raw mut len;
    let mut job = Job::new(move || {
        let tbs: &[u8] = b"a message";
        // SAFETY: a context, a buffer of the key's size, and a message.
        unsafe { libcrypto::EVP_PKEY_sign(context, out, len, tbs.as_ptr(), tbs.len()) };
    });
    let is_paused = !job.go_on();
    if is_paused && !is_abandoned {
        job.finish();
    }
    is_paused
}

/// Abandons so many jobs; how many bytes more are in use then.
fn growth(host: &Host, pem: &str, nowhere: &mut [u8], jobs: usize) -> usize {
    let (in_use, signed) = (IN_USE.load(Relaxed), host.counter("signatures"));
    for _ in 0..jobs {
        assert!(sign_in_job(host, pem, nowhere, true), "it is paused");
        // One that is finished does what it finds in line, and that is its own.
        sign_in_job(host, pem, nowhere, false);
    }
    assert_eq!(host.counter("signatures") - signed, jobs as u64);
    assert_eq!(host.counter("batches"), 0, "who abandons a job leaves the line");
    IN_USE.load(Relaxed).saturating_sub(in_use)
}

/// Fifty bytes a job.
const GROWTH_MAX: usize = 20 * 50;

#[test]
fn abandoned_jobs_leak_nothing_of_ours() {
    let host = Host::builtin();
    let pem = pem("rsa-4096.pem");
    let mut signature = vec![0; 512];
    sign_in_job(&host, &pem, &mut signature, false);
    let fds = descriptors();
    SECRET.store(u64::from_ne_bytes(signature[8..16].try_into().unwrap()), Relaxed);
    let mut nowhere = vec![0; 512];
    let growth = growth(&host, &pem, &mut nowhere, 20);
    assert!(growth <= GROWTH_MAX, "memory of abandoned jobs is not freed: {growth}");
    assert_eq!(descriptors(), fds);
    assert!(!IS_LEFT.load(Relaxed), "results are wiped");
    // What is looked for would be found, as in the buffer of a job that was finished.
    core::mem::forget(nowhere);
    drop(signature);
    assert!(IS_LEFT.load(Relaxed));
}
