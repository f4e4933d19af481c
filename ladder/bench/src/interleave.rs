//! Measures contenders in turn: calibrates, warms up, and samples round by round.

use core::time::Duration;

use crate::contender::{Contender, Wrong};
use crate::sample::{Sampler, Timed};
use crate::series::Series;

/// Duration of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplePlan {
    /// Warm-up of each contender before the first round, for code, data and clock.
    pub warm_up: Duration,
    /// Duration of all rounds; the last round is completed.
    pub total: Duration,
    /// Duration of a sample. It should be long compared with the start of wide vector code (2 µs on
    /// some cores), and short compared with changes of the machine.
    pub sample: Duration,
    /// Minimum number of rounds, whatever their duration; 0 counts as 1.
    pub min_rounds: usize,
}

impl SamplePlan {
    /// Returns a plan for published figures: samples of 4 ms, at least eleven rounds.
    pub const fn thorough(total: Duration) -> Self {
        let (warm_up, sample) = (Duration::from_millis(50), Duration::from_millis(4));
        Self { warm_up, total, sample, min_rounds: 11 }
    }

    /// Returns a plan for a quick look: samples of 1 ms, at least three rounds.
    pub const fn quick() -> Self {
        Self {
            warm_up: Duration::from_millis(2),
            total: Duration::from_millis(100),
            sample: Duration::from_millis(1),
            min_rounds: 3,
        }
    }
}

/// The measurement failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are no contenders.
    #[error("nothing to measure: name at least one contender")]
    NoContenders,
    /// The caller stopped the measurement.
    #[error("stopped before the measurement was complete: run it again")]
    Stopped,
    /// A contender's result was wrong, so its figures and comparisons are invalid.
    #[error(
        "{name} gave a wrong result ({wrong}); nothing is reported of this measurement: test this \
         machine's memory and processor, then report the case"
    )]
    Wrong {
        /// The contender.
        name: String,
        /// The wrong result.
        wrong: Wrong,
    },
}

