//! Several signers: an operation goes to the first one that is there.

use core::cell::RefCell;
use core::time::Duration;
use std::thread;
use std::time::Instant;

use tollgate_keyless::{ErrorCode, REFUSAL};

use crate::host::job::Job;
use crate::host::{Host, Key, PREFER, errors};
use crate::signer::Signer;

/// The limit of operations that the second signer answers after the silence of the first one.
const LIMIT_MS: u32 = 2000;

fn sign(host: &Host, key: &Key) -> Result<Vec<u8>, String> {
    host.sign(key, PREFER, c"SHA256", &[], b"a message")
}

fn counts(host: &Host) -> [u64; 2] {
    ["remote-operations", "remote-failures"].map(|name| host.counter(name))
}

#[test]
fn the_second_signer_replaces_one_that_is_gone() {
    let [first, second] = [(); 2].map(|()| Signer::new(0));
    let (host, key) = Signer::host_of(&[&first, &second], LIMIT_MS);
    assert!(sign(&host, &key).is_ok());
    assert_eq!(([first.asked(), second.asked()], counts(&host)), ([1, 0], [1, 0]));
    // Its old connection is still there.
    first.hide();
    assert!(sign(&host, &key).is_ok());
    let (host, key) = Signer::host_of(&[&first, &second], LIMIT_MS);
    assert!(sign(&host, &key).is_ok());
    assert_eq!(errors(), "", "a success leaves no errors");
    assert_eq!(([first.asked(), second.asked()], counts(&host)), ([2, 1], [1, 1]));

    second.hide();
    let (host, key) = Signer::host_of(&[&first, &second], LIMIT_MS);
    assert!(sign(&host, &key).unwrap_err().contains("signer did not complete"));
    assert_eq!(counts(&host), [0, 2]);
}

/// The first one costs half of the limit, once. In jobs too.
#[test]
fn the_second_signer_replaces_a_silent_one() {
    for in_jobs in [false, true] {
        let [first, second] = [usize::MAX, 0].map(Signer::new);
        let (host, key) = Signer::host_of(&[&first, &second], LIMIT_MS);
        let begin = Instant::now();
        assert!(sign(&host, &key).is_ok());
        let took = begin.elapsed();
        assert!(took >= Duration::from_millis(u64::from(LIMIT_MS) / 2), "{took:?}");
        // In the silence, nobody asks the first one.
        let results = [(); 5].map(|()| RefCell::new(Ok(Vec::new())));
        for result in &results {
            let run = || *result.borrow_mut() = sign(&host, &key);
            if in_jobs {
                Job::new(run).finish();
            } else {
                run();
            }
            assert!(result.borrow().is_ok());
        }
        assert_eq!(second.asked(), 6);
        let asked = first.asked();
        assert!(asked == 1 || begin.elapsed() > Duration::from_millis(LIMIT_MS.into()), "{asked}");
    }
}

#[test]
fn jobs_wait_for_the_first_signer_and_then_for_the_second() {
    // The first one ends when it has three requests.
    let (first, second) = (Signer::answering(3, |_| (0, Vec::new())), Signer::new(3));
    let (host, key) = Signer::host_of(&[&first, &second], 20_000);
    let results = [(); 3].map(|()| RefCell::new(Ok(Vec::new())));
    let (host, key) = (&host, &key);
    let mut jobs: Vec<_> = results
        .iter()
        .map(|result| Job::new(move || *result.borrow_mut() = sign(host, key)))
        .collect();
    assert!(jobs.iter_mut().all(|job| !job.resume()));
    while !jobs.is_empty() {
        jobs.retain_mut(|job| job.wait(-1) && !job.resume());
    }
    assert!(results.iter().all(|result| result.borrow().is_ok()), "{results:?}");
    assert_eq!([first.asked(), second.asked()], [3, 3]);
}

/// The job is started again when the limit has passed. The last signer still gets a part of it.
#[test]
fn the_last_signer_has_time_if_a_job_is_started_late() {
    let (first, second) = (Signer::new(usize::MAX), Signer::slow(0, Duration::from_millis(20)));
    let (host, key) = Signer::host_of(&[&first, &second], LIMIT_MS);
    let mut result = Ok(Vec::new());
    let mut job = Job::new(|| result = sign(&host, &key));
    assert!(!job.resume());
    thread::sleep(Duration::from_millis(LIMIT_MS.into()));
    job.finish();
    assert!(result.is_ok());
}

#[test]
fn the_second_signer_replaces_one_that_failed_itself() {
    let first = Signer::answering(0, |_| (REFUSAL, vec![ErrorCode::Internal as u8]));
    let second = Signer::new(0);
    let (host, key) = Signer::host_of(&[&first, &second], LIMIT_MS);
    assert!(sign(&host, &key).is_ok());
    assert_eq!(([first.asked(), second.asked()], counts(&host)), ([1, 1], [1, 1]));
    let (host, key) = Signer::host_of(&[&second, &first], LIMIT_MS);
    second.hide();
    assert!(sign(&host, &key).is_err(), "the last one failed");
}

/// A decision of the first one holds.
#[test]
fn a_refusal_is_final() {
    let refusal = || vec![ErrorCode::OverRate as u8];
    let first = Signer::answering(0, move |_| (REFUSAL, refusal()));
    let second = Signer::new(0);
    let (host, key) = Signer::host_of(&[&first, &second], LIMIT_MS);
    assert!(sign(&host, &key).is_err());
    assert_eq!(([first.asked(), second.asked()], counts(&host)), ([1, 0], [0, 1]));
}
