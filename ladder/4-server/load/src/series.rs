//! Counts of a run by second.

use core::time::Duration;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::Schedule;

/// Maximum number of points. The points of longer runs are wider.
const POINTS_MAX: u64 = 600;

/// Counts of one second of a run, or of a longer interval if the run is longer than ten minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The start of the point in seconds, counted from the first connection.
    pub from_s: f64,
    /// The length of the point in seconds. The last point may be shorter than the others.
    pub width_s: f64,
    /// Connections begun.
    #[serde(rename = "begun")]
    pub attempts: u64,
    /// Transactions completed.
    #[serde(rename = "completed")]
    pub transactions: u64,
    /// Failures.
    pub failed: u64,
    /// Connections that the client closed after its timeout.
    #[serde(rename = "gave_up")]
    pub timed_out: u64,
    /// Arrivals that never began.
    #[serde(rename = "never_began")]
    pub dropped: u64,
}

/// Counts by second, from the first connection to the end of the sustained part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series(Vec<Point>);

impl Series {
    pub(crate) fn new(schedule: &Schedule) -> Self {
        let whole = schedule.sustain_end - schedule.start;
        let width = Duration::from_secs(whole.as_secs().div_ceil(POINTS_MAX).max(1));
        let starts = (0..).map(|number| width * number).take_while(|from| *from < whole);
        let point = |from: Duration| Point {
            from_s: from.as_secs_f64(),
            width_s: width.min(whole - from).as_secs_f64(),
            attempts: 0,
            transactions: 0,
            failed: 0,
            timed_out: 0,
            dropped: 0,
        };
        Self(starts.map(point).collect())
    }

    /// Returns whether this is a series of the schedule.
    pub(crate) fn fits(&self, schedule: &Schedule) -> bool {
        let form = |series: &Self| -> Vec<_> {
            series.0.iter().map(|point| (point.from_s, point.width_s)).collect()
        };
        form(self) == form(&Self::new(schedule))
    }

    /// Returns the second that contains a time; `None` after the end.
    pub(crate) fn at(&mut self, schedule: &Schedule, now: Instant) -> Option<&mut Point> {
        if now >= schedule.sustain_end {
            return None;
        }
        let since = now.saturating_duration_since(schedule.start).as_secs_f64();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times of a run are not negative, and at most a day"
        )]
        let number = (since / self.0.first()?.width_s) as usize;
        self.0.get_mut(number)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            sum.attempts += more.attempts;
            sum.transactions += more.transactions;
            sum.failed += more.failed;
            sum.timed_out += more.timed_out;
            sum.dropped += more.dropped;
        }
    }

    /// Returns all points; for a stopped run, the points before its end.
    pub(crate) fn points(mut self, schedule: &Schedule, until: Option<Instant>) -> Vec<Point> {
        if let Some(until) = until {
            let end_s = until.saturating_duration_since(schedule.start).as_secs_f64();
            self.0.retain(|point| point.from_s < end_s);
            if let Some(last) = self.0.last_mut() {
                last.width_s = last.width_s.min(end_s - last.from_s);
            }
        }
        self.0
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
        (1..=100).for_each(|ms| series.at(&schedule, at(1200 + ms)).unwrap().transactions += 1);
        series.at(&schedule, at(2499)).unwrap().failed += 1;
        assert!(series.at(&schedule, at(2500)).is_none(), "later events are in no second");
        let mut sum = Series::new(&schedule);
        sum.add(&series);
        sum.add(&series);
        assert!(sum.fits(&schedule));
        let points = sum.clone().points(&schedule, None);
        let counts: Vec<_> = points.iter().map(|p| (p.transactions, p.failed)).collect();
        assert_eq!(counts, [(0, 0), (200, 0), (0, 2)]);
        assert!((points[2].width_s - 0.5).abs() < 1e-9);
        let begun = sum.points(&schedule, Some(at(1300)));
        assert_eq!(begun.len(), 2, "stopped");
        assert!((begun[1].width_s - 0.3).abs() < 1e-9, "stopped");
    }

    #[test]
    fn the_number_of_points_is_limited() {
        let series = Series::new(&schedule(0, Plan::MS_MAX)).0;
        assert_eq!((series.len(), series[599].from_s), (600, 599.0 * 144.0));
    }
}
