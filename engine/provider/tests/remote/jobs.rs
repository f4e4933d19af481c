//! Jobs that are paused while a signer works.

use core::cell::RefCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::thread;

use openssl::hash::MessageDigest;
use openssl::sign::Verifier;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::job::{ASYNC_block_pause, ASYNC_unblock_pause, Job, STACK_BYTES};
use crate::host::{Host, Key, PREFER, stack};
use crate::signer::{Signer, private_key};

/// The limit of operations that a signer answers.
const LONG_MS: u32 = 20_000;
/// The limit of those that it does not.
const SHORT_MS: u32 = 60;

fn message(number: usize) -> Vec<u8> {
    format!("message {number}").into_bytes()
}

fn sign(host: &Host, key: &Key, number: usize) -> Result<Vec<u8>, String> {
    host.sign(key, PREFER, c"SHA256", &[], &message(number))
}

#[track_caller]
fn is_of(number: usize, signature: &Result<Vec<u8>, String>) {
    let key = private_key();
    let mut verifier = Verifier::new(MessageDigest::sha256(), &key).unwrap();
    let signature = signature.as_ref().unwrap();
    assert!(verifier.verify_oneshot(signature, &message(number)).unwrap(), "message {number}");
}

/// The signer answers only when the requests of all jobs have come: one thread has all of them in
/// flight. More jobs than may be paused need an answer for those that are not.
#[test]
fn jobs_of_one_thread_have_requests_in_flight_together() {
    for (jobs, gate) in [(16, 16), (70, 65)] {
        let signer = Signer::new(gate);
        let (host, key) = signer.host(LONG_MS);
        for _ in 0..2 {
            let results: Vec<_> = (0..jobs).map(|_| RefCell::new(Ok(Vec::new()))).collect();
            let run = |number: usize| *results[number].borrow_mut() = sign(&host, &key, number);
            let mut paused: Vec<_> =
                (0..jobs).map(|number| Job::new(move || run(number))).collect();
            paused.retain_mut(|job| !job.resume());
            assert!(paused.len() >= jobs.min(60), "{}", paused.len());
            paused.into_iter().for_each(Job::finish);
            results.iter().enumerate().for_each(|(number, it)| is_of(number, &it.borrow()));
        }
        assert_eq!(host.counter("remote-operations"), 2 * jobs as u64);
        assert!(host.counter("async-operations") >= 2 * jobs.min(60) as u64);
        // Connections are used again.
        let connections = signer.connections.load(SeqCst);
        assert!(connections <= jobs, "{connections} of {jobs} jobs");
    }
}

#[test]
fn a_job_sleeps_until_its_answer_comes() {
    let signer = Signer::new(usize::MAX);
    let (host, key) = signer.host(LONG_MS);
    let mut signature = Ok(Vec::new());
    let mut job = Job::new(|| {
        signature = sign(&host, &key, 1);
        signature = sign(&host, &key, 2);
    });
    assert!(!job.resume());
    let first = job.fds();
    assert!(!job.wait(30), "no answer has come");
    assert!(!job.resume(), "started too early, it is paused again");
    assert!(!job.wait(0));
    signer.open_gate();
    assert!(job.wait(-1));
    while !job.resume() {
        assert_eq!(job.fds(), first, "the descriptor belongs to the job, not to a request");
        assert!(job.wait(-1));
    }
    assert!(!job.wait(0), "the descriptor of a finished job is not readable");
    drop(job);
    is_of(2, &signature);
    assert_eq!(signer.connections.load(SeqCst), 1);
    assert_eq!(host.counter("async-operations"), 2);
}

