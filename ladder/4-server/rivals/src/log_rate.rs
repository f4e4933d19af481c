//! The rate of a server, measured by reading its log while it grows.

use std::time::Instant;

/// The times at which the number of responses in the log changed.
#[derive(Debug, Default)]
pub(crate) struct LogRate {
    changes: Vec<(Instant, u64)>,
}

impl LogRate {
    /// Records that the log contains this number of requests now. A server writes in batches: an
    /// unchanged number is not recorded.
    pub(crate) fn see(&mut self, now: Instant, requests: u64) {
        if self.changes.last().is_none_or(|(_, known)| *known != requests) {
            self.changes.push((now, requests));
        }
    }

    /// Responses per second from the first to the last change in the span; `None` if there are
    /// fewer than two changes.
    pub(crate) fn per_s(&self, from: Instant, to: Instant) -> Option<f64> {
        let mut inside = self.changes.iter().filter(|(at, _)| (from..=to).contains(at));
        let first = inside.next()?;
        let last = inside.next_back()?;
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let rate = (last.1 - first.1) as f64 / (last.0 - first.0).as_secs_f64();
        rate.is_finite().then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn batches_do_not_distort_the_rate() {
        // the server answers 100 requests per second and writes its log twice per second; the test
        // reads the log ten times per second
        let start = Instant::now();
        let at = |tenths: u32| start + tenths * Duration::from_millis(100);
        let mut log_rate = LogRate::default();
        for tenths in 0..100 {
            log_rate.see(at(tenths), u64::from(tenths / 5) * 50);
        }
        let rate = log_rate.per_s(at(12), at(93));
        assert_eq!(rate, Some(100.0));
        assert_eq!(log_rate.per_s(at(11), at(14)), None);
        assert_eq!(LogRate::default().per_s(at(0), at(9)), None);
    }
}
