//! Tickets that are dropped or awaited.

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Wake;
use std::thread;

use tollgate_queue::{Config, Ticket};

use super::toy::{Doubler, Doubling};
use super::{busy, doubled, four, gated, queue};

#[test]
fn a_dropped_ticket_cancels_its_request() {
    // dropped before the request runs
    let (queue, caller, log) = four();
    drop(caller.submit(Doubling::new(1)).unwrap());
    assert_eq!(caller.run(Doubling::new(2)).unwrap().doubled, 4);
    assert_eq!(*log.lock().unwrap(), [[2]], "it was never run");
    assert_eq!(queue.stats().unwrap().cancelled, 1);

    // dropped after the request has run
    let [first, second] = [1, 2].map(|x| caller.submit(Doubling::new(x)).unwrap());
    assert_eq!(doubled(second.wait()), 4);
    drop(first);
    assert_eq!(queue.slots_in_use().unwrap(), 0);

    // dropped while the request runs
    let (unit, has_entered, go_on) = gated(4);
    let queue = self::queue(Config::with_capacity(4), [unit]);
    let caller = queue.caller().unwrap();
    let [first, second] = [1, 2].map(|x| caller.submit(Doubling::new(x)).unwrap());
    let leader = thread::spawn(|| doubled(second.wait()));
    has_entered.recv().unwrap();
    drop(first);
    go_on.send(()).unwrap();
    assert_eq!(leader.join().unwrap(), 4);
    assert_eq!(queue.slots_in_use().unwrap(), 0);
    let stats = queue.stats().unwrap();
    assert_eq!((stats.submitted, stats.done, stats.cancelled), (2, 2, 1));
}

/// Counts how often it was woken.
struct CountingWaker(AtomicUsize, thread::Thread);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
        self.1.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let counter = Arc::new(CountingWaker(AtomicUsize::new(0), thread::current()));
    let waker = Waker::from(Arc::clone(&counter));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn tickets_are_futures() {
    let queue = queue(Config::with_capacity(64), [Doubler::new(4)]);
    let threads: Vec<_> = (0..4)
        .map(|t| {
            let caller = queue.caller().unwrap();
            thread::spawn(move || {
                for x in 1..200 {
                    let ticket = caller.submit(Doubling::new(1000 * t + x)).unwrap();
                    assert_eq!(doubled(block_on(ticket)), 2 * (1000 * t + x));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(queue.slots_in_use().unwrap(), 0);
}

#[test]
fn a_waiting_future_is_woken_when_the_unit_becomes_idle() {
    let (_queue, caller, go_on, leader) = busy();
    let mut futures = [2, 3].map(|x| caller.submit(Doubling::new(x)).unwrap());
    let counters = [0, 1].map(|_| Arc::new(CountingWaker(AtomicUsize::new(0), thread::current())));
    for (future, counter) in futures.iter_mut().zip(&counters) {
        let waker = Waker::from(Arc::clone(counter));
        assert!(pin!(future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    go_on.send(()).unwrap();
    assert_eq!(leader.join().unwrap(), 2);
    assert_eq!(counters.map(|counter| counter.0.load(SeqCst)), [1, 1], "both are woken");
    let [dropped, kept] = futures;
    drop(dropped);
    assert_eq!(doubled(block_on(kept)), 6);
}

/// A waker may own tickets of the same queue, so the queue drops it outside the lock.
#[test]
fn a_waker_may_hold_a_ticket() {
    struct Holds {
        _ticket: Mutex<Ticket<Doubling>>,
    }
    impl Wake for Holds {
        fn wake(self: Arc<Self>) {}
    }
    let (finished, done) = mpsc::channel();
    thread::spawn(move || {
        let (queue, caller, go_on, leader) = busy();
        let mut poll = |how: usize| {
            let [held, mut polled] = [2, 3].map(|x| caller.submit(Doubling::new(x)).unwrap());
            let waker = Waker::from(Arc::new(Holds { _ticket: Mutex::new(held) }));
            assert!(pin!(&mut polled).poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker); // the queue has the last clone
            match how {
                0 => drop(pin!(&mut polled).poll(&mut Context::from_waker(Waker::noop()))),
                _ => drop(polled),
            }
        };
        (0..2).for_each(&mut poll);
        go_on.send(()).unwrap();
        assert_eq!(leader.join().unwrap(), 2);
        assert_eq!(queue.slots_in_use().unwrap(), 0);
        finished.send(()).unwrap();
    });
    assert_eq!(done.recv_timeout(Duration::from_secs(20)), Ok(()), "deadlock");
}