#[test]
fn a_silent_signer_wakes_its_jobs_at_the_deadline() {
    let signer = Signer::new(usize::MAX);
    let (host, key) = signer.host(SHORT_MS);
    let results: Vec<_> = (0..3).map(|_| RefCell::new(Ok(Vec::new()))).collect();
    let run = |number: usize| *results[number].borrow_mut() = sign(&host, &key, number);
    let mut jobs: Vec<_> = (0..3).map(|number| Job::new(move || run(number))).collect();
    assert!(jobs.iter_mut().all(|job| !job.resume()));
    jobs.into_iter().for_each(Job::finish);
    for result in &results {
        let error = result.borrow().clone().unwrap_err();
        assert!(error.contains("signer did not complete"), "{error}");
    }
    assert_eq!(signer.asked(), 3);
    assert_eq!(host.counter("remote-failures"), 3);
    // Within the silence.
    let mut late = Ok(Vec::new());
    assert!(Job::new(|| late = sign(&host, &key, 4)).resume() || signer.asked() > 3);
    signer.open_gate();
    let mut result = Err(String::new());
    while result.is_err() {
        Job::new(|| result = sign(&host, &key, 5)).finish();
    }
    is_of(5, &result);
}

/// The answer of an abandoned job comes after its end, and no other job gets it.
#[test]
fn abandoned_jobs_take_their_connections_with_them() {
    alone("jobs::abandoned_jobs_take_their_connections_with_them", abandon_alone);
}

