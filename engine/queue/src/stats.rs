//! Counters, of fixed size: counting allocates nothing.

/// Counters since the start.
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
    /// Number of batches that lingered.
    pub lingered: u64,
}

impl Stats {
    /// Creates counters for batches of up to `width` requests.
    pub(crate) fn new(width: usize) -> Self {
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
            lingered: 0,
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
