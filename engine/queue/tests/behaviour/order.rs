//! The contents and order of batches, and full queues.

use std::sync::Arc;
use std::thread;

use tollgate_queue::{Caller, Config, Error};

use super::toy::{Doubler, Doubling};
use super::{Toy, doubled, four, queue};

#[test]
fn a_batch_contains_all_waiting_requests() {
    let (queue, caller, log) = four();
    let tickets: Vec<_> = (1..=6).map(|x| caller.submit(Doubling::new(x)).unwrap()).collect();
    for (x, ticket) in (1..).zip(tickets) {
        assert_eq!(doubled(ticket.wait()), 2 * x);
    }
    assert_eq!(*log.lock().unwrap(), [vec![1, 2, 3, 4], vec![5, 6]]);
    let stats = queue.stats().unwrap();
    assert_eq!((stats.submitted, stats.done, stats.failed, stats.cancelled), (6, 6, 0, 0));
    assert_eq!((stats.fill[4], stats.fill[2], stats.batches()), (1, 1, 2));
    assert_eq!((stats.mean_fill(), stats.lingered), (3.0, 0));
    assert_eq!(queue.slots_in_use().unwrap(), 0);
}

#[test]
fn classes_do_not_mix() {
    let (_, caller, log) = four();
    let submit = |x, class| {
        let set = Doubling::with(move |job| (job.x, job.class) = (x, class));
        caller.submit(set).unwrap()
    };
    let tickets = [(1, 7), (2, 8), (3, 7), (4, 8)].map(|(x, class)| submit(x, class));
    tickets.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
    assert_eq!(*log.lock().unwrap(), [[1, 3], [2, 4]]);
}

#[test]
fn a_full_queue_refuses_and_keeps_its_requests() {
    let (queue, caller, _) = four();
    let mut held: Vec<_> = (0..8).map(|x| caller.submit(Doubling::new(x)).unwrap()).collect();
    let refusal = caller.submit(Doubling::new(9)).unwrap_err();
    assert_eq!(refusal, Error::CallerFull { slots_per_caller_max: 8 });
    let other = queue.caller().unwrap();
    let others: Vec<_> = (0..8).map(|x| other.submit(Doubling::new(x)).unwrap()).collect();
    let third = queue.caller().unwrap();
    assert_eq!(third.submit(Doubling::new(1)).unwrap_err(), Error::Full { capacity: 16 });
    assert_eq!(queue.stats().unwrap().turned_away, 2);
    let answer = held.remove(0).wait().unwrap();
    assert!(third.submit(Doubling::new(1)).is_err(), "a held answer occupies its slot");
    drop(answer);
    assert_eq!(third.run(Doubling::new(3)).unwrap().doubled, 6);
    drop((held, others));
    assert_eq!(queue.slots_in_use().unwrap(), 0);
}

#[test]
fn a_flood_of_one_caller_or_key_does_not_block_others() {
    for by_key in [false, true] {
        let unit = Doubler::new(1);
        let log = Arc::clone(&unit.log);
        let queue = queue(Config::with_capacity(64), [unit]);
        let (flood, modest) = (queue.caller().unwrap(), queue.caller().unwrap());
        let tickets: Vec<_> = (0..30).map(|x| flood.submit(Doubling::new(x)).unwrap()).collect();
        let modest = if by_key { &flood } else { &modest };
        let key = u64::from(by_key);
        let set = Doubling::with(|job| (job.x, job.key) = (99, key));
        assert_eq!(doubled(modest.submit(set).unwrap().wait()), 198);
        // the bound of `schedule.rs` with f = 2 and k = 0: at most one batch of the flood comes
        // first
        assert!(log.lock().unwrap().len() <= 2, "{:?}", log.lock().unwrap());
        drop(tickets);
    }
}

/// After a batch of several requests the next batch lingers; `arrivals.rs` tests how long.
#[test]
fn a_lingering_leader_takes_new_requests() {
    let config = Config { linger_us_max: 10_000, ..Config::with_capacity(64) };
    let unit = Doubler::new(8);
    let log = Arc::clone(&unit.log);
    let queue = queue(config, [unit]);
    let caller = queue.caller().unwrap();
    let submit = |x| caller.submit(Doubling::new(x)).unwrap();
    // Repeat until requests arrive fast enough; the machine may be busy.
    while queue.stats().unwrap().lingered == 0 {
        let pair = [submit(1), submit(2)];
        pair.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
        thread::scope(|scope| {
            scope.spawn(|| caller.run(Doubling::new(3)).unwrap());
            assert_eq!(caller.run(Doubling::new(4)).unwrap().doubled, 8);
        });
    }
    assert!(
        log.lock().unwrap().iter().any(|batch| batch.len() > 1),
        "a batch had several requests"
    );
}

#[test]
fn numbers_of_dropped_callers_are_reused() {
    let (queue, first, _) = four();
    let number = |caller: &Caller<_>| format!("{caller:?}");
    let second = queue.caller().unwrap();
    let (name, ticket) = (number(&second), second.submit(Doubling::new(1)).unwrap());
    drop(second);
    let third = queue.caller().unwrap();
    assert_ne!(number(&third), name, "the dropped caller still has a request");
    drop(ticket);
    assert_eq!(number(&queue.caller().unwrap()), name);
    assert_eq!(number(&first), number(&first.clone()));
}

#[test]
fn a_queue_needs_a_unit_and_valid_limits() {
    let none = Toy::start(Config::default(), []);
    assert_eq!(none.unwrap_err(), Error::NoUnit);
    for config in [
        Config::with_capacity(0),
        Config::with_capacity(usize::MAX),
        Config { linger_us_max: 1_000_000, ..Config::default() },
        Config { slots_per_caller_max: 0, ..Config::default() },
    ] {
        assert!(matches!(Toy::start(config, [Doubler::new(1).boxed()]), Err(Error::Config(_))));
    }
}
