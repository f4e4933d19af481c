//! Tests all handles, tickets and leaders with loom's locks. Loom explores the interleavings of the
//! threads up to a limited number of preemptions.
#![allow(dead_code, unreachable_pub, clippy::redundant_pub_crate, reason = "the same files again")]

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::task::Wake;

use loom::thread::{JoinHandle, spawn};

use self::queue::{Caller, Queue};
use self::ticket::{RunBatch, Ticket};
use crate::toy::{Doubler, Doubling, Misbehaviour};
use crate::{Config, Error};

#[path = "futex_portable.rs"]
mod futex;
#[path = "gather.rs"]
mod gather;
#[path = "lead.rs"]
mod lead;
#[path = "quarantine.rs"]
mod quarantine;
#[path = "queue.rs"]
mod queue;
#[path = "state.rs"]
mod state;
#[path = "thread_wakers.rs"]
mod thread_wakers;
#[path = "ticket.rs"]
mod ticket;
#[path = "unit_slot.rs"]
mod unit_slot;
#[path = "wake_next.rs"]
mod wake_next;

mod sync {
    use core::time::Duration;
    use std::time::Instant;

    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    pub(super) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(super) use loom::thread::yield_now;

    pub(super) use super::futex::Futex;

    pub(super) const FRUITLESS_YIELDS_MAX: usize = 1;

    /// Always returns the same time, because loom must be able to repeat an execution.
    pub(super) const fn time_since(_: Instant) -> Duration {
        Duration::ZERO
    }
}

/// Explores interleavings with three preemptions.
fn explore(test: impl Fn() + Sync + Send + 'static) {
    explore_preempting(3, test);
}

/// Explores interleavings with this many preemptions, or with two more if `TOLLGATE_TEST_LONG` is
/// set.
fn explore_preempting(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    let is_long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    model.preemption_bound = Some(if is_long { preemptions + 2 } else { preemptions });
    model.max_branches = 100_000;
    model.check(test);
}

fn queue(capacity: usize, units: impl IntoIterator<Item = Doubler>) -> Queue<Doubling> {
    let config = Config { slots_per_caller_max: capacity, ..Config::with_capacity(capacity) };
    Queue::start(config, units.into_iter().map(Doubler::boxed)).unwrap()
}

fn submit(caller: &Caller<Doubling>, x: u64) -> Ticket<Doubling> {
    caller.submit(Doubling::new(x)).unwrap()
}

/// Starts a thread that submits one request and waits for it.
fn waiting(queue: &Queue<Doubling>, x: u64) -> JoinHandle<()> {
    let caller = queue.caller().unwrap();
    spawn(move || assert_eq!(caller.run(Doubling::new(x)).unwrap().doubled, 2 * x))
}

/// Waits for the threads; afterwards the queue is empty.
fn join(queue: &Queue<Doubling>, others: impl IntoIterator<Item = JoinHandle<()>>) {
    others.into_iter().for_each(|other| other.join().unwrap());
    let stats = queue.stats().unwrap();
    assert_eq!(queue.slots_in_use().unwrap(), 0);
    assert!(stats.submitted <= stats.done + stats.failed + stats.cancelled);
}

#[test]
fn two_threads_and_one_unit() {
    for width in [1, 2] {
        explore(move || {
            let queue = queue(2, [Doubler::new(width)]);
            let other = waiting(&queue, 1);
            let caller = queue.caller().unwrap();
            for x in [2, 3] {
                assert_eq!(caller.run(Doubling::new(x)).unwrap().doubled, 2 * x);
            }
            join(&queue, [other]);
        });
    }
}

#[test]
fn three_threads_and_units_of_width_one_and_two() {
    for units in [1, 2] {
        explore_preempting(2, move || {
            let queue = queue(3, (1..=units).map(Doubler::new));
            let others = [1, 2].map(|x| waiting(&queue, x));
            assert_eq!(queue.caller().unwrap().run(Doubling::new(3)).unwrap().doubled, 6);
            join(&queue, others);
        });
    }
}

#[test]
fn a_ticket_is_dropped_while_another_thread_leads() {
    explore(|| {
        let queue = queue(3, [Doubler::new(2)]);
        let caller = queue.caller().unwrap();
        let dropped = submit(&caller, 1);
        let others = [2, 3].map(|x| waiting(&queue, x));
        drop(dropped);
        join(&queue, others);
    });
}

#[test]
fn a_ticket_is_polled_once_and_dropped() {
    explore(|| {
        let queue = queue(3, [Doubler::new(1)]);
        let other = waiting(&queue, 2);
        let mut polled = submit(&queue.caller().unwrap(), 1);
        let polled_once = pin!(&mut polled).poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(end) = polled_once {
            assert_eq!(end.unwrap().doubled, 2);
        }
        drop(polled);
        join(&queue, [other]);
    });
}

