//! Each callback is called exactly once, even if others block or panic.

use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use tollgate_queue::{Config, Error, Event};

use super::toy::{Doubler, Doubling, Refused};
use super::{gated, listening, queue};

#[test]
fn callbacks_are_called_with_and_without_workers() {
    for workers in [0, 2] {
        let (config, events) = listening(Config { workers, ..Config::with_capacity(32) });
        let queue = queue(config, [Doubler::new(4)]);
        let caller = queue.caller().unwrap();
        let (called, calls) = mpsc::channel();
        for x in 1..=10 {
            let called = called.clone();
            let callback = move |end: Result<&Doubling, _>| {
                assert!(x != 5, "a callback that panics");
                called.send(end.unwrap().doubled).unwrap();
            };
            caller.submit_with(Doubling::of(x), callback).unwrap();
        }
        drop(called);
        let mut found: Vec<_> = calls.iter().collect();
        found.sort_unstable();
        assert_eq!(found, [2, 4, 6, 8, 12, 14, 16, 18, 20]);
        let ended = queue.shut_down(Duration::from_secs(60)).unwrap();
        assert_eq!((ended.cancelled, ended.still_running), (0, false));
        assert_eq!(*events.lock().unwrap(), [Event::CallbackPanicked]);
        assert_eq!(queue.stats().unwrap().callback_panics, 1);
    }
}

#[test]
fn callbacks_run_after_all_handles_are_dropped() {
    let queue = queue(Config { workers: 1, ..Config::with_capacity(8) }, [Doubler::new(4)]);
    let caller = queue.caller().unwrap();
    let (called, calls) = mpsc::channel();
    for x in [1, 2, 3] {
        let called = called.clone();
        caller.submit_with(Doubling::of(x), move |end| called.send(end.is_ok()).unwrap()).unwrap();
    }
    drop((queue, caller, called));
    assert_eq!(calls.iter().collect::<Vec<_>>(), [true; 3]);
}

/// A callback waits for another callback of its batch: two workers call them concurrently, even if
/// a caller's thread leads the batch.
#[test]
fn callbacks_of_a_batch_run_on_all_workers() {
    let (unit, has_entered, go_on) = gated(4);
    let queue = queue(Config { workers: 2, ..Config::with_capacity(8) }, [unit]);
    let caller = queue.caller().unwrap();
    let [first, second] = [1, 2].map(|x| {
        let caller = caller.clone();
        let enter = move || caller.run(Doubling::of(x)).map(|answer| answer.doubled);
        if x == 1 {
            let first = thread::spawn(enter);
            has_entered.recv().unwrap();
            return first;
        }
        thread::spawn(enter)
    });
    while queue.slots_in_use().unwrap() < 2 {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(20)); // the second sleeps
    let (called, calls) = mpsc::channel();
    let (report, reported) = mpsc::channel();
    let waits = move |_: Result<&Doubling, Error<Refused>>| {
        report.send(calls.recv_timeout(Duration::from_secs(5))).unwrap();
    };
    caller.submit_with(Doubling::of(3), waits).unwrap();
    caller.submit_with(Doubling::of(4), move |_| called.send(()).unwrap()).unwrap();
    thread::sleep(Duration::from_millis(20)); // both workers sleep
    go_on.send(()).unwrap();
    assert_eq!(reported.recv().unwrap(), Ok(()), "the other worker slept");
    assert_eq!([first, second].map(|thread| thread.join().unwrap()), [Ok(2), Ok(4)]);
}
