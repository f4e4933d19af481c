//! `judge` finds the defects of bad units and passes good ones.
#![allow(clippy::unwrap_used, reason = "tests")]

mod toy;

use std::sync::Arc;

use tollgate_queue::judge::{Cases, Finding, PrivateCases, judge};
use tollgate_queue::{Job as _, Lanes, Unit as _};
use tollgate_rsa::PrivateKey;
use toy::{Batch, Doubler, Doubling, Instead, Misbehaviour, Refused};

struct Numbers;

impl Cases<Doubling> for Numbers {
    fn load(&self, i: usize, job: &mut Doubling) -> Result<(), Refused> {
        job.x = i as u64 + 1;
        Ok(())
    }

    fn is_right(&self, i: usize, job: &Doubling) -> bool {
        job.doubled == 2 * (i as u64 + 1)
    }

    fn load_refused(&self, job: &mut Doubling) -> Result<(), Refused> {
        job.misbehaviour = Misbehaviour::IsRefused;
        Ok(())
    }

    fn load_faulty(&self, job: &mut Doubling) -> bool {
        job.misbehaviour = Misbehaviour::FaultsEverywhere;
        true
    }
}

/// Returns the judge's finding about a unit that doubles a batch and then calls `after` on it.
fn finding(mut after: impl FnMut(&mut Batch) + Send + 'static) -> Finding {
    let wrong = Instead(Doubler::new(4), move |doubler: &mut Doubler, batch: &mut Batch| {
        doubler.run(batch);
        after(batch);
    });
    judge(wrong.boxed(), &Numbers).unwrap_err()
}

#[test]
fn a_good_unit_passes() {
    for width in [1, 3, 40] {
        let verdict = judge(Doubler::new(width).boxed(), &Numbers).unwrap();
        assert_eq!((verdict.width, verdict.saw_faults), (width, true));
        assert_eq!(verdict.calls.last().map(|(fill, _)| *fill), Some(width));
    }
}

#[test]
fn the_lanes_of_this_processor_pass() {
    for pem in [
        include_str!("../../../vectors/keys/rsa-512.pem"),
        include_str!("../../../vectors/keys/rsa-1024.pem"),
    ] {
        let key = Arc::new(PrivateKey::from_pem(pem).unwrap());
        let cases = PrivateCases::new(key).unwrap();
        judge(Box::new(Lanes::new(0).unwrap()), &cases).unwrap();
    }
}

#[test]
fn defects_are_found() {
    // the answer of another request
    let swapped = finding(|batch| {
        if let [first, .., last] = batch {
            core::mem::swap(&mut first.job.doubled, &mut last.job.doubled);
        }
    });
    assert!(matches!(swapped, Finding::Wrong { fill: 2, position: 0, .. }), "{swapped}");
    // another request, and another request's job
    let rotated = finding(|batch| batch.rotate_left(1));
    assert!(matches!(rotated, Finding::Wrong { fill: 2, position: 0, .. }), "{rotated}");
    let exchanged = finding(|batch| {
        if let [first, .., last] = batch {
            core::mem::swap(&mut first.job, &mut last.job);
        }
    });
    assert!(matches!(exchanged, Finding::Wrong { fill: 2, position: 0, .. }), "{exchanged}");
    // done without a result
    let empty = finding(|batch| {
        batch[0].job.clear_result();
        batch[0].done();
    });
    assert!(matches!(empty, Finding::Wrong { fill: 1, position: 0, .. }), "{empty}");
    // no outcome
    let silent = finding(|batch| _ = batch[batch.len() - 1].take_outcome());
    assert!(matches!(silent, Finding::Wrong { fill: 1, position: 0, .. }), "{silent}");
    // a refusal that spreads to other requests
    let spreads = finding(|batch| {
        if batch.iter().any(|request| request.job.misbehaviour == Misbehaviour::IsRefused) {
            batch.iter_mut().for_each(|request| request.refuse(Refused));
        }
    });
    assert!(matches!(spreads, Finding::Wrong { fill: 4, position: 1, .. }), "{spreads}");
    // an impossible job that is reported as done
    let ignores = |misbehaviour| {
        finding(move |batch| {
            for request in batch.iter_mut().filter(|r| r.job.misbehaviour == misbehaviour) {
                request.job.double();
                request.done();
            }
        })
    };
    assert_eq!(ignores(Misbehaviour::IsRefused), Finding::RefusalMissed { position: 0 });
    // an unchecked result
    assert_eq!(ignores(Misbehaviour::FaultsEverywhere), Finding::FaultMissed { position: 0 });
    assert_eq!(finding(|_| panic!("a unit that panics")), Finding::Panicked);
    let broken = Doubler { self_tests_passed: 0, ..Doubler::new(1) };
    assert_eq!(judge(broken.boxed(), &Numbers).unwrap_err(), Finding::SelfTest("doubling"));
    assert_eq!(judge(Doubler::new(0).boxed(), &Numbers).unwrap_err(), Finding::Width);
}
