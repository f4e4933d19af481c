//! Counters and histograms, of fixed size: recording allocates nothing.

use core::time::Duration;

use hdrhistogram::Histogram;

/// What a queue did so far.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Requests that were queued.
    pub submitted: u64,
    /// Requests that ended with a result.
    pub done: u64,
    /// Requests that a unit refused, or that ended with an error of the queue.
    pub failed: u64,
    /// Requests whose ticket was dropped before they ended.
    pub cancelled: u64,
    /// Requests that found no slot, their caller's or any.
    pub turned_away: u64,
    /// Requests that were done again on another unit.
    pub retried: u64,
    /// Results whose check failed.
    pub faults: u64,
    /// Units that were taken out, and may have come back since.
    pub quarantines: u64,
    /// Callbacks that panicked.
    pub callback_panics: u64,
    /// Calls of units, by the number of their requests: `fill[n]` had n of them.
    pub fill: Vec<u64>,
    /// Requests in the queue when another came.
    pub queue_depth: Distribution,
    /// Nanoseconds that batches waited on a clock for company, of those that did.
    pub linger_ns: Distribution,
    /// Nanoseconds of a call of a unit.
    pub service_ns: Distribution,
    /// Nanoseconds from the submission of a request to its end.
    pub response_ns: Distribution,
}

impl Stats {
    /// With room for batches of up to `width` requests and for `capacity` of them in the queue.
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
            callback_panics: 0,
            fill: vec![0; width + 1],
            queue_depth: Distribution::new(u64::try_from(capacity).unwrap_or(u64::MAX).max(2)),
            linger_ns: Distribution::new(TIME_NS_MAX),
            service_ns: Distribution::new(TIME_NS_MAX),
            response_ns: Distribution::new(TIME_NS_MAX),
        }
    }

    /// Calls of units.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.fill.iter().sum()
    }

    /// Requests of a call of a unit, in the mean.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn mean_fill(&self) -> f64 {
        let requests: u64 = (0..).zip(&self.fill).map(|(n, calls)| n * calls).sum();
        requests as f64 / self.batches().max(1) as f64
    }
}

/// A histogram with a fixed range and two significant digits.
#[derive(Clone, Debug)]
pub struct Distribution(Histogram<u64>);

/// A hundred seconds.
const TIME_NS_MAX: u64 = 100_000_000_000;

impl Distribution {
    fn new(max: u64) -> Self {
        Self(Histogram::new_with_bounds(1, max, 2).expect("1 and above is a range"))
    }

    /// A value above the range counts as its end.
    pub(crate) fn record(&mut self, value: u64) {
        self.0.saturating_record(value);
    }

    pub(crate) fn record_time(&mut self, time: Duration) {
        self.record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// What a share `q` in [0, 1] of the values does not exceed; 0 of nothing.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        self.0.value_at_quantile(q)
    }

    /// The mean; 0 of nothing.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.mean()
    }

    /// The largest; 0 of nothing.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.0.max()
    }

    /// The histogram itself, to export.
    #[must_use]
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}
