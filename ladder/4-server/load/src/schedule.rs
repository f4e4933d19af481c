//! The stages of a run and their times.

use core::time::Duration;
use std::time::Instant;

use crate::messages::words;
use crate::plan::Plan;

words! {
    /// The stages of a run, as RFC 9411 §4.3.4 names them. Only [`Sustain`](Self::Sustain) counts.
    Stage {
        /// Threads, sockets and keys are prepared, and one transaction is tried.
        Initialise = "initialise",
        /// Connections start one by one.
        RampUp = "ramp-up",
        /// The measured part, with all connections in flight.
        Sustain = "sustain",
        /// No more starts; connections in flight end.
        RampDown = "ramp-down",
        /// Waits for the referee's log and compares it.
        Collect = "collect",
    }
}

/// The times of a run, equal for all its threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) start: Instant,
    pub(crate) sustain_start: Instant,
    pub(crate) sustain_end: Instant,
    /// After this time, the next request of a connection is its last one, so that the run can end.
    pub(crate) asks_until: Instant,
    /// The width of the bins in which transactions are counted for the steady state.
    pub(crate) bin_width: Duration,
    pub(crate) bins: usize,
}

/// Number of bins, if bins of 100 ms to 1 s allow it.
const BINS: u64 = 20;
const BIN_MS_MIN: u64 = 100;
const BIN_MS_MAX: u64 = 1000;

impl Schedule {
    pub(crate) fn new(plan: &Plan, start: Instant) -> Self {
        let sustain_start = start + Duration::from_millis(plan.warm_up_ms);
        let sustain_end = sustain_start + Duration::from_millis(plan.sustain_ms);
        let bin_ms = match plan.transactions {
            // the run may end much earlier
            Some(_) => BIN_MS_MIN,
            None => (plan.sustain_ms / BINS).clamp(BIN_MS_MIN, BIN_MS_MAX),
        };
        Self {
            start,
            sustain_start,
            sustain_end,
            asks_until: sustain_end + plan.phase_max(),
            bin_width: Duration::from_millis(bin_ms),
            // the remainder has no bin: a short bin would look slow
            bins: usize::try_from(plan.sustain_ms / bin_ms).unwrap_or(usize::MAX),
        }
    }

    /// Returns the schedule of the first transaction, before the run.
    pub(crate) fn probe(plan: &Plan, start: Instant) -> Self {
        let (end, asks_until) = (start + 8 * plan.phase_max(), start + plan.phase_max());
        Self { sustain_start: end, sustain_end: end, asks_until, ..Self::new(plan, start) }
    }

    /// Returns the schedule of a run that ended when a number of transactions was reached, or at
    /// the planned end. Each of its bins consists of a whole number of planned bins.
    pub(crate) fn ended(self, at: Instant) -> Self {
        let least = self.sustain_start + Duration::from_nanos(1);
        let sustain_end = at.clamp(least, self.sustain_end);
        let sustained = sustain_end - self.sustain_start;
        let fine = u64::try_from(sustained.as_millis()).unwrap_or(u64::MAX) / BIN_MS_MIN;
        let bin_ms = (fine / BINS).clamp(1, BIN_MS_MAX / BIN_MS_MIN) * BIN_MS_MIN;
        let bin_width = Duration::from_millis(bin_ms);
        let bins = usize::try_from(sustained.as_nanos() / bin_width.as_nanos());
        Self { sustain_end, bin_width, bins: bins.unwrap_or(usize::MAX), ..self }
    }

    pub(crate) fn stage(&self, now: Instant) -> Stage {
        if now < self.sustain_start {
            Stage::RampUp
        } else if now < self.sustain_end {
            Stage::Sustain
        } else {
            Stage::RampDown
        }
    }

    /// Returns the first start of connection `index` of `count`.
    pub(crate) fn first_start(&self, index: u32, count: u32) -> Instant {
        let ramp = (self.sustain_start - self.start) / 2;
        self.start + ramp * index / count.max(1)
    }

    /// Returns the bin of a time in the sustained part.
    pub(crate) fn bin_of(&self, now: Instant) -> Option<usize> {
        let since = now.checked_duration_since(self.sustain_start)?;
        let bin = usize::try_from(since.as_nanos() / self.bin_width.as_nanos()).ok()?;
        (bin < self.bins).then_some(bin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;

    #[test]
    fn stages_follow_each_other_and_bins_cover_the_sustained_part() {
        let plan = Plan {
            warm_up_ms: 1000,
            sustain_ms: 2050,
            connections: 10,
            ..Plan::new(Protocol::Tls13)
        };
        let start = Instant::now();
        let schedule = Schedule::new(&plan, start);
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(schedule.stage(at(999)), Stage::RampUp);
        assert_eq!(schedule.stage(at(1000)), Stage::Sustain);
        assert_eq!(schedule.stage(at(3050)), Stage::RampDown);
        assert_eq!(schedule.bins, 20, "twenty of 102 ms");
        assert_eq!(schedule.bin_of(at(999)), None);
        assert_eq!(schedule.bin_of(at(1000)), Some(0));
        assert_eq!(schedule.bin_of(at(1000 + 102 * 19)), Some(19));
        assert_eq!(schedule.bin_of(at(3045)), None);
        assert_eq!(schedule.first_start(0, 10), start);
        assert_eq!(schedule.first_start(5, 10), at(250));
    }

    #[test]
    fn an_ended_run_has_bins_up_to_its_end() {
        let plan = Plan {
            warm_up_ms: 0,
            sustain_ms: 60_000,
            transactions: Some(9),
            ..Plan::new(Protocol::Tls13)
        };
        let start = Instant::now();
        let schedule = Schedule::new(&plan, start);
        assert_eq!((schedule.bins, schedule.bin_width.as_millis()), (600, 100));
        for (ms, bins, width) in [(0, 0, 100), (950, 9, 100), (4500, 22, 200), (90_000, 60, 1000)] {
            let ended = schedule.ended(start + Duration::from_millis(ms));
            assert_eq!((ended.bins, ended.bin_width.as_millis()), (bins, width), "{ms}");
            assert!(ended.sustain_start < ended.sustain_end);
            assert!(ended.sustain_end <= schedule.sustain_end);
        }
    }

    #[test]
    fn a_run_may_have_no_warm_up() {
        let plan = Plan { warm_up_ms: 0, ..Plan::new(Protocol::Tls13) };
        let start = Instant::now();
        let schedule = Schedule::new(&plan, start);
        assert_eq!(schedule.stage(start), Stage::Sustain);
        assert_eq!(schedule.first_start(9, 10), start);
    }
}