/// Measures all contenders in rounds: first to last, then last to first, and so on.
///
/// Calls `stop` before each sample, and `progress` with the completed share in [0, 1].
///
/// # Errors
///
/// [`Error`].
pub fn interleave(
    contenders: &mut [Contender<'_>],
    plan: &SamplePlan,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<Series, Error> {
    run(&mut Timed::new(), contenders, plan, stop, progress)
}

fn run(
    sampler: &mut impl Sampler,
    contenders: &mut [Contender<'_>],
    plan: &SamplePlan,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<Series, Error> {
    if contenders.is_empty() {
        return Err(Error::NoContenders);
    }
    let ask = || if stop() { Err(Error::Stopped) } else { Ok(()) };
    let mut runs = Vec::with_capacity(contenders.len());
    for contender in &mut *contenders {
        runs.push(calibrate(sampler, contender, plan, &ask)?);
    }
    let mut series = Series::new(contenders.iter().map(|c| c.name.clone()));
    let start = sampler.now();
    for round in 0.. {
        let done = sampler.now().saturating_sub(start);
        if round >= plan.min_rounds.max(1) && done >= plan.total {
            break;
        }
        progress((done.as_secs_f64() / plan.total.as_secs_f64().max(1e-9)).min(1.0));
        let mut samples = vec![None; contenders.len()];
        for turn in 0..contenders.len() {
            let i = if round % 2 == 0 { turn } else { contenders.len() - 1 - turn };
            ask()?;
            let sample = sampler.sample(&mut contenders[i], runs[i]);
            samples[i] = Some(sample.map_err(|e| wrong(&contenders[i], e))?);
        }
        series.push(samples.into_iter().flatten());
    }
    progress(1.0);
    Ok(series)
}

fn wrong(contender: &Contender<'_>, wrong: Wrong) -> Error {
    Error::Wrong { name: contender.name.clone(), wrong }
}

/// Determines the number of runs in a sample, and warms up the contender.
fn calibrate(
    sampler: &mut impl Sampler,
    contender: &mut Contender<'_>,
    plan: &SamplePlan,
    ask: &impl Fn() -> Result<(), Error>,
) -> Result<u32, Error> {
    let start = sampler.now();
    let mut runs = 1u32;
    loop {
        ask()?;
        let sample = sampler.sample(contender, runs).map_err(|e| wrong(contender, e))?;
        let one_run = sample.nanos * f64::from(contender.operations_per_run);
        let wanted = plan.sample.as_secs_f64() * 1e9 / one_run.max(1.0);
        let settled = f64::from(runs) >= wanted * 0.5;
        if settled && sampler.now().saturating_sub(start) >= plan.warm_up {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to the range of u32"
            )]
            return Ok(wanted.ceil().clamp(1.0, f64::from(u32::MAX)) as u32);
        }
        if !settled {
            runs = runs.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;

    use super::*;
    use crate::sample::Sample;

    /// A fake sampler: an operation of the contender named "n" takes n microseconds.
    struct Counted(Duration);

    impl Sampler for Counted {
        fn sample(&mut self, c: &mut Contender<'_>, runs: u32) -> Result<Sample, Wrong> {
            (0..runs).try_for_each(|_| (c.run)())?;
            let nanos = 1000.0 * c.name.parse::<f64>().expect("a number");
            let all = nanos * f64::from(runs) * f64::from(c.operations_per_run);
            self.0 += Duration::from_secs_f64(all / 1e9);
            Ok(Sample {
                cycles: Some(4.0 * nanos),
                nanos,
                cpu_nanos: nanos,
                drift: 0.0,
                gauge: None,
            })
        }
        fn now(&self) -> Duration {
            self.0
        }
    }

    fn plan(rounds: usize) -> SamplePlan {
        let ms = Duration::from_millis;
        SamplePlan { warm_up: ms(1), total: ms(0), sample: ms(1), min_rounds: rounds }
    }

    #[test]
    fn rounds_alternate_their_order() {
        let order = RefCell::new(String::new());
        let contender = |name: &'static str| {
            let order = &order;
            Contender::new(name, 1, move || {
                order.borrow_mut().push_str(name);
                Ok(())
            })
        };
        // an operation takes 1, 2, 3 ms: one run is a sample
        let mut contenders = [contender("1000"), contender("2000"), contender("3000")];
        let series =
            run(&mut Counted(Duration::ZERO), &mut contenders, &plan(3), &|| false, &mut |_| {});
        let series = series.expect("right");
        let order = order.borrow();
        assert!(
            order.ends_with("100020003000300020001000100020003000"),
            "A B C C B A A B C expected, not {order}"
        );
        assert_eq!(series.rounds(), 3);
        assert_eq!(series.ratio(1, 0).point(), 2.0);
        assert_eq!(series.nanos(2).point(), 3e6);
    }

    #[test]
    fn samples_are_as_long_as_the_plan_says() {
        let count = RefCell::new(0u32);
        let mut contenders = [Contender::new("10", 8, || {
            *count.borrow_mut() += 1;
            Ok(())
        })];
        // one run is 8 operations of 10 us; a sample of 1 ms is 13 of them
        let mut sampler = Counted(Duration::ZERO);
        let runs =
            calibrate(&mut sampler, &mut contenders[0], &plan(1), &|| Ok(())).expect("right");
        assert_eq!(runs, 13);
        assert!(sampler.0 >= Duration::from_millis(1), "warmed up");
    }

    #[test]
    fn a_wrong_result_fails_the_measurement() {
        let calls = RefCell::new(0);
        let mut contenders = [
            Contender::new("1000", 1, || Ok(())),
            Contender::new("2000", 1, || {
                *calls.borrow_mut() += 1;
                if *calls.borrow() > 5 { Err(Wrong::new("bit 3")) } else { Ok(()) }
            }),
        ];
        let error =
            run(&mut Counted(Duration::ZERO), &mut contenders, &plan(20), &|| false, &mut |_| {});
        let error = error.expect_err("the sixth call is wrong");
        assert_eq!(error, Error::Wrong { name: "2000".into(), wrong: Wrong::new("bit 3") });
        assert!(error.to_string().contains("2000 gave a wrong result (bit 3)"));
    }

    #[test]
    fn the_caller_can_stop_and_gets_progress() {
        let (mut seen, calls) = (Vec::new(), RefCell::new(0));
        let mut contenders = [Contender::new("1000", 1, || {
            *calls.borrow_mut() += 1;
            Ok(())
        })];
        let stop = || *calls.borrow() > 10;
        let mut long = plan(1);
        long.total = Duration::from_millis(20);
        let stopped =
            run(&mut Counted(Duration::ZERO), &mut contenders, &long, &stop, &mut |p| seen.push(p));
        assert_eq!(stopped.expect_err("stopped"), Error::Stopped);
        assert!(seen.is_sorted() && seen.iter().all(|p| (0.0..=1.0).contains(p)), "{seen:?}");
        assert!(matches!(
            interleave(&mut [], &plan(1), &|| false, &mut |_| {}),
            Err(Error::NoContenders)
        ));
    }
}
