//! Counts of the arrivals of an open loop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::counts::share;
use crate::finding::{Finding, Findings};
use crate::limits::Limits;
use crate::plan::Plan;

/// Arrivals of an open loop. Each arrival began or was dropped. The number of arrivals that began
/// is [`Counts::attempts`](crate::Counts::attempts) minus
/// [`Counts::retries`](crate::Counts::retries).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalCounts {
    /// Arrivals.
    pub arrivals: u64,
    /// Arrivals that began more than a millisecond late although a connection was free. The
    /// generator itself caused this delay.
    #[serde(rename = "began_late")]
    pub late: u64,
    /// Arrivals that waited in the queue for a connection before they began.
    pub queued: u64,
    /// Arrivals that never began: the queue was full, they timed out in the queue, or the run
    /// ended.
    #[serde(rename = "never_began")]
    pub dropped: u64,
    /// Arrivals that began more than 20 ms late, and thereby crossed a boundary of the sustained
    /// part. Some of these arrivals were due in the sustained part but began after it. Others were
    /// due before the sustained part but began in it. The load differs from the plan by these
    /// arrivals.
    #[serde(rename = "began_outside")]
    pub outside: u64,
    /// Arrivals counted in `outside` that waited in the queue.
    #[serde(rename = "began_outside_queued")]
    pub outside_queued: u64,
}

/// A run is invalid if the share of `outside` is above this limit.
const OUTSIDE: f64 = 0.01;

/// A run is doubtful if the share of arrivals that began late is above this limit. The times of
/// such a run include the generator's own delay.
const LATE_DOUBT: f64 = 0.01;

/// A run is doubtful if the number of drawn arrivals differs from the planned number by more than
/// this share of the planned number.
const DRAWN_DOUBT: f64 = 0.05;

impl ArrivalCounts {
    pub(crate) const fn add(&mut self, other: Self) {
        let Self { arrivals, late, queued, dropped, outside, outside_queued } = other;
        self.arrivals += arrivals;
        self.late += late;
        self.queued += queued;
        self.dropped += dropped;
        self.outside += outside;
        self.outside_queued += outside_queued;
    }

    /// Compares the arrivals that began with those that were due.
    pub(crate) fn judge(&self, limits: &Limits, findings: &mut Findings) {
        let Self { arrivals, late, dropped, outside, outside_queued: queued, .. } = *self;
        let Findings { reasons, doubts } = findings;
        if share(dropped, arrivals) > limits.errors {
            reasons.push(Finding::Dropped { dropped, arrivals });
        }
        if share(outside, arrivals) > limits.shape(OUTSIDE) {
            reasons.push(Finding::OfferedOffPlan { outside, queued, arrivals });
        }
        if share(late, arrivals) > LATE_DOUBT {
            doubts.push(Finding::LateStarts { late, arrivals });
        }
    }

