//! What is promised of an engine, thread by thread.
#![allow(clippy::unwrap_used, reason = "tests")]

mod toy;

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Wake;
use std::thread;
use std::time::Instant;

use tollgate_engine::{
    Answer, Caller, Cause, Class, Config, Engine, Error, Event, Request, SelfTestFailed, Ticket,
    Unit,
};
use toy::{Doubler, Doubling, Log, Mischief, Refused};

type Toy = Engine<Doubling>;

fn engine(config: Config, units: impl IntoIterator<Item = Doubler>) -> Toy {
    Engine::start(config, units.into_iter().map(Doubler::boxed)).unwrap()
}

/// One unit of four, and what it did.
fn four() -> (Toy, Caller<Doubling>, Log) {
    let unit = Doubler::new(4);
    let log = Arc::clone(&unit.log);
    let engine = engine(Config::with_capacity(16), [unit]);
    let caller = engine.caller().unwrap();
    (engine, caller, log)
}

fn doubled(answer: Result<Answer<Doubling>, Error<Refused>>) -> u64 {
    answer.unwrap().doubled
}

/// A config whose events are kept.
fn listening(config: Config) -> (Config, Arc<Mutex<Vec<Event>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let on_event = move |event: &Event| heard.lock().unwrap().push(event.clone());
    (Config { on_event: Some(Box::new(on_event)), ..config }, events)
}

/// A unit that waits in its first batch until it is told to go on.
fn gated(width: usize) -> (Doubler, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (entered, has_entered) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let mut gate = Some((entered, may_go_on));
    let before_batch = Box::new(move || {
        if let Some((entered, may_go_on)) = gate.take() {
            entered.send(()).unwrap();
            may_go_on.recv().unwrap();
        }
    });
    (Doubler { before_batch, ..Doubler::new(width) }, has_entered, go_on)
}

