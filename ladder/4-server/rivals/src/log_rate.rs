//! The rate of a server, read from its log while it grows.

use std::time::Instant;

/// When the log was seen to have how many responses.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    changes: Vec<(Instant, u64)>,
}

impl Watch {
    /// The log has `requests` now. A server writes in batches: only the moments at which the number
    /// changes tell something.
    pub(crate) fn see(&mut self, now: Instant, requests: u64) {
        if self.changes.last().is_none_or(|(_, known)| *known != requests) {
            self.changes.push((now, requests));
        }
    }

    /// Responses per second from the first change in the span to the last one; `None` of fewer than
    /// two changes.
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
    fn batches_do_not_blur_the_rate() {
        // 100 per second, written every half second, looked at every tenth.
        let start = Instant::now();
        let at = |tenths: u32| start + tenths * Duration::from_millis(100);
        let mut watch = Watch::default();
        for tenths in 0..100 {
            watch.see(at(tenths), u64::from(tenths / 5) * 50);
        }
        let rate = watch.per_s(at(12), at(93));
        assert_eq!(rate, Some(100.0));
        assert_eq!(watch.per_s(at(11), at(14)), None);
        assert_eq!(Watch::default().per_s(at(0), at(9)), None);
    }
}
