//! Counts and times of a run by second.

use core::time::Duration;
use std::time::Instant;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::latency::Latency;
use crate::schedule::{Schedule, Stage};

/// Maximum number of points. The points of longer runs are wider.
const POINTS_MAX: u64 = 600;

/// Significant digits of the times of a second.
const DIGITS: u8 = 2;

/// Counts and times by second, from the first connection to the end of the sustained part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    width: Duration,
    seconds: Vec<Second>,
}

/// Counts and times of one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Second {
    pub(crate) attempts: u64,
    pub(crate) transactions: u64,
    pub(crate) failed: u64,
    pub(crate) timed_out: u64,
    pub(crate) dropped: u64,
    /// Times of transactions with two significant digits; three would take ten times the memory.
    /// `None` until the first transaction of the second.
    #[serde(with = "times_of_second")]
    times: Option<Histogram<u32>>,
}

/// One second of a run, or a longer interval if the run is longer than ten minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The start of the point, counted from the first connection.
    pub from: Duration,
    /// The length of the point. The last point may be shorter than the others.
    pub width: Duration,
    /// The stage at the start of the point.
    pub stage: Stage,
    /// Connections begun.
    pub attempts: u64,
    /// Transactions completed.
    pub transactions: u64,
    /// Failures.
    pub failed: u64,
    /// Connections that the client closed after its timeout.
    pub timed_out: u64,
    /// Arrivals that never began.
    pub dropped: u64,
    /// The median time of the transactions that completed in this point, with two significant
    /// digits.
    pub p50_ns: Option<u64>,
    /// The 99th percentile of these times.
    pub p99_ns: Option<u64>,
}

impl Series {
    pub(crate) fn new(schedule: &Schedule) -> Self {
        let whole = schedule.sustain_end - schedule.start;
        let width = Duration::from_secs(whole.as_secs().div_ceil(POINTS_MAX).max(1));
        let count = whole.as_nanos().div_ceil(width.as_nanos());
        let seconds = vec![Second::default(); usize::try_from(count).unwrap_or(0)];
        Self { width, seconds }
    }

    /// Returns whether this is a series of the schedule.
    pub(crate) fn fits(&self, schedule: &Schedule) -> bool {
        let own = Self::new(schedule);
        (self.width, self.seconds.len()) == (own.width, own.seconds.len())
    }

    /// Returns the second that contains a time; `None` after the end.
    pub(crate) fn at(&mut self, schedule: &Schedule, now: Instant) -> Option<&mut Second> {
        if now >= schedule.sustain_end {
            return None;
        }
        let number =
            now.saturating_duration_since(schedule.start).as_nanos() / self.width.as_nanos();
        self.seconds.get_mut(usize::try_from(number).ok()?)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (own, other) in self.seconds.iter_mut().zip(&other.seconds) {
            own.attempts += other.attempts;
            own.transactions += other.transactions;
            own.failed += other.failed;
            own.timed_out += other.timed_out;
            own.dropped += other.dropped;
            match (&mut own.times, &other.times) {
                (Some(own), Some(other)) => {
                    own.add(other).expect("all histograms have the same bounds");
                }
                (own @ None, Some(other)) => *own = Some(other.clone()),
                (_, None) => {}
            }
        }
    }

    /// Returns all points; for a stopped run, the points before its end.
    pub(crate) fn points(&self, schedule: &Schedule, until: Option<Instant>) -> Vec<Point> {
        let (start, end) = (schedule.start, schedule.sustain_end);
        let end = until.unwrap_or(end).min(end);
        let point = |(number, second): (u32, &Second)| {
            let from = self.width * number;
            let quantile = |q| Some(second.times.as_ref()?.value_at_quantile(q));
            Point {
                from,
                width: self.width.min(end.saturating_duration_since(start + from)),
                stage: schedule.stage(start + from),
                attempts: second.attempts,
                transactions: second.transactions,
                failed: second.failed,
                timed_out: second.timed_out,
                dropped: second.dropped,
                p50_ns: quantile(0.5),
                p99_ns: quantile(0.99),
            }
        };
        let begun = |point: &Point| !point.width.is_zero();
        (0..).zip(&self.seconds).map(point).take_while(begun).collect()
    }
}

impl Second {
    pub(crate) fn complete(&mut self, time: Duration) {
        self.transactions += 1;
        let times = self.times.get_or_insert_with(|| {
            Histogram::new_with_bounds(Latency::LOW_NS, Latency::HIGH_NS, DIGITS)
                .expect("the bounds are constants that the histogram takes")
        });
        times.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// The times of a second as `HdrHistogram`'s text.
mod times_of_second {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{DIGITS, Histogram};
    use crate::latency::{decoded, encoded};

    pub(super) fn serialize<S: Serializer>(
        times: &Option<Histogram<u32>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        times.as_ref().map(encoded).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Histogram<u32>>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        decoded(&text, DIGITS)
            .map(Some)
            .ok_or_else(|| D::Error::custom("not the times of a second"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;
    use crate::plan::Plan;

    fn schedule(warm_up_ms: u64, sustain_ms: u64) -> Schedule {
        let plan = Plan { warm_up_ms, sustain_ms, ..Plan::new(Protocol::Tls13) };
        Schedule::new(&plan, Instant::now())
    }

    #[test]
    fn seconds_have_separate_counts_and_threads_add_up() {
        let schedule = schedule(1000, 1500);
        let mut series = Series::new(&schedule);
        let at = |ms| schedule.start + Duration::from_millis(ms);
        (1..=100).for_each(|ms| {
            series.at(&schedule, at(1200)).unwrap().complete(Duration::from_millis(ms));
        });
        series.at(&schedule, at(2499)).unwrap().failed += 1;
        assert!(series.at(&schedule, at(2500)).is_none(), "later events are in no second");
        let mut sum = Series::new(&schedule);
        sum.add(&series);
        sum.add(&series);
        let points = sum.points(&schedule, None);
        let counts: Vec<_> = points.iter().map(|p| (p.transactions, p.failed)).collect();
        assert_eq!(counts, [(0, 0), (200, 0), (0, 2)]);
        let p99 = points[1].p99_ns.unwrap();
        assert!(p99.abs_diff(99_000_000) < 1_000_000, "{p99}");
        assert_eq!((points[0].p50_ns, points[0].stage), (None, Stage::RampUp));
        assert_eq!((points[2].width.as_millis(), points[2].stage), (500, Stage::Sustain));
        let begun = sum.points(&schedule, Some(at(1300)));
        assert_eq!((begun.len(), begun[1].width.as_millis()), (2, 300), "stopped");
    }

    #[test]
    fn the_number_of_points_is_limited() {
        let series = Series::new(&schedule(0, Plan::MS_MAX));
        assert_eq!((series.seconds.len(), series.width.as_secs()), (600, 144));
    }
}
