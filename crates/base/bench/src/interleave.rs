//! Paired and interleaved measurement: A B C, C B A, A B C, ...

use core::fmt;
use core::time::Duration;

use crate::sample::{as_f64, calibrate, take};
use crate::{Contender, CoreMeter, Meter, Sample, Series, Wrong};

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How long each contender runs before the first sample counts.
    pub warm_up: Duration,
    /// How long all rounds together last, warm-up not counted.
    pub total: Duration,
    /// How long one sample of one contender lasts; a single run if that is longer.
    pub sample: Duration,
    /// Rounds to make even if `total` is over; at least 1. Fewer than 10 give intervals that are
    /// too narrow.
    pub min_rounds: usize,
}

impl Default for Plan {
    /// 100 ms of warm-up for each, 2 s in all, samples of 3 ms, at least 11 rounds.
    fn default() -> Self {
        Self {
            warm_up: Duration::from_millis(100),
            total: Duration::from_secs(2),
            sample: Duration::from_millis(3),
            min_rounds: 11,
        }
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A contender gave a wrong result: repair it, its speed means nothing.
    Wrong {
        /// The contender's name.
        contender: String,
        /// What was wrong.
        wrong: Wrong,
    },
    /// `stop` asked to end before the measurement was complete.
    Stopped,
    /// There was no contender to measure: the caller's mistake.
    NoContender,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong { contender, wrong } => {
                write!(
                    f,
                    "{contender}: wrong result: {wrong}; its speed means nothing, repair it first"
                )
            }
            Self::Stopped => f.write_str("stopped before the measurement was complete"),
            Self::NoContender => f.write_str("nothing to measure: give at least one contender"),
        }
    }
}

impl core::error::Error for Error {}

