//! Jobs that are paused until other jobs have arrived, as in servers with `SSL_MODE_ASYNC`.

use core::cell::RefCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::host::job::{ASYNC_block_pause, ASYNC_unblock_pause, Job};
use crate::host::libcrypto;
use crate::host::operation::ENCRYPT;
use crate::host::{DEMAND, Host, Key, has_lanes};

fn sign(host: &Host, key: &Key) -> Vec<u8> {
    host.sign(key, DEMAND, c"SHA256", &[], b"a message").unwrap()
}

/// Signs in `jobs` concurrent jobs; all of them start before the first one resumes.
fn sign_in_jobs(host: &Host, key: &Key, jobs: usize) -> Vec<Vec<u8>> {
    let results: Vec<_> = (0..jobs).map(|_| RefCell::new(Vec::new())).collect();
    let mut paused: Vec<_> =
        results.iter().map(|result| Job::new(|| *result.borrow_mut() = sign(host, key))).collect();
    paused.retain_mut(|job| !job.resume());
    paused.into_iter().for_each(Job::finish);
    results.into_iter().map(RefCell::into_inner).collect()
}

#[test]
fn paused_jobs_share_batches() {
    if !has_lanes() {
        println!("not tested: without lanes there are no batches");
        return;
    }
    let (host, key) = Host::builtin().with_key("rsa-2048.pem");
    let expected = sign(&host, &key);
    assert_eq!(host.counter("async-operations"), 0, "outside a job nothing is paused");
    let rounds = 4;
    for _ in 0..rounds {
        for signature in sign_in_jobs(&host, &key, 8) {
            assert_eq!(signature, expected);
        }
    }
    // The first job that resumes runs the operations of all jobs, unless the last job that started
    // has already run them.
    let paused = host.counter("async-operations");
    assert!((7 * rounds..=8 * rounds).contains(&paused), "{paused} of {rounds} rounds");
    let (batches, operations) = (host.counter("batches"), host.counter("batched-operations"));
    assert_eq!((batches, operations), (rounds, 8 * rounds));
    assert_eq!(host.counter("signatures"), 8 * rounds + 1);
}

#[test]
fn every_padding_is_decrypted_in_a_job() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let mut mode = [1, 3, 4];
    let [pkcs1, none, oaep] = mode.each_mut().map(|mode| libcrypto::int(c"pad-mode", mode));
    let mut message = vec![7; 256];
    message[0] = 0;
    for (padding, len) in [(pkcs1, 32), (oaep, 32), (none, 256)] {
        let message = &message[256 - len..];
        let secret = host.run(&key, DEMAND, ENCRYPT, &[padding], message).unwrap();
        let before = host.counter("async-operations");
        let mut back = Vec::new();
        Job::new(|| {
            let operation = host.operation(&key, DEMAND);
            operation.init(libcrypto::EVP_PKEY_decrypt_init_ex, &[padding]).unwrap();
            back = operation.run(libcrypto::EVP_PKEY_decrypt, &secret).unwrap();
            // The context keeps its key, and decrypts again.
            back = operation.run(libcrypto::EVP_PKEY_decrypt, &secret).unwrap();
        })
        .finish();
        assert_eq!(back, message);
        assert_eq!(host.counter("async-operations"), before + 2);
    }
}

/// The descriptor belongs to the job, not to an operation.
#[test]
fn a_continued_job_keeps_its_descriptor() {
    let (host, key) = Host::builtin().with_key("rsa-2048.pem");
    let mut signatures = Vec::new();
    let mut job = Job::new(|| signatures = vec![sign(&host, &key), sign(&host, &key)]);
    let mut seen = Vec::new();
    while !job.resume() {
        seen.push(job.fds());
        job.wait(-1);
    }
    assert!(!seen.is_empty() && seen.iter().all(|fds| fds.len() == 1 && *fds == seen[0]));
    assert!(!job.wait(0), "the descriptor of a finished job is not readable");
    drop(job);
    assert_eq!(signatures[0], signatures[1]);
}

/// HAProxy aborts if it gets a descriptor that it should not wait for.
#[test]
fn an_unpaused_job_has_no_descriptor() {
    if !has_lanes() {
        println!("not tested: without lanes there are no batches");
        return;
    }
    let (host, key) = Host::builtin().with_key("rsa-2048.pem");
    let signing = || Job::new(|| drop(sign(&host, &key)));
    let mut jobs: Vec<_> = (0..16).map(|_| signing()).collect();
    let mut is_finished = false;
    for job in &mut jobs {
        let is_paused = !job.resume();
        assert_eq!(job.fds().len(), usize::from(is_paused));
        is_finished |= !is_paused;
        if is_finished {
            break;
        }
    }
    assert!(is_finished, "the last operation of a batch runs it");
}

#[test]
fn a_job_that_is_started_too_early_succeeds() {
    let (host, key) = Host::builtin().with_key("rsa-4096.pem");
    let mut signature = Vec::new();
    let mut job = Job::new(|| signature = sign(&host, &key));
    let mut starts = 1;
    while !job.resume() {
        starts += 1;
    }
    drop(job);
    assert!(starts < 100, "the number of pauses is limited: {starts}");
    assert_eq!(signature, sign(&host, &key));
}

#[test]
fn a_job_waits_where_pauses_are_blocked() {
    let (host, key) = Host::builtin().with_key("rsa-2048.pem");
    let mut signature = Vec::new();
    let mut job = Job::new(|| {
        // SAFETY: called in a job, and undone in it.
        unsafe { ASYNC_block_pause() };
        signature = sign(&host, &key);
        // SAFETY: as above.
        unsafe { ASYNC_unblock_pause() };
    });
    assert!(job.resume(), "the job was not paused");
    drop(job);
    assert_eq!(signature, sign(&host, &key));
}

#[test]
fn a_callback_is_called() {
    unsafe extern "C" fn count(calls: *mut c_void) -> c_int {
        // SAFETY: the test's counter, which outlives the job.
        unsafe { &*calls.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
        1
    }
    let (host, key) = Host::builtin().with_key("rsa-2048.pem");
    let calls = AtomicUsize::new(0);
    let mut signature = Vec::new();
    let mut job = Job::new(|| signature = sign(&host, &key));
    // SAFETY: the counter outlives the job.
    unsafe { job.call(count, (&raw const calls).cast_mut().cast()) };
    let is_finished = job.resume();
    while calls.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert!(!job.wait(0), "with a callback the descriptor is not readable");
    assert!(is_finished || job.resume());
    drop(job);
    assert_eq!((calls.into_inner(), signature), (1, sign(&host, &key)));
}

/// Many more jobs than a batch can hold.
#[test]
fn a_flood_of_jobs_is_served() {
    let (host, key) = Host::builtin().with_key("rsa-1024.pem");
    let expected = sign(&host, &key);
    assert!(sign_in_jobs(&host, &key, 400).iter().all(|signature| *signature == expected));
}
