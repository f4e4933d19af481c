//! Counters and histograms, of fixed size: recording allocates nothing.

use core::time::Duration;

use hdrhistogram::Histogram;

/// Counters and histograms since the start.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Number of requests that were queued.
    pub submitted: u64,
    /// Number of requests that ended with a result.
    pub done: u64,
    /// Number of requests that a unit refused, or that ended with an error of the queue.
    pub failed: u64,
    /// Number of requests whose ticket was dropped before they ended.
    pub cancelled: u64,
    /// Number of requests refused because all slots, or all slots of their caller, were in use.
    pub turned_away: u64,
    /// Number of requests retried on another unit.
    pub retried: u64,
    /// Number of results whose check failed.
    pub faults: u64,
    /// Number of quarantined units, including those readmitted since.
    pub quarantines: u64,
    /// Number of calls of units by batch size: `fill[n]` calls had n requests.
    pub fill: Vec<u64>,
    /// Number of waiting requests at each arrival.
    pub queue_depth: Histogram<u64>,
    /// Linger times of batches that lingered, in nanoseconds.
    pub linger_ns: Histogram<u64>,
    /// Durations of unit calls, in nanoseconds.
    pub service_ns: Histogram<u64>,
    /// Times from submission to the end of a request, in nanoseconds.
    pub response_ns: Histogram<u64>,
}

impl Stats {
    /// Creates counters for batches of up to `width` requests and a queue of `capacity`.
    pub(crate) fn new(width: usize, capacity: usize) -> Self {
        Self {
            submitted: 0,
            done: 0,
            failed: 0,
            cancelled: 0,
            turned_away: 0,
            retried: 0,
            faults: 0,
            quarantines: 0,
            fill: vec![0; width + 1],
            queue_depth: histogram(u64::try_from(capacity).unwrap_or(u64::MAX).max(2)),
            linger_ns: histogram(TIME_NS_MAX),
            service_ns: histogram(TIME_NS_MAX),
            response_ns: histogram(TIME_NS_MAX),
        }
    }

    /// Returns the number of unit calls.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.fill.iter().sum()
    }

    /// Returns the mean number of requests in a unit call.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn mean_fill(&self) -> f64 {
        let requests: u64 = (0..).zip(&self.fill).map(|(n, calls)| n * calls).sum();
        requests as f64 / self.batches().max(1) as f64
    }
}

/// One hundred seconds.
const TIME_NS_MAX: u64 = 100_000_000_000;

/// Returns a histogram from 1 to `max` with two significant digits. `saturating_record` counts a
/// value above the range as the maximum.
fn histogram(max: u64) -> Histogram<u64> {
    Histogram::new_with_bounds(1, max, 2).expect("1 and above is a range")
}

pub(crate) fn record_time(histogram: &mut Histogram<u64>, time: Duration) {
    histogram.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}