#[test]
fn two_polling_loops_with_two_tickets_each() {
    explore_preempting(2, || {
        let queue = queue(4, [Doubler::new(2)]);
        let first_caller = queue.caller().unwrap();
        let run_loop = |caller: &Caller<Doubling>, first: u64| {
            let tickets = [first, first + 1].map(|x| (x, submit(caller, x)));
            for (x, mut ticket) in tickets {
                let end = [RunBatch::IfFull, RunBatch::IfDue, RunBatch::Always]
                    .into_iter()
                    .find_map(|run_batch| ticket.try_take_or_run(run_batch));
                // `None`: the other loop runs the request.
                let answer = end.unwrap_or_else(|| ticket.wait()).unwrap();
                assert_eq!(answer.doubled, 2 * x);
            }
        };
        let caller = queue.caller().unwrap();
        let other = spawn(move || run_loop(&caller, 1));
        run_loop(&first_caller, 3);
        join(&queue, [other]);
    });
}

#[test]
fn a_faulty_unit_in_front_of_a_good_one() {
    explore(|| {
        let bad = Doubler { is_broken: true, ..Doubler::new(1) };
        let queue = queue(2, [bad, Doubler::new(1)]);
        let other = waiting(&queue, 1);
        assert_eq!(queue.caller().unwrap().run(Doubling::new(2)).unwrap().doubled, 4);
        other.join().unwrap();
        assert_eq!(queue.stats().unwrap().quarantines, 1);
        join(&queue, []);
    });
}

#[test]
fn a_job_that_fails_on_every_unit() {
    explore(|| {
        let queue = queue(2, [1, 2].map(|_| Doubler::new(1)));
        let caller = queue.caller().unwrap();
        let other = spawn(move || {
            let set = Doubling::with(|job| job.misbehaviour = Misbehaviour::FaultsEverywhere);
            caller.run(set).map(|_| ()).unwrap_err()
        });
        let end = queue.caller().unwrap().run(Doubling::new(2)).map(|answer| answer.doubled);
        // Between the two faults, the good request must find a unit that is not quarantined.
        assert!(matches!(end, Ok(4)), "{end:?}");
        assert_eq!(other.join().unwrap(), Error::Fault);
        join(&queue, []);
    });
}

fn runs_or_is_shut_down(caller: &Caller<Doubling>, x: u64) {
    match caller.run(Doubling::new(x)) {
        Ok(answer) => assert_eq!(answer.doubled, 2 * x),
        Err(error) => assert_eq!(error, Error::ShutDown),
    }
}

#[test]
fn a_shutdown_with_waiting_requests() {
    explore(|| {
        let queue = queue(2, [Doubler::new(1)]);
        let caller = queue.caller().unwrap();
        let other = spawn(move || runs_or_is_shut_down(&caller, 1));
        let ended = queue.shut_down(Duration::from_secs(3600)).unwrap();
        assert_eq!((ended.cancelled, ended.still_running), (0, false));
        assert!(queue.caller().unwrap().run(Doubling::new(2)).is_err());
        join(&queue, [other]);
    });
}

#[test]
fn a_shutdown_that_cancels() {
    explore(|| {
        let queue = queue(3, [Doubler::new(1)]);
        let others = [1, 2].map(|x| {
            let caller = queue.caller().unwrap();
            spawn(move || runs_or_is_shut_down(&caller, x))
        });
        queue.shut_down(Duration::ZERO).unwrap();
        join(&queue, others);
    });
}

/// A waker on loom's locks.
#[derive(Default)]
struct LoomWaker(loom::sync::Mutex<bool>, loom::sync::Condvar);

impl Wake for LoomWaker {
    fn wake(self: std::sync::Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let loom_waker = std::sync::Arc::new(LoomWaker::default());
    let waker = Waker::from(std::sync::Arc::clone(&loom_waker));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let mut is_woken = loom_waker.0.lock().unwrap();
        while !core::mem::take(&mut *is_woken) {
            is_woken = loom_waker.1.wait(is_woken).unwrap();
        }
    }
}

#[test]
fn futures_of_two_threads() {
    explore(|| {
        let queue = queue(2, [Doubler::new(1)]);
        let caller = queue.caller().unwrap();
        let other = spawn(move || assert_eq!(block_on(submit(&caller, 1)).unwrap().doubled, 2));
        let ticket = submit(&queue.caller().unwrap(), 2);
        assert_eq!(block_on(ticket).unwrap().doubled, 4);
        join(&queue, [other]);
    });
}

#[test]
fn a_future_beside_a_waiting_thread() {
    explore(|| {
        let queue = queue(3, [Doubler::new(1)]);
        let other = waiting(&queue, 1);
        let mut lost = submit(&queue.caller().unwrap(), 2);
        // A future that is polled once and then neglected must not delay the other futures.
        let loom_waker = Waker::from(std::sync::Arc::new(LoomWaker::default()));
        let poll = pin!(&mut lost).poll(&mut Context::from_waker(&loom_waker));
        let ticket = submit(&queue.caller().unwrap(), 3);
        assert_eq!(ticket.wait().unwrap().doubled, 6);
        other.join().unwrap();
        drop((poll, lost));
        join(&queue, []);
    });
}
