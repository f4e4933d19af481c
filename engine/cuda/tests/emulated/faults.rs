//! Faults at every stage: a wrong number never leaves the device.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use tollgate_cuda::{Failure, Numbers, Operation, Operations, Size};
use tollgate_rsa::PrivateKey;

use crate::library::{EmulatedDriver, LONG, Value};
use crate::operations::{expected, key, run, with_doubles};
use crate::rounds;

/// The stages of `device/private.h` of an operation, and those of the making of pairs.
const STAGES: core::ops::RangeInclusive<i32> = 1..=8;
const STAGES_OF_PAIRS: core::ops::RangeInclusive<i32> = 9..=10;
/// Stages with two groups for each job.
const STAGES_OF_HALVES: core::ops::RangeInclusive<i32> = 2..=4;
const OPERATIONS: u32 = 3;

fn jobs(key: &Arc<PrivateKey>, c: &[u8]) -> Vec<(Arc<PrivateKey>, Vec<u8>)> {
    vec![(Arc::clone(key), c.to_vec()); OPERATIONS as usize]
}

#[test]
fn an_injected_fault_fails_its_operation_only() {
    for numbers in Numbers::ALL {
        a_fault_fails_its_operation_only(numbers);
    }
}

fn a_fault_fails_its_operation_only(numbers: Numbers) {
    let size = Size::Rsa1024;
    let (key, mut rng) = (key(size), fastrand::Rng::with_seed(35));
    let driver = with_doubles();
    let mut operations = Operations::with_numbers(driver.device(), OPERATIONS as usize, numbers);
    let c = vec![5; key.size()];
    assert_eq!(run(&mut operations, size, &mut jobs(&key, &c)), [true; 3]);
    let right = expected(&key, &c);
    for stage in STAGES {
        for _ in 0..rounds(4, 100) {
            let groups = if STAGES_OF_HALVES.contains(&stage) { 2 } else { 1 };
            let group = rng.u32(..OPERATIONS * groups);
            driver.inject(stage, group, rng.u32(..));
            let mut hit = jobs(&key, &c);
            let passed = run(&mut operations, size, &mut hit);
            for (i, (passed, (_, number))) in passed.into_iter().zip(hit).enumerate() {
                let is_hit = i == (group / groups) as usize;
                assert_eq!(passed, !is_hit, "stage {stage}, group {group}");
                assert_eq!(number, if passed { right.clone() } else { c.clone() });
            }
            // This makes a new pair for the operation that failed.
            assert_eq!(run(&mut operations, size, &mut jobs(&key, &c)), [true; 3]);
        }
    }
}

#[test]
fn a_fault_in_a_new_pair_fails_its_operation() {
    let size = Size::Rsa1024;
    let (key, mut rng) = (key(size), fastrand::Rng::with_seed(36));
    for stage in STAGES_OF_PAIRS.chain(STAGES_OF_HALVES) {
        for _ in 0..rounds(3, 50) {
            let driver = EmulatedDriver::new();
            driver.inject(stage, 0, rng.u32(..));
            let mut operations = Operations::new(driver.device(), 2);
            let c = vec![5; key.size()];
            let mut jobs = vec![(Arc::clone(&key), c.clone()); 2];
            assert_eq!(run(&mut operations, size, &mut jobs), [false, true], "stage {stage}");
            assert_eq!(jobs[0].1, c, "nothing is released");
            assert_eq!(run(&mut operations, size, &mut jobs), [true; 2], "with a new pair");
        }
    }
}

#[test]
fn a_failure_at_any_call_changes_no_number() {
    // The choice of numbers has calls too.
    let driver = with_doubles();
    let (key, size) = (key(Size::Rsa1024), Size::Rsa1024);
    for calls in 0.. {
        let device = driver.device();
        driver.set(Value::Fails, calls + 1);
        let mut operations = Operations::new(device, 1);
        let mut number = vec![9; key.size()];
        let mut batch = [Operation { key: &key, number: &mut number, passed: false }];
        let result = operations.run(size, &mut batch, LONG);
        let passed = batch[0].passed;
        driver.set(Value::Fails, 0);
        assert_eq!(passed, result.is_ok(), "after {calls} calls");
        if passed {
            assert!(calls > 20, "{calls} calls");
            assert_eq!(number, expected(&key, &vec![9; key.size()]));
            break;
        }
        assert_eq!(number, vec![9; key.size()], "after {calls} calls");
    }
}

#[test]
fn a_device_that_hangs_is_not_waited_for_again() {
    let driver = EmulatedDriver::new();
    let (key, size) = (key(Size::Rsa1024), Size::Rsa1024);
    let mut operations = Operations::new(driver.device(), 1);
    let mut jobs = [(Arc::clone(&key), vec![9; key.size()])];
    assert_eq!(run(&mut operations, size, &mut jobs), [true]);
    driver.set(Value::Hangs, 1);
    let limit = Duration::from_millis(50);
    let mut number = vec![9; key.size()];
    let mut batch = [Operation { key: &key, number: &mut number, passed: false }];
    assert_eq!(operations.run(size, &mut batch, limit), Err(Failure::Timeout(limit)));
    let begin = Instant::now();
    assert_eq!(operations.run(size, &mut batch, LONG), Err(Failure::Timeout(limit)));
    drop(operations);
    assert!(begin.elapsed() < Duration::from_millis(900), "a wait of a second");
}
