//! Units that break their contract: no caller gets a wrong answer, and other requests are served.

use tollgate_queue::{Cause, Class, Config, Error, Event, SelfTestFailed, Unit};

use super::toy::{Batch, Doubler, Doubling, Instead};
use super::{Toy, doubled, listening};

/// Runs batches of four on a bad unit in front of a good one: all answers are right, and the bad
/// unit is quarantined because of `cause`.
fn is_found_out(
    cause: Cause,
    batches: u64,
    run: impl FnMut(&mut Doubler, &mut Batch) + Send + 'static,
) {
    let (config, events) = listening(Config::with_capacity(16));
    let queue =
        Toy::start(config, [Instead(Doubler::new(4), run).boxed(), Doubler::new(4).boxed()])
            .unwrap();
    let caller = queue.caller().unwrap();
    for batch in 0..=batches {
        let tickets = [1, 2, 3, 4].map(|x| caller.submit(Doubling::new(4 * batch + x)).unwrap());
        for (x, ticket) in (4 * batch + 1..).zip(tickets) {
            assert_eq!(doubled(ticket.wait()), 2 * x, "{cause:?}");
        }
    }
    let out = Event::Quarantined { unit: "instead".into(), cause };
    assert_eq!(events.lock().unwrap().first(), Some(&out));
    assert_eq!(queue.stats().unwrap().quarantines, 1);
    assert_eq!(queue.slots_in_use().unwrap(), 0);
    assert_eq!(queue.readmit().unwrap(), usize::from(cause == Cause::Check));
}

#[test]
fn done_without_a_result_is_a_fault() {
    is_found_out(Cause::Check, 1, |_, batch| batch.iter_mut().for_each(|request| request.done()));
    // only the third request of the batch
    is_found_out(Cause::Check, 1, |doubler, batch| {
        doubler.run(batch);
        tollgate_queue::Job::clear_result(&mut batch[2].job);
        batch[2].done();
    });
}

/// After a fault, a unit that writes no result cannot release the first unit's result.
#[test]
fn a_fault_leaves_no_result_for_others() {
    let writes_and_faults = |doubler: &mut Doubler, batch: &mut Batch| {
        doubler.run(batch);
        batch.iter_mut().for_each(|request| {
            request.job.doubled += 1;
            request.fault();
        });
    };
    let says_done = |_: &mut Doubler, batch: &mut Batch| {
        batch.iter_mut().for_each(|request| request.done());
    };
    let units = [
        Instead(Doubler::new(4), writes_and_faults).boxed(),
        Instead(Doubler::new(4), says_done).boxed(),
    ];
    let queue = Toy::start(Config::with_capacity(8), units).unwrap();
    let end = queue.caller().unwrap().run(Doubling::new(1)).map(|answer| answer.doubled);
    assert_eq!(end, Err(Error::Fault));
}

#[test]
fn exchanged_requests_are_put_back() {
    is_found_out(Cause::Exchange, 1, |doubler, batch| {
        doubler.run(batch);
        batch.rotate_left(1);
    });
    is_found_out(Cause::Exchange, 1, |doubler, batch| {
        let [first, .., last] = batch else {
            return doubler.run(batch);
        };
        core::mem::swap(&mut **first, &mut **last); // the contents of the boxes
        doubler.run(batch);
    });
}

/// A request that a unit keeps is a fault; if the unit returns it later, it answers no request.
#[test]
fn a_request_that_a_unit_keeps_is_a_fault() {
    let mut kept = None;
    let run = move |doubler: &mut Doubler, batch: &mut Batch| {
        doubler.run(batch);
        let old = core::mem::replace(&mut batch[0], kept.take().unwrap_or_default());
        kept = Some(old);
    };
    let (config, events) = listening(Config::with_capacity(16));
    let queue =
        Toy::start(config, [Instead(Doubler::new(2), run).boxed(), Doubler::new(2).boxed()])
            .unwrap();
    let caller = queue.caller().unwrap();
    let tickets = [1, 2].map(|x| caller.submit(Doubling::new(x)).unwrap());
    let ends = tickets.map(|ticket| ticket.wait().map(|answer| answer.doubled));
    assert_eq!(ends, [Err(Error::Fault), Ok(4)]);
    let out = Event::Quarantined { unit: "instead".into(), cause: Cause::Exchange };
    assert_eq!(*events.lock().unwrap(), [out]);
    assert_eq!(doubled(caller.submit(Doubling::new(3)).unwrap().wait()), 6, "by the other unit");
    assert_eq!(queue.slots_in_use().unwrap(), 0);
}

/// `width` is called under the lock: its panic must not stop other requests.
#[test]
fn a_unit_whose_width_panics_does_not_stop_others() {
    struct Panics(Doubler);
    impl Unit<Doubling> for Panics {
        fn name(&self) -> &str {
            "panics"
        }

        fn width(&self, _: Class) -> usize {
            panic!("width")
        }

        fn run(&mut self, batch: &mut Batch) {
            self.0.run(batch);
        }

        fn self_test(&mut self) -> Result<(), SelfTestFailed> {
            Ok(())
        }
    }
    let unit: Box<dyn Unit<Doubling>> = Box::new(Panics(Doubler::new(1)));
    let queue = Toy::start(Config::with_capacity(8), [unit]).unwrap();
    let caller = queue.caller().unwrap();
    let tickets = [1, 2].map(|x| caller.submit(Doubling::new(x)).unwrap());
    assert_eq!(tickets.map(|ticket| doubled(ticket.wait())), [2, 4]);
}