/// Measures `contenders` on the machine's clocks, interleaved.
///
/// Each is warmed up and calibrated to samples of `plan.sample`. Then round follows round, in
/// turning order, until `plan.total` is over and `plan.min_rounds` are made. `stop` is asked before
/// every sample; `progress` is told the share done, from 0 to 1, after every round.
///
/// # Errors
///
/// A result is wrong, `stop` said so, or `contenders` is empty.
pub fn interleave(
    contenders: &mut [Contender<'_>],
    plan: &Plan,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<Series, Error> {
    interleave_on(&mut CoreMeter::new(), contenders, plan, stop, progress)
}

/// [`interleave`] on any clock.
///
/// # Errors
///
/// As [`interleave`].
pub fn interleave_on(
    meter: &mut dyn Meter,
    contenders: &mut [Contender<'_>],
    plan: &Plan,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<Series, Error> {
    if contenders.is_empty() {
        return Err(Error::NoContender);
    }
    let go_on = || if stop() { Err(Error::Stopped) } else { Ok(()) };
    let mut runs = Vec::with_capacity(contenders.len());
    for contender in contenders.iter_mut() {
        runs.push(prepare(contender, plan, meter, &go_on)?);
    }

    let min_rounds = plan.min_rounds.max(1);
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); contenders.len()];
    let start = meter.now();
    for round in 0.. {
        for turn in 0..contenders.len() {
            go_on()?;
            let i = if round % 2 == 0 { turn } else { contenders.len() - 1 - turn };
            let contender = &mut contenders[i];
            let sample =
                take(contender, runs[i], meter).map_err(|wrong| named(contender, wrong))?;
            let operations = as_f64(runs[i]) * as_f64(contender.operations_per_run());
            samples[i].push(sample.per(operations));
        }
        let spent = meter.now().saturating_sub(start);
        let done = share(spent.as_secs_f64(), plan.total.as_secs_f64())
            .min(share(as_f64(round + 1), as_f64(min_rounds as u64)));
        progress(done);
        if done >= 1.0 {
            break;
        }
    }
    let names = contenders.iter().map(|contender| contender.name().to_owned()).collect();
    Ok(Series::new(names, samples))
}

/// Warms a contender up and says how many runs make a sample.
fn prepare(
    contender: &mut Contender<'_>,
    plan: &Plan,
    meter: &mut dyn Meter,
    go_on: &dyn Fn() -> Result<(), Error>,
) -> Result<u64, Error> {
    let start = meter.now();
    loop {
        go_on()?;
        // Once more each time: a cold start must not decide how long samples are.
        let runs =
            calibrate(contender, plan.sample, meter).map_err(|wrong| named(contender, wrong))?;
        if meter.now().saturating_sub(start) >= plan.warm_up {
            return Ok(runs);
        }
    }
}

fn named(contender: &Contender<'_>, wrong: Wrong) -> Error {
    Error::Wrong { contender: contender.name().to_owned(), wrong }
}

/// How much of `whole` is done, at most 1; all of it if there is nothing to do.
fn share(done: f64, whole: f64) -> f64 {
    if done >= whole { 1.0 } else { done / whole }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use core::cell::{Cell, RefCell};

    use super::*;

    /// A clock that only moves when a contender says that it worked: no noise, no waiting.
    pub(crate) struct Counted<'a> {
        pub(crate) clock: &'a Cell<u64>,
    }

    impl Meter for Counted<'_> {
        fn now(&mut self) -> Duration {
            Duration::from_nanos(self.clock.get())
        }

        fn sample(&mut self, work: &mut dyn FnMut()) -> Sample {
            let before = self.clock.get();
            work();
            let nanos = as_f64(self.clock.get() - before);
            Sample { nanos, cpu_nanos: nanos, cycles: Some(4.0 * nanos), clock_drift: Some(0.0) }
        }
    }

    /// Samples of one run each, four rounds, no warm-up.
    const FOUR_ROUNDS: Plan = Plan {
        warm_up: Duration::ZERO,
        total: Duration::ZERO,
        sample: Duration::ZERO,
        min_rounds: 4,
    };

    #[test]
    fn rounds_run_forwards_and_backwards() {
        let (clock, order) = (Cell::new(0), RefCell::new(String::new()));
        let mut contenders = ["A", "B", "C"].map(|name| {
            let (clock, order) = (&clock, &order);
            Contender::new(name, 1, move || {
                clock.set(clock.get() + 1);
                order.borrow_mut().push_str(name);
                Ok(())
            })
        });
        let mut done = Vec::new();
        let series = interleave_on(
            &mut Counted { clock: &clock },
            &mut contenders,
            &FOUR_ROUNDS,
            &|| false,
            &mut |share| done.push(share),
        );
        assert_eq!(series.unwrap().rounds(), 4);
        // Calibration takes one run of each, then come the rounds.
        assert_eq!(*order.borrow(), "ABC ABC CBA ABC CBA".replace(' ', ""));
        assert_eq!(done, [0.25, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn twice_the_work_is_a_ratio_of_two() {
        let clock = Cell::new(0);
        let work = |nanos| {
            let clock = &clock;
            move || {
                clock.set(clock.get() + nanos);
                Ok(())
            }
        };
        let mut contenders = [
            Contender::new("one", 1, work(1_000)),
            Contender::new("twice", 1, work(2_000)),
            Contender::new("eight in a batch", 8, work(2_000)),
        ];
        let plan = Plan {
            warm_up: Duration::from_millis(1),
            total: Duration::from_millis(300),
            ..Plan::default()
        };
        let mut meter = Counted { clock: &clock };
        let series =
            interleave_on(&mut meter, &mut contenders, &plan, &|| false, &mut |_| ()).unwrap();
        assert_eq!(series.rounds(), 34); // of 3 x 3 ms: the first at or past 300 ms
        assert_eq!(series.nanos(0).point(), 1_000.0);
        assert_eq!(series.cycles(0).unwrap().point(), 4_000.0);
        assert_eq!(series.cpu_nanos(1).point(), 2_000.0);
        assert_eq!(series.nanos(2).point(), 250.0);
        assert_eq!(series.ratio(1, 0).interval(), (2.0, 2.0));
        assert_eq!(series.ratio(0, 2).point(), 4.0);
        assert!(series.warnings().is_empty(), "{:?}", series.warnings());
    }

    #[test]
    fn a_wrong_result_fails_the_measurement_whenever_it_comes() {
        // Runs 0 and 1 are calibrations, the rest are samples.
        for wrong_run in [0, 1, 2, 5] {
            let (clock, runs) = (Cell::new(0), Cell::new(0));
            let run = || {
                clock.set(clock.get() + 1);
                let this = runs.replace(runs.get() + 1);
                if this == wrong_run { Err(Wrong::new("s^e is not m")) } else { Ok(()) }
            };
            let mut contenders = [Contender::new("left", 1, run), Contender::new("right", 1, run)];
            let mut meter = Counted { clock: &clock };
            let outcome =
                interleave_on(&mut meter, &mut contenders, &FOUR_ROUNDS, &|| false, &mut |_| ());
            let Err(Error::Wrong { contender, wrong }) = outcome else { panic!("{outcome:?}") };
            // Order: left right | left right | right left.
            let culprit = ["left", "right", "left", "right", "right", "left"][wrong_run];
            assert_eq!((contender.as_str(), wrong.message.as_str()), (culprit, "s^e is not m"));
            assert_eq!(runs.get(), wrong_run + 1, "nothing runs after it");
        }
    }

    #[test]
    fn stop_is_heard_before_every_sample() {
        for stop_after in 0..6 {
            let (clock, runs) = (Cell::new(0), Cell::new(0));
            let run = || {
                clock.set(clock.get() + 1);
                runs.set(runs.get() + 1);
                Ok(())
            };
            let mut contenders = [Contender::new("a", 1, run), Contender::new("b", 1, run)];
            let outcome = interleave_on(
                &mut Counted { clock: &clock },
                &mut contenders,
                &FOUR_ROUNDS,
                &|| runs.get() >= stop_after,
                &mut |_| (),
            );
            assert!(matches!(outcome, Err(Error::Stopped)));
            assert_eq!(runs.get(), stop_after);
        }
    }

    #[test]
    fn nobody_is_a_mistake() {
        let outcome = interleave(&mut [], &FOUR_ROUNDS, &|| false, &mut |_| ());
        assert!(matches!(outcome, Err(Error::NoContender)));
    }
}