#[test]
fn who_waits_takes_along_what_waits() {
    let (engine, caller, log) = four();
    let tickets: Vec<_> = (1..=6).map(|x| caller.submit(Doubling::of(x)).unwrap()).collect();
    for (x, ticket) in (1..).zip(tickets) {
        assert_eq!(doubled(ticket.wait()), 2 * x);
    }
    assert_eq!(*log.lock().unwrap(), [vec![1, 2, 3, 4], vec![5, 6]]);
    let stats = engine.stats().unwrap();
    assert_eq!((stats.submitted, stats.done, stats.failed, stats.cancelled), (6, 6, 0, 0));
    assert_eq!((stats.fill[4], stats.fill[2], stats.batches()), (1, 1, 2));
    assert_eq!((stats.mean_fill(), stats.response_ns.count()), (3.0, 6));
    assert_eq!(engine.places_in_use().unwrap(), 0);
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
fn a_full_queue_says_so_and_others_keep_their_places() {
    let (engine, caller, _) = four();
    let mut held: Vec<_> = (0..8).map(|x| caller.submit(Doubling::of(x)).unwrap()).collect();
    let refusal = caller.submit(Doubling::of(9)).unwrap_err();
    assert_eq!(refusal, Error::CallerFull { places_per_caller_max: 8 });
    let other = engine.caller().unwrap();
    let others: Vec<_> = (0..8).map(|x| other.submit(Doubling::of(x)).unwrap()).collect();
    let third = engine.caller().unwrap();
    assert_eq!(third.submit(Doubling::of(1)).unwrap_err(), Error::Full { capacity: 16 });
    assert_eq!(engine.stats().unwrap().turned_away, 2);
    let answer = held.remove(0).wait().unwrap();
    assert!(third.submit(Doubling::of(1)).is_err(), "an answer that is held has its place");
    drop(answer);
    assert_eq!(third.run(Doubling::of(3)).unwrap().doubled, 6);
    drop((held, others));
    assert_eq!(engine.places_in_use().unwrap(), 0);
}

#[test]
fn a_flood_of_one_caller_or_key_lets_others_through() {
    for by_key in [false, true] {
        let unit = Doubler::new(1);
        let log = Arc::clone(&unit.log);
        let engine = engine(Config::with_capacity(64), [unit]);
        let (flood, modest) = (engine.caller().unwrap(), engine.caller().unwrap());
        let tickets: Vec<_> = (0..30).map(|x| flood.submit(Doubling::of(x)).unwrap()).collect();
        let modest = if by_key { &flood } else { &modest };
        let key = u64::from(by_key);
        let set = Doubling::with(|job| (job.x, job.key) = (99, key));
        assert_eq!(doubled(modest.submit(set).unwrap().wait()), 198);
        // f = 2, k = 0: one batch of the flood at most
        assert!(log.lock().unwrap().len() <= 2, "{:?}", log.lock().unwrap());
        drop(tickets);
    }
}

#[test]
fn a_dropped_ticket_leaves_no_trace() {
    // before
    let (engine, caller, log) = four();
    drop(caller.submit(Doubling::of(1)).unwrap());
    assert_eq!(caller.run(Doubling::of(2)).unwrap().doubled, 4);
    assert_eq!(*log.lock().unwrap(), [[2]], "it was never done");
    assert_eq!(engine.stats().unwrap().cancelled, 1);

    // after
    let [first, second] = [1, 2].map(|x| caller.submit(Doubling::of(x)).unwrap());
    assert_eq!(doubled(second.wait()), 4);
    drop(first);
    assert_eq!(engine.places_in_use().unwrap(), 0);

    // during
    let (unit, has_entered, go_on) = gated(4);
    let engine = self::engine(Config::with_capacity(4), [unit]);
    let caller = engine.caller().unwrap();
    let [first, second] = [1, 2].map(|x| caller.submit(Doubling::of(x)).unwrap());
    let leader = thread::spawn(|| doubled(second.wait()));
    has_entered.recv().unwrap();
    drop(first);
    go_on.send(()).unwrap();
    assert_eq!(leader.join().unwrap(), 4);
    assert_eq!(engine.places_in_use().unwrap(), 0);
    let stats = engine.stats().unwrap();
    assert_eq!((stats.submitted, stats.done, stats.cancelled), (2, 2, 1));
}

#[test]
fn a_wait_ends_at_its_deadline_and_the_ticket_lives_on() {
    let (unit, has_entered, go_on) = gated(1);
    let engine = engine(Config::with_capacity(4), [unit]);
    let caller = engine.caller().unwrap();
    let first = caller.submit(Doubling::of(1)).unwrap();
    let leader = thread::spawn(|| doubled(first.wait()));
    has_entered.recv().unwrap();
    let mut second = caller.submit(Doubling::of(2)).unwrap();
    assert!(second.wait_until(Instant::now() + Duration::from_millis(5)).is_none());
    assert!(second.try_take().is_none());
    go_on.send(()).unwrap();
    let end = second.wait_until(Instant::now() + Duration::from_secs(60));
    assert_eq!(doubled(end.unwrap()), 4);
    assert_eq!(leader.join().unwrap(), 2);
}

#[test]
fn a_refused_job_is_its_own_affair() {
    let (engine, caller, _) = four();
    let refused = Doubling::with(|job| job.mischief = Mischief::IsRefused);
    let (bad, good) = (caller.submit(refused).unwrap(), caller.submit(Doubling::of(2)).unwrap());
    assert_eq!(bad.wait().unwrap_err(), Error::Rejected(Refused));
    assert_eq!(doubled(good.wait()), 4);
    assert_eq!(caller.submit(|_| Err(Refused)).unwrap_err(), Error::Rejected(Refused));
    assert_eq!(engine.stats().unwrap().quarantines, 0);
    assert_eq!(engine.places_in_use().unwrap(), 0);
}

#[test]
fn a_faulty_unit_is_taken_out_and_its_work_is_done_elsewhere() {
    let (config, events) = listening(Config::with_capacity(8));
    let bad = Doubler { is_broken: true, name: "bad", ..Doubler::new(4) };
    let engine = engine(config, [bad, Doubler::new(4)]);
    let caller = engine.caller().unwrap();
    let tickets = [1, 2, 3].map(|x| caller.submit(Doubling::of(x)).unwrap());
    assert_eq!(tickets.map(|ticket| doubled(ticket.wait())), [2, 4, 6]);
    let stats = engine.stats().unwrap();
    assert_eq!((stats.faults, stats.retried, stats.quarantines, stats.done), (3, 3, 1, 3));
    let bad = Event::Quarantined { unit: "bad".into(), cause: Cause::Check };
    assert_eq!(*events.lock().unwrap(), [bad]);
    assert_eq!(engine.readmit().unwrap(), 1, "it passes its self test");
}

#[test]
fn the_last_unit_that_fails_leaves_errors_that_say_so() {
    let (config, events) = listening(Config::with_capacity(8));
    let broken = Doubler { is_broken: true, self_tests_passed: 1, ..Doubler::new(1) };
    let engine = engine(config, [broken]);
    let caller = engine.caller().unwrap();
    let [first, second] = [1, 2].map(|x| caller.submit(Doubling::of(x)).unwrap());
    assert_eq!(first.wait().unwrap_err(), Error::Fault);
    assert_eq!(second.wait().unwrap_err(), Error::NoUnit);
    assert_eq!(caller.submit(Doubling::of(3)).unwrap_err(), Error::NoUnit);
    assert_eq!(events.lock().unwrap().last(), Some(&Event::NoUnitLeft));
}

#[test]
fn a_job_that_fails_on_two_good_units_is_to_blame() {
    let (config, events) = listening(Config::with_capacity(8));
    let engine = engine(config, [1, 2].map(|_| Doubler::new(2)));
    let caller = engine.caller().unwrap();
    let bad = Doubling::with(|job| job.mischief = Mischief::FaultsEverywhere);
    let (bad, good) = (caller.submit(bad).unwrap(), caller.submit(Doubling::of(2)).unwrap());
    assert_eq!(bad.wait().unwrap_err(), Error::Fault);
    assert_eq!(doubled(good.wait()), 4);
    let names: Vec<_> = events.lock().unwrap().iter().map(core::mem::discriminant).collect();
    let unit = || "doubler".to_owned();
    let expected = [
        Event::Quarantined { unit: unit(), cause: Cause::Check },
        Event::Readmitted { unit: unit() },
    ];
    assert_eq!(names, expected.each_ref().map(core::mem::discriminant));
    assert_eq!(caller.run(Doubling::of(5)).unwrap().doubled, 10);
}

#[test]
fn a_unit_that_panics_or_fails_its_self_test_is_out() {
    let (config, events) = listening(Config::with_capacity(8));
    let bad = Doubler { self_tests_passed: 0, name: "bad", ..Doubler::new(1) };
    let engine = engine(config, [bad, Doubler::new(2), Doubler::new(2)]);
    let caller = engine.caller().unwrap();
    let panics = Doubling::with(|job| job.mischief = Mischief::Panics);
    let (bad, with_it) = (caller.submit(panics).unwrap(), caller.submit(Doubling::of(2)).unwrap());
    assert_eq!(bad.wait().unwrap_err(), Error::UnitPanicked);
    assert_eq!(with_it.wait().unwrap_err(), Error::UnitPanicked);
    assert_eq!(caller.run(Doubling::of(3)).unwrap().doubled, 6);
    assert_eq!(engine.readmit().unwrap(), 0, "neither comes back");
    let causes = events.lock().unwrap().clone();
    let cause = |event: &Event| match event {
        Event::Quarantined { cause, .. } => *cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(causes.iter().map(cause).collect::<Vec<_>>(), [Cause::SelfTest, Cause::Panic]);
    assert_eq!(engine.stats().unwrap().quarantines, 2);
}

#[test]
fn no_unit_or_no_place_makes_no_engine() {
    let none = Toy::start(Config::default(), []);
    assert_eq!(none.unwrap_err(), Error::NoUnit);
    let start = |config| Toy::start(config, [Doubler::new(1).boxed()]).map(|_| ());
    assert!(matches!(start(Config::with_capacity(0)), Err(Error::Config(_))));
    let config = Config { linger_us_max: 1_000_000, ..Config::default() };
    assert!(matches!(start(config), Err(Error::Config(_))));
}

#[test]
fn callbacks_are_called_with_and_without_workers() {
    for workers in [0, 2] {
        let (config, events) = listening(Config { workers, ..Config::with_capacity(32) });
        let engine = engine(config, [Doubler::new(4)]);
        let caller = engine.caller().unwrap();
        let (tell, told) = mpsc::channel();
        for x in 1..=10 {
            let tell = tell.clone();
            let callback = move |end: Result<&Doubling, _>| {
                assert!(x != 5, "a callback that panics");
                tell.send(end.unwrap().doubled).unwrap();
            };
            caller.submit_with(Doubling::of(x), callback).unwrap();
        }
        drop(tell);
        let mut found: Vec<_> = told.iter().collect();
        found.sort_unstable();
        assert_eq!(found, [2, 4, 6, 8, 12, 14, 16, 18, 20]);
        let ended = engine.shut_down(Duration::from_secs(60)).unwrap();
        assert_eq!((ended.cancelled, ended.still_running), (0, false));
        assert_eq!(*events.lock().unwrap(), [Event::CallbackPanicked]);
        assert_eq!(engine.stats().unwrap().callback_panics, 1);
    }
}

#[test]
fn callbacks_come_though_all_handles_are_gone() {
    let engine = engine(Config { workers: 1, ..Config::with_capacity(8) }, [Doubler::new(4)]);
    let caller = engine.caller().unwrap();
    let (tell, told) = mpsc::channel();
    for x in [1, 2, 3] {
        let tell = tell.clone();
        caller.submit_with(Doubling::of(x), move |end| tell.send(end.is_ok()).unwrap()).unwrap();
    }
    drop((engine, caller, tell));
    assert_eq!(told.iter().collect::<Vec<_>>(), [true; 3]);
}

#[test]
fn a_shutdown_does_what_is_in_line_and_takes_nothing_new() {
    let (engine, caller, _) = four();
    let tickets = [1, 2].map(|x| caller.submit(Doubling::of(x)).unwrap());
    let ended = engine.shut_down(Duration::from_secs(60)).unwrap();
    assert_eq!((ended.cancelled, ended.still_running), (0, false));
    assert_eq!(caller.submit(Doubling::of(3)).unwrap_err(), Error::ShutDown);
    assert_eq!(tickets.map(|ticket| doubled(ticket.wait())), [2, 4]);
}

#[test]
fn a_shutdown_that_lasts_too_long_ends_what_is_in_line() {
    let (unit, has_entered, go_on) = gated(1);
    let engine = engine(Config::with_capacity(8), [unit]);
    let caller = engine.caller().unwrap();
    let [first, second] = [1, 2].map(|x| caller.submit(Doubling::of(x)).unwrap());
    let leader = thread::spawn(|| doubled(first.wait()));
    has_entered.recv().unwrap();
    let sleeper = thread::spawn(|| second.wait().unwrap_err());
    let ended = engine.shut_down(Duration::from_millis(20)).unwrap();
    assert_eq!((ended.cancelled, ended.still_running), (1, true));
    assert_eq!(sleeper.join().unwrap(), Error::ShutDown);
    go_on.send(()).unwrap();
    assert_eq!(leader.join().unwrap(), 2);
}

/// Counts how often it was woken.
struct Bell(AtomicUsize, thread::Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
        self.1.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let bell = Arc::new(Bell(AtomicUsize::new(0), thread::current()));
    let waker = Waker::from(Arc::clone(&bell));
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
    for workers in [0, 1] {
        let config = Config { workers, ..Config::with_capacity(64) };
        let engine = engine(config, [Doubler::new(4)]);
        let threads: Vec<_> = (0..4)
            .map(|t| {
                let caller = engine.caller().unwrap();
                thread::spawn(move || {
                    for x in 1..200 {
                        let ticket = caller.submit(Doubling::of(1000 * t + x)).unwrap();
                        assert_eq!(doubled(block_on(ticket)), 2 * (1000 * t + x));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(engine.places_in_use().unwrap(), 0);
    }
}

#[test]
fn a_future_in_line_is_woken_when_the_unit_falls_idle() {
    let (unit, has_entered, go_on) = gated(1);
    let engine = engine(Config::with_capacity(8), [unit]);
    let caller = engine.caller().unwrap();
    let first = caller.submit(Doubling::of(1)).unwrap();
    let leader = thread::spawn(|| doubled(first.wait()));
    has_entered.recv().unwrap();
    let mut futures = [2, 3].map(|x| caller.submit(Doubling::of(x)).unwrap());
    let bells = [0, 1].map(|_| Arc::new(Bell(AtomicUsize::new(0), thread::current())));
    for (future, bell) in futures.iter_mut().zip(&bells) {
        let waker = Waker::from(Arc::clone(bell));
        assert!(pin!(future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    go_on.send(()).unwrap();
    assert_eq!(leader.join().unwrap(), 2);
    assert_eq!(bells.map(|bell| bell.0.load(SeqCst)), [1, 1], "one alone may be lost");
    let [dropped, kept] = futures;
    drop(dropped);
    assert_eq!(doubled(block_on(kept)), 6);
}

#[test]
fn many_at_once_beyond_the_capacity() {
    let (engine, caller, _) = four();
    let mut found = vec![None; 1000];
    let fill = |i: usize, job: &mut Doubling| {
        job.x = i as u64;
        if i % 10 == 3 { Err(Refused) } else { Ok(()) }
    };
    caller.run_many(1000, fill, |i, end| found[i] = Some(end.map(|job| job.doubled))).unwrap();
    for (i, end) in (0..).zip(found) {
        let expected = if i % 10 == 3 { Err(Error::Rejected(Refused)) } else { Ok(2 * i) };
        assert_eq!(end.unwrap(), expected);
    }
    assert_eq!(engine.places_in_use().unwrap(), 0);
}

/// After a batch with company the next one waits for some; how long is tested where it is said.
#[test]
fn a_leader_that_may_linger_takes_who_comes() {
    let config = Config { linger_us_max: 10_000, ..Config::with_capacity(64) };
    let unit = Doubler::new(8);
    let log = Arc::clone(&unit.log);
    let engine = engine(config, [unit]);
    let caller = engine.caller().unwrap();
    let submit = |x| caller.submit(Doubling::of(x)).unwrap();
    // Until they come as fast as they are expected to, on a machine that has more to do.
    while engine.stats().unwrap().linger_ns.count() == 0 {
        let pair = [submit(1), submit(2)];
        pair.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
        thread::scope(|scope| {
            scope.spawn(|| caller.run(Doubling::of(3)).unwrap());
            assert_eq!(caller.run(Doubling::of(4)).unwrap().doubled, 8);
        });
    }
    assert!(log.lock().unwrap().iter().any(|batch| batch.len() > 1), "it got company");
}

#[test]
fn callers_come_and_go() {
    let (engine, first, _) = four();
    let number = |caller: &Caller<_>| format!("{caller:?}");
    let second = engine.caller().unwrap();
    let (name, ticket) = (number(&second), second.submit(Doubling::of(1)).unwrap());
    drop(second);
    let third = engine.caller().unwrap();
    assert_ne!(number(&third), name, "its request is still there");
    drop(ticket);
    assert_eq!(number(&engine.caller().unwrap()), name);
    assert_eq!(number(&first), number(&first.clone()));
}

/// While a caller writes its job the last unit goes: the request is refused, not left for ever.
#[test]
fn a_request_that_comes_after_the_last_unit_went_is_told() {
    let broken = Doubler { is_broken: true, self_tests_passed: 1, ..Doubler::new(1) };
    let engine = engine(Config::with_capacity(8), [broken]);
    let (slow, other) = (engine.caller().unwrap(), engine.caller().unwrap());
    let fill = |job: &mut Doubling| {
        job.x = 1;
        assert_eq!(other.run(Doubling::of(2)).unwrap_err(), Error::Fault);
        Ok(())
    };
    let end = match slow.submit(fill) {
        Err(error) => Some(error),
        Ok(mut ticket) => {
            let end = ticket.wait_until(Instant::now() + Duration::from_millis(50));
            end.map(|end| end.unwrap_err())
        }
    };
    assert_eq!(end, Some(Error::NoUnit));
    assert_eq!(engine.places_in_use().unwrap(), 0);
}

#[test]
fn a_shutdown_may_have_all_the_time_there_is() {
    let (engine, caller, _) = four();
    let ticket = caller.submit(Doubling::of(1)).unwrap();
    let ended = engine.shut_down(Duration::MAX).unwrap();
    assert_eq!((ended.cancelled, ended.still_running), (0, false));
    assert_eq!(doubled(ticket.wait()), 2);
}

#[test]
fn bounds_that_no_machine_has_are_refused() {
    for config in
        [Config::with_capacity(usize::MAX), Config { workers: usize::MAX, ..Config::default() }]
    {
        assert!(matches!(Toy::start(config, [Doubler::new(1).boxed()]), Err(Error::Config(_))));
    }
}

/// What a waker holds may be this engine's too: it is let go of outside of the lock.
#[test]
fn a_waker_may_hold_a_ticket() {
    struct Holds {
        _ticket: Mutex<Ticket<Doubling>>,
    }
    impl Wake for Holds {
        fn wake(self: Arc<Self>) {}
    }
    let (told, done) = mpsc::channel();
    thread::spawn(move || {
        let (unit, has_entered, go_on) = gated(1);
        let engine = engine(Config::with_capacity(8), [unit]);
        let caller = engine.caller().unwrap();
        let first = caller.submit(Doubling::of(1)).unwrap();
        let leader = thread::spawn(|| doubled(first.wait()));
        has_entered.recv().unwrap();
        let mut poll = |how: usize| {
            let [held, mut polled] = [2, 3].map(|x| caller.submit(Doubling::of(x)).unwrap());
            let waker = Waker::from(Arc::new(Holds { _ticket: Mutex::new(held) }));
            assert!(pin!(&mut polled).poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker); // the engine has the last one
            match how {
                0 => drop(pin!(&mut polled).poll(&mut Context::from_waker(Waker::noop()))),
                1 => drop(polled.wait_until(Instant::now() + Duration::from_millis(1))),
                _ => drop(polled),
            }
        };
        (0..3).for_each(&mut poll);
        go_on.send(()).unwrap();
        assert_eq!(leader.join().unwrap(), 2);
        assert_eq!(engine.places_in_use().unwrap(), 0);
        told.send(()).unwrap();
    });
    assert_eq!(done.recv_timeout(Duration::from_secs(20)), Ok(()), "it waits for itself");
}

/// One callback of a batch waits for another one: there are two workers to call them, though a
/// thread leads the batch.
#[test]
fn callbacks_of_a_batch_are_called_by_all_workers() {
    let (unit, has_entered, go_on) = gated(4);
    let engine = engine(Config { workers: 2, ..Config::with_capacity(8) }, [unit]);
    let caller = engine.caller().unwrap();
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
    while engine.places_in_use().unwrap() < 2 {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(20)); // the second sleeps
    let (tell, told) = mpsc::channel();
    let (report, reported) = mpsc::channel();
    let waits = move |_: Result<&Doubling, Error<Refused>>| {
        report.send(told.recv_timeout(Duration::from_secs(5))).unwrap();
    };
    caller.submit_with(Doubling::of(3), waits).unwrap();
    caller.submit_with(Doubling::of(4), move |_| tell.send(()).unwrap()).unwrap();
    thread::sleep(Duration::from_millis(20)); // both workers sleep
    go_on.send(()).unwrap();
    assert_eq!(reported.recv().unwrap(), Ok(()), "the other worker slept");
    assert_eq!([first, second].map(|thread| thread.join().unwrap()), [Ok(2), Ok(4)]);
}

/// It is asked under the lock: others are served all the same.
#[test]
fn a_unit_whose_width_panics_stops_nobody() {
    struct Panics(Doubler);
    impl Unit<Doubling> for Panics {
        fn name(&self) -> &str {
            "panics"
        }

        fn width(&self, _: Class) -> usize {
            panic!("width")
        }

        fn run(&mut self, batch: &mut [Box<Request<Doubling>>]) {
            self.0.run(batch);
        }

        fn self_test(&mut self) -> Result<(), SelfTestFailed> {
            Ok(())
        }
    }
    let unit: Box<dyn Unit<Doubling>> = Box::new(Panics(Doubler::new(1)));
    let engine = Toy::start(Config::with_capacity(8), [unit]).unwrap();
    let caller = engine.caller().unwrap();
    let tickets = [1, 2].map(|x| caller.submit(Doubling::of(x)).unwrap());
    assert_eq!(tickets.map(|ticket| doubled(ticket.wait())), [2, 4]);
}

/// Two requests that fail everywhere, on two units at once: others are served all the same.
#[test]
fn jobs_that_fail_everywhere_do_not_take_all_units_out() {
    for units in [1, 2] {
        let both = Arc::new(Barrier::new(units));
        let made = (0..units).map(|_| {
            let both = Arc::clone(&both);
            let mut first = true;
            let before_batch = Box::new(move || {
                if core::mem::take(&mut first) {
                    both.wait();
                }
            });
            Doubler { before_batch, ..Doubler::new(1) }
        });
        let engine = engine(Config::with_capacity(8), made);
        let good = engine.caller().unwrap();
        thread::scope(|scope| {
            for _ in 0..units {
                let caller = engine.caller().unwrap();
                scope.spawn(move || {
                    let bad = Doubling::with(|job| job.mischief = Mischief::FaultsEverywhere);
                    assert_eq!(caller.run(bad).unwrap_err(), Error::Fault);
                });
            }
        });
        assert_eq!(good.run(Doubling::of(4)).map(|a| a.doubled), Ok(8), "{units} units");
    }
}
