//! The time after which another signer is asked too, and the share of requests for which that may be.

use core::time::Duration;

use crate::config::RelaySettings;

/// Decides about second requests. Each worker has its own.
pub(crate) struct Hedging {
    /// The time in the settings.
    fixed: Option<Duration>,
    longest: Duration,
    /// The times of the last answers; the oldest one is at `next` once they are [`RECENT`].
    recent: Vec<Duration>,
    next: usize,
    delay: Duration,
    percent: u32,
    /// The second requests that were earned, in hundredths.
    budget: u32,
}

/// The number of answers whose times are kept.
const RECENT: usize = 256;
/// The delay is computed anew after so many answers, and for the first time then.
const COMPUTE_EVERY: usize = 32;
/// The shortest measured delay: less is noise of the scheduler.
const DELAY_MIN: Duration = Duration::from_millis(1);
/// The cost of a second request.
const COST: u32 = 100;
/// The maximum number of second requests at once, after many requests that needed none.
const BURST: u32 = 10;

impl Hedging {
    pub(crate) fn new(settings: &RelaySettings) -> Self {
        Self {
            fixed: settings.hedge_after,
            longest: settings.limit / 2,
            recent: Vec::new(),
            next: 0,
            // Until the times of answers are known.
            delay: settings.limit / 4,
            percent: settings.hedge_percent_max,
            budget: 0,
        }
    }

    /// Returns the time from a request to the second one.
    pub(crate) fn delay(&self) -> Duration {
        self.fixed.unwrap_or(self.delay)
    }

    /// Counts a request.
    pub(crate) fn requested(&mut self) {
        self.budget = (self.budget + self.percent).min(BURST * COST);
    }

    /// Returns whether a second request may be sent, and counts it.
    pub(crate) fn may(&mut self) -> bool {
        let left = self.budget.checked_sub(COST);
        self.budget = left.unwrap_or(self.budget);
        left.is_some()
    }

    /// Takes the time that an answer needed.
    pub(crate) fn answered(&mut self, took: Duration) {
        if self.recent.len() < RECENT {
            self.recent.push(took);
        } else {
            self.recent[self.next] = took;
        }
        self.next = (self.next + 1) % RECENT;
        if self.next.is_multiple_of(COMPUTE_EVERY) {
            let mut times = self.recent.clone();
            let at = times.len() * 95 / 100;
            let (_, p95, _) = times.select_nth_unstable(at);
            self.delay = (*p95).clamp(DELAY_MIN.min(self.longest), self.longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hedging(percent: u32) -> Hedging {
        let limit = Duration::from_millis(400);
        Hedging::new(&RelaySettings {
            chain: "".into(),
            key: "".into(),
            roots: "".into(),
            limit,
            hedge_after: None,
            hedge_percent_max: percent,
            upstreams: Vec::new(),
        })
    }

    #[test]
    fn second_requests_are_a_share_of_all() {
        for (percent, expected) in [(0, 0), (5, 50), (50, 500)] {
            let mut hedging = hedging(percent);
            let mut ask = || {
                hedging.requested();
                hedging.may()
            };
            assert_eq!((0..1000).filter(|_| ask()).count(), expected, "{percent}");
            (0..1000).for_each(|_| hedging.requested());
            let burst = (0..1000).filter(|_| hedging.may()).count();
            assert_eq!(burst, if percent == 0 { 0 } else { 10 }, "no more than a burst");
        }
    }

    #[test]
    fn the_delay_is_the_95th_percentile_of_recent_answers() {
        let mut hedging = hedging(5);
        let ms = Duration::from_millis;
        assert_eq!(hedging.delay(), ms(100), "nothing is known yet");
        // 256 answers of 10 to 19 ms, and then as many of 40 ms
        (0..RECENT as u64).for_each(|number| hedging.answered(ms(10 + number % 10)));
        assert_eq!(hedging.delay(), ms(19));
        (0..RECENT).for_each(|_| hedging.answered(ms(40)));
        assert_eq!(hedging.delay(), ms(40));
        (0..RECENT).for_each(|_| hedging.answered(ms(1000)));
        assert_eq!(hedging.delay(), ms(200), "half of the limit");
        (0..RECENT).for_each(|_| hedging.answered(ms(0)));
        assert_eq!(hedging.delay(), ms(1));
        hedging.fixed = Some(ms(7));
        assert_eq!(hedging.delay(), ms(7));
    }
}