fn abandon_alone() {
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let signer = Signer::new(0);
    let (host, key) = signer.host(LONG_MS);
    is_of(0, &sign(&host, &key, 0));
    let before = descriptors();
    signer.gate.store(usize::MAX, SeqCst);
    let mut nowhere = Vec::new();
    nowhere.resize_with(20, || Ok(Vec::new()));
    for (number, result) in nowhere.iter_mut().enumerate() {
        let mut job = Job::new(|| *result = sign(&host, &key, number));
        assert!(!job.resume());
        drop(job);
    }
    assert_eq!(host.counter("abandoned-operations"), 20);
    signer.open_gate();
    let mut result = Ok(Vec::new());
    Job::new(|| result = sign(&host, &key, 99)).finish();
    is_of(99, &result);
    // The signer's ends close when it has noticed.
    for _ in 0..1000 {
        if descriptors() <= before + 2 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{} descriptors, {before} before", descriptors());
}

#[test]
fn a_forked_child_closes_its_parent_s_connections() {
    alone("jobs::a_forked_child_closes_its_parent_s_connections", sockets_alone);
}

fn sockets_alone() {
    let sockets = || {
        let all = fs::read_dir("/proc/self/fd").unwrap();
        let targets = all.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    };
    let signer = Signer::new(0);
    let (host, key) = signer.host(LONG_MS);
    is_of(0, &sign(&host, &key, 0));
    let before = sockets();
    // The child has the parent's connection, and then one of its own in place of it.
    assert!(in_child(|| sign(&host, &key, 1).is_ok() && sockets() == before));
    is_of(2, &sign(&host, &key, 2));
    assert_eq!(signer.connections.load(SeqCst), 2, "the parent goes on with its own");
}

/// A child that was forked asks anew, and the parent gets the answer to its own request.
#[test]
fn a_forked_child_leaves_the_answer_to_its_parent() {
    alone("jobs::a_forked_child_leaves_the_answer_to_its_parent", fork_alone);
}

fn fork_alone() {
    let signer = Signer::new(3);
    let (host, key) = signer.host(LONG_MS);
    let result = RefCell::new(Ok(Vec::new()));
    let mut job = Job::new(|| *result.borrow_mut() = sign(&host, &key, 1));
    let mut other_result = Ok(Vec::new());
    let mut other = Job::new(|| other_result = sign(&host, &key, 2));
    assert!(!job.resume() && !other.resume());
    // The child's request is the third.
    let finish = || {
        while !job.resume() {}
        result.borrow().is_ok()
    };
    assert!(in_child(finish));
    job.finish();
    other.finish();
    is_of(1, &result.borrow());
    is_of(2, &other_result);
    assert_eq!(signer.asked(), 3);
}

#[test]
fn a_job_waits_where_pauses_are_blocked() {
    let signer = Signer::new(0);
    let (host, key) = signer.host(LONG_MS);
    let mut signature = Ok(Vec::new());
    let mut job = Job::new(|| {
        // SAFETY: called in a job, and undone in it.
        unsafe { ASYNC_block_pause() };
        signature = sign(&host, &key, 1);
        // SAFETY: as above.
        unsafe { ASYNC_unblock_pause() };
    });
    assert!(job.resume(), "the job was not paused");
    drop(job);
    is_of(1, &signature);
}

/// HAProxy crashes when it closes a connection that has a descriptor but was never paused.
#[test]
fn a_job_that_was_not_paused_has_no_descriptor() {
    let (signer, _listener, _first) = Signer::full();
    let (host, key) = signer.host(SHORT_MS);
    let mut result = Ok(Vec::new());
    let mut job = Job::new(|| result = sign(&host, &key, 1));
    assert!(job.resume(), "the job was not paused");
    assert_eq!(job.fds(), []);
    drop(job);
    assert!(result.is_err());
}

#[test]
fn a_job_that_has_no_timer_has_no_descriptor() {
    alone("jobs::a_job_that_has_no_timer_has_no_descriptor", one_descriptor_alone);
}

fn one_descriptor_alone() {
    let signer = Signer::new(0);
    let (host, key) = signer.host(LONG_MS);
    is_of(0, &sign(&host, &key, 0)); // a connection for the job
    let before = getrlimit(Resource::Nofile);
    let next = File::open("/dev/null").unwrap().as_raw_fd(); // the only one that is left
    let current = Some(u64::try_from(next).unwrap() + 1);
    let mut result = Ok(Vec::new());
    let mut job = Job::new(|| result = sign(&host, &key, 1));
    setrlimit(Resource::Nofile, Rlimit { current, ..before }).unwrap();
    let is_finished = job.resume();
    setrlimit(Resource::Nofile, before).unwrap();
    assert!(is_finished, "the job was not paused");
    assert_eq!(job.fds(), []);
    drop(job);
    is_of(1, &result);
    assert_eq!(signer.connections.load(SeqCst), 1);
}

/// An owner with a callback is told at once. Both requests are in flight before one waits.
#[test]
fn an_owner_with_a_callback_is_told_at_once() {
    unsafe extern "C" fn count(calls: *mut c_void) -> c_int {
        // SAFETY: the test's counter, which outlives the job.
        unsafe { &*calls.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
        1
    }
    let signer = Signer::new(2);
    let (host, key) = signer.host(LONG_MS);
    let calls = AtomicUsize::new(0);
    let results = [(); 2].map(|()| RefCell::new(Ok(Vec::new())));
    let mut jobs: Vec<_> = results
        .iter()
        .enumerate()
        .map(|(number, result)| {
            let (host, key) = (&host, &key);
            let job = Job::new(move || *result.borrow_mut() = sign(host, key, number));
            // SAFETY: the counter outlives the job.
            unsafe { job.call(count, (&raw const calls).cast_mut().cast()) };
            job
        })
        .collect();
    assert!(jobs.iter_mut().all(|job| !job.resume()));
    assert_eq!(calls.load(SeqCst), 2);
    assert!(jobs.iter_mut().all(Job::resume), "a job that continues waits");
    drop(jobs);
    results.iter().enumerate().for_each(|(number, result)| is_of(number, &result.borrow()));
}

#[test]
fn a_request_leaves_half_of_a_job_s_stack() {
    let signer = Signer::new(0);
    let (host, key) = signer.host(LONG_MS);
    let mut stack_bytes = 0;
    let run = || stack_bytes = stack::depth(STACK_BYTES, || drop(sign(&host, &key, 1).unwrap()));
    Job::new(run).finish();
    assert!(stack_bytes < STACK_BYTES / 2, "{stack_bytes}");
    assert_eq!(host.counter("async-operations"), 1);
}