    /// Compares the arrivals of the whole plan with its mean rate. Pattern and seed determine the
    /// exact number of arrivals, which [`judge`](Self::judge) compares with those that began.
    pub(crate) fn judge_drawn(&self, plan: &Plan) -> Option<Finding> {
        let arrivals = self.arrivals;
        if let Arrivals::Open { pattern, .. } = &plan.arrivals
            && plan.transactions.is_none()
        {
            #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
            let (arrivals_mean, drawn) =
                (pattern.per_s() * plan.sustain_ms as f64 / 1e3, arrivals as f64);
            // with equal gaps, there may be one arrival more or less
            let is_off = (drawn - arrivals_mean).abs() > 1.0 + DRAWN_DOUBT * arrivals_mean;
            return is_off.then_some(Finding::DrawnOffRate { arrivals, arrivals_mean });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::time::Instant;

    use super::*;
    use crate::arrivals::Pattern;
    use crate::generator::{Generator, Next};
    use crate::offer::Protocol;
    use crate::schedule::Schedule;
    use crate::tally::Recorder;

    const PER_S: f64 = 200.0;

    fn patterns() -> [Pattern; 4] {
        [
            Pattern::Constant { per_s: PER_S },
            Pattern::Poisson { per_s: PER_S },
            Pattern::Gamma { per_s: PER_S, dispersion: 0.1 },
            Pattern::Gamma { per_s: PER_S, dispersion: 16.0 },
        ]
    }

    /// Judges a client that checks for due arrivals every 5 ms, and needs `slowness` seconds for
    /// each second of arrivals. Connections are free except during `taken`, which is in
    /// milliseconds.
    fn judged(
        pattern: Pattern,
        seed: u64,
        slowness: f64,
        taken: core::ops::Range<u64>,
    ) -> Findings {
        let plan = Plan {
            arrivals: Arrivals::open(pattern),
            seed,
            connections: 1,
            ..Plan::new(Protocol::Tls13)
        };
        let schedule = Schedule::new(&plan, Instant::now());
        let mut generator = Generator::new(&plan, 0);
        generator.begin(&schedule);
        let mut recorder = Recorder::new(&schedule, true, false);
        let end_ms = plan.warm_up_ms + plan.sustain_ms;
        let mut held = None;
        for now_ms in (0..=end_ms).step_by(5) {
            let now = Duration::from_millis(now_ms);
            let last = schedule.sustain_end - Duration::from_nanos(1);
            let due = (schedule.start + now.div_f64(slowness)).min(last);
            // at the end, every arrival that is due begins
            let due = if now_ms == end_ms { last } else { due };
            let now = schedule.start + now;
            if !taken.contains(&now_ms)
                && let Some(place) = held.take()
            {
                generator.ended(place, now);
            }
            while let Some(Next::Begins { place, task, queued }) = generator.next(due) {
                recorder.began(task, queued, now);
                if taken.contains(&now_ms) {
                    held = Some(place);
                } else {
                    generator.ended(place, now);
                }
            }
        }
        let mut findings = Findings::default();
        recorder.tally.arrivals.judge(&plan.limits, &mut findings);
        findings.doubts.extend(recorder.tally.arrivals.judge_drawn(&plan));
        findings
    }

    #[test]
    fn no_pattern_gives_a_false_alarm_and_a_slow_client_is_found() {
        for seed in 0..1000 {
            for pattern in patterns() {
                let Findings { reasons, .. } = judged(pattern, seed, 1.0, 0..0);
                assert_eq!(reasons, [], "{} {seed}", pattern.word());
            }
        }
        let mut found = [0; 4];
        for seed in 0..100 {
            for (found, pattern) in found.iter_mut().zip(patterns()) {
                let Findings { reasons, .. } = judged(pattern, seed, 1.05, 0..0);
                let told = |why: &Finding| why.to_string().contains("the client did not keep up");
                *found += usize::from(reasons.iter().any(told));
            }
        }
        // if a pause covers the end, no arrival is missing
        assert!(found.iter().all(|&found| found >= 90), "{found:?}");
        let (even, more_even) = (found[0], found[2]);
        assert_eq!((even, more_even), (100, 100));
    }

    #[test]
    fn arrivals_that_queued_into_the_measured_part_are_outside() {
        let constant = Pattern::Constant { per_s: PER_S };
        // for 400 ms of the warm-up, 79 arrivals wait behind the arrival that holds the slot
        let Findings { reasons, .. } = judged(constant, 1, 1.0, 600..1200);
        let expected = Finding::OfferedOffPlan { outside: 79, queued: 79, arrivals: 1000 };
        assert_eq!(reasons, [expected]);
        assert!(reasons[0].to_string().contains("measure longer"), "{}", reasons[0]);
        let Findings { reasons, .. } = judged(constant, 1, 1.0, 2000..2600);
        assert_eq!(reasons, [], "within the part it is in the times, and in nothing else");
    }

    #[test]
    fn arrivals_that_differ_from_the_rate_are_a_doubt() {
        let is_told = |findings: Findings| {
            findings.doubts.iter().any(|doubt| matches!(doubt, Finding::DrawnOffRate { .. }))
        };
        let crowds = Pattern::Gamma { per_s: PER_S, dispersion: 16.0 };
        // The mean is 1000 arrivals, with a standard deviation of 126. The number differs from the
        // mean by more than 51 with a probability of 69 %.
        let told = |&seed: &u64| is_told(judged(crowds, seed, 1.0, 0..0));
        let told = (0..1000).filter(told).count();
        assert!(told.abs_diff(690) < 75, "{told}"); // five standard deviations
        // the standard deviation is 0 for constant arrivals, and 10 for the other patterns
        for seed in 0..100 {
            for pattern in [
                Pattern::Constant { per_s: PER_S },
                Pattern::Gamma { per_s: PER_S, dispersion: 0.1 },
            ] {
                assert!(!is_told(judged(pattern, seed, 1.0, 0..0)));
            }
        }
    }
}
