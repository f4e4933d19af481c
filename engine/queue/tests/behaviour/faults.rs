//! Failing jobs and failing units, and their effect on other requests.

use std::sync::{Arc, Barrier};
use std::thread;

use tollgate_queue::{Cause, Config, Error, Event};

use super::toy::{Doubler, Doubling, Misbehaviour, Refused};
use super::{doubled, four, listening, queue};

#[test]
fn a_refused_job_does_not_affect_others() {
    let (queue, caller, _) = four();
    let refused = Doubling::with(|job| job.misbehaviour = Misbehaviour::IsRefused);
    let (bad, good) = (caller.submit(refused).unwrap(), caller.submit(Doubling::new(2)).unwrap());
    assert_eq!(bad.wait().unwrap_err(), Error::Rejected(Refused));
    assert_eq!(doubled(good.wait()), 4);
    assert_eq!(caller.submit(|_| Err(Refused)).unwrap_err(), Error::Rejected(Refused));
    assert_eq!(queue.stats().unwrap().quarantines, 0);
    assert_eq!(queue.slots_in_use().unwrap(), 0);
}

#[test]
fn a_faulty_unit_is_quarantined_and_its_requests_run_elsewhere() {
    let (config, events) = listening(Config::with_capacity(8));
    let bad = Doubler { is_broken: true, name: "bad", ..Doubler::new(4) };
    let queue = queue(config, [bad, Doubler::new(4)]);
    let caller = queue.caller().unwrap();
    let tickets = [1, 2, 3].map(|x| caller.submit(Doubling::new(x)).unwrap());
    assert_eq!(tickets.map(|ticket| doubled(ticket.wait())), [2, 4, 6]);
    let stats = queue.stats().unwrap();
    assert_eq!((stats.faults, stats.retried, stats.quarantines, stats.done), (3, 3, 1, 3));
    let bad = Event::Quarantined { unit: "bad".into(), cause: Cause::Check };
    assert_eq!(*events.lock().unwrap(), [bad]);
    assert_eq!(queue.readmit().unwrap(), 1, "it passes its self test");
}

#[test]
fn requests_fail_with_no_unit_after_the_last_unit_failed() {
    let (config, events) = listening(Config::with_capacity(8));
    let broken = Doubler { is_broken: true, self_tests_passed: 1, ..Doubler::new(1) };
    let queue = queue(config, [broken]);
    let caller = queue.caller().unwrap();
    let [first, second] = [1, 2].map(|x| caller.submit(Doubling::new(x)).unwrap());
    assert_eq!(first.wait().unwrap_err(), Error::Fault);
    assert_eq!(second.wait().unwrap_err(), Error::NoUnit);
    assert_eq!(caller.submit(Doubling::new(3)).unwrap_err(), Error::NoUnit);
    assert_eq!(events.lock().unwrap().last(), Some(&Event::NoUnitLeft));
}

#[test]
fn a_job_that_fails_on_two_good_units_quarantines_none() {
    let (config, events) = listening(Config::with_capacity(8));
    let queue = queue(config, [1, 2].map(|_| Doubler::new(2)));
    let caller = queue.caller().unwrap();
    let bad = Doubling::with(|job| job.misbehaviour = Misbehaviour::FaultsEverywhere);
    let (bad, good) = (caller.submit(bad).unwrap(), caller.submit(Doubling::new(2)).unwrap());
    assert_eq!(bad.wait().unwrap_err(), Error::Fault);
    assert_eq!(doubled(good.wait()), 4);
    let names: Vec<_> = events.lock().unwrap().iter().map(core::mem::discriminant).collect();
    let unit = || "doubler".to_owned();
    let expected = [
        Event::Quarantined { unit: unit(), cause: Cause::Check },
        Event::Readmitted { unit: unit() },
    ];
    assert_eq!(names, expected.each_ref().map(core::mem::discriminant));
    assert_eq!(caller.run(Doubling::new(5)).unwrap().doubled, 10);
}

#[test]
fn a_unit_that_panics_or_fails_its_self_test_is_quarantined() {
    let (config, events) = listening(Config::with_capacity(8));
    let bad = Doubler { self_tests_passed: 0, name: "bad", ..Doubler::new(1) };
    let queue = queue(config, [bad, Doubler::new(2), Doubler::new(2)]);
    let caller = queue.caller().unwrap();
    let panics = Doubling::with(|job| job.misbehaviour = Misbehaviour::Panics);
    let (bad, with_it) = (caller.submit(panics).unwrap(), caller.submit(Doubling::new(2)).unwrap());
    assert_eq!(bad.wait().unwrap_err(), Error::UnitPanicked);
    assert_eq!(with_it.wait().unwrap_err(), Error::UnitPanicked);
    assert_eq!(caller.run(Doubling::new(3)).unwrap().doubled, 6);
    assert_eq!(queue.readmit().unwrap(), 0, "neither is readmitted");
    let causes = events.lock().unwrap().clone();
    let cause = |event: &Event| match event {
        Event::Quarantined { cause, .. } => *cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(causes.iter().map(cause).collect::<Vec<_>>(), [Cause::SelfTest, Cause::Panic]);
    assert_eq!(queue.stats().unwrap().quarantines, 2);
}

/// The last unit is quarantined while a caller writes its job: the request is refused, not queued.
#[test]
fn a_request_after_the_last_unit_failed_gets_an_error() {
    let broken = Doubler { is_broken: true, self_tests_passed: 1, ..Doubler::new(1) };
    let queue = queue(Config::with_capacity(8), [broken]);
    let (slow, other) = (queue.caller().unwrap(), queue.caller().unwrap());
    let fill = |job: &mut Doubling| {
        job.x = 1;
        assert_eq!(other.run(Doubling::new(2)).unwrap_err(), Error::Fault);
        Ok(())
    };
    assert_eq!(slow.submit(fill).unwrap_err(), Error::NoUnit);
    assert_eq!(queue.slots_in_use().unwrap(), 0);
}

/// Two requests fail everywhere, on two units at once: other requests are still served.
#[test]
fn jobs_that_fail_everywhere_do_not_quarantine_all_units() {
    for units in [1, 2] {
        let barrier = Arc::new(Barrier::new(units));
        let made = (0..units).map(|_| {
            let barrier = Arc::clone(&barrier);
            let mut first = true;
            let before_batch = Box::new(move || {
                if core::mem::take(&mut first) {
                    barrier.wait();
                }
            });
            Doubler { before_batch, ..Doubler::new(1) }
        });
        let queue = queue(Config::with_capacity(8), made);
        let good = queue.caller().unwrap();
        thread::scope(|scope| {
            for _ in 0..units {
                let caller = queue.caller().unwrap();
                scope.spawn(move || {
                    let bad =
                        Doubling::with(|job| job.misbehaviour = Misbehaviour::FaultsEverywhere);
                    assert_eq!(caller.run(bad).unwrap_err(), Error::Fault);
                });
            }
        });
        assert_eq!(good.run(Doubling::new(4)).map(|a| a.doubled), Ok(8), "{units} units");
    }
}
