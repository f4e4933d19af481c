//! The GPU through a library that has the functions of NVIDIA's driver:
//! `device/emulated_driver.cpp`.

use core::ffi::{c_int, c_uint};
use std::path::Path;
use std::sync::Arc;

use tollgate_cuda::{Failure, Gpu, OpenError, Operation, Operations, Size};

use crate::library::{EmulatedDriver, LONG, Value};
use crate::operations::{expected, key, run};

fn assert_is_advice(error: &OpenError) {
    let text = error.to_string();
    assert!(!text.contains('\n') && text.contains(": "), "{text}");
}

#[test]
fn a_missing_driver_or_gpu_is_one_line_that_says_what_to_do() {
    let none = Gpu::open_with(Path::new("/nonexistent/libcuda.so.1")).unwrap_err();
    assert!(matches!(none, OpenError::NoDriver(_)), "{none}");
    assert_is_advice(&none);
    // A library without the functions.
    let other = Gpu::open_with(Path::new("libc.so.6")).unwrap_err();
    assert!(other.to_string().contains("cuCtxSetCurrent"), "{other}");
    let driver = EmulatedDriver::new();
    for (value, is, expected) in [
        (Value::Devices, 0, "finds no GPU"),
        (Value::Version, 12_040, "supports CUDA 12.4 only"),
        (Value::Major, 7, "Emulated H200 is too old"),
    ] {
        driver.set(value, is);
        let error = driver.open().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_is_advice(&error);
        driver.set(Value::Devices, 1);
        driver.set(Value::Version, 13_000);
    }
}

#[test]
fn operations_are_right_through_the_driver_on_any_thread() {
    for capability in [(9, 0), (8, 6)] {
        let driver = EmulatedDriver::new();
        driver.set(Value::Major, capability.0);
        driver.set(Value::Minor, capability.1);
        let mut operations = Operations::new(driver.device(), 5);
        for size in Size::ALL {
            let key = key(size);
            let mut jobs = vec![(Arc::clone(&key), vec![9; key.size()]); 2];
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| run(&mut operations, size, &mut jobs));
                assert_eq!(thread.join().unwrap(), [true; 2]);
            });
            assert_eq!(jobs[1].1, expected(&key, &vec![9; key.size()]), "{capability:?}");
        }
        assert_eq!(operations.device_name(), "Emulated H200");
    }
}

/// The memory for copies is made for full batches.
#[test]
fn batches_of_any_size_fit_the_pinned_memory() {
    let driver = EmulatedDriver::new();
    let mut operations = Operations::new(driver.device(), 1000);
    let (key, size) = (key(Size::Rsa1024), Size::Rsa1024);
    // One multiprocessor has 4 quarters of 2 warps with 4 groups each.
    assert_eq!(operations.width(size), 32);
    for count in [1, 32, 7] {
        let mut jobs = vec![(Arc::clone(&key), vec![9; key.size()]); count];
        assert_eq!(run(&mut operations, size, &mut jobs), vec![true; count]);
        assert!(jobs.iter().all(|(_, result)| *result == jobs[0].1));
    }
}

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: c_uint) -> c_uint;
    fn _exit(status: c_int) -> !;
}

/// Returns whether `run` is true in a child.
fn in_child(run: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child touches this thread's data only, and ends without unwinding.
    let pid = unsafe { fork() };
    if pid == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { alarm(60) };
        let status = if run() { 42 } else { 1 };
        // SAFETY: ends the child.
        unsafe { _exit(status) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a buffer for its status.
    assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
    status >> 8 == 42
}

/// The driver does not support forks: a child calls none of its functions, not even to clean up.
#[test]
fn a_forked_child_does_not_use_the_driver() {
    let driver = EmulatedDriver::new();
    let (key, size) = (key(Size::Rsa1024), Size::Rsa1024);
    let mut operations = Operations::new(driver.device(), 1);
    let mut jobs = [(Arc::clone(&key), vec![9; key.size()])];
    assert_eq!(run(&mut operations, size, &mut jobs), [true]);
    let has_key = || driver.memory(0).iter().any(|&byte| byte != 0);
    assert!(in_child(|| {
        let mut batch = [Operation { key: &key, number: &mut jobs[0].1, passed: false }];
        let is_refused = operations.run(size, &mut batch, LONG) == Err(Failure::Forked);
        drop(operations);
        is_refused && has_key()
    }));
    assert!(!has_key(), "the parent has cleaned up");
}
