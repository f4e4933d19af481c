//! What one thread counts and times.

use core::time::Duration;
use std::time::Instant;

use crate::counts::Counts;
use crate::latency::Latency;
use crate::manner::News;
use crate::phase::Failure;
use crate::schedule::{Schedule, Stage};

/// The counts and times of one thread, or of several added up.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// From the first connection to the last.
    pub(crate) whole: Counts,
    /// In the sustained part.
    pub(crate) sustain: Counts,
    /// Transactions by bin of the sustained part.
    pub(crate) bins: Vec<u64>,
    /// Handshakes of the sustained part.
    pub(crate) handshake: Latency,
    /// Transactions of the sustained part.
    pub(crate) transaction: Latency,
    /// Handshakes that took a second `ClientHello`, from the first connection to the last.
    pub(crate) hello_retries: u64,
    /// Connections that were dropped in flight when a run was broken off.
    pub(crate) abandoned: u64,
    in_sustain: bool,
}

impl Tally {
    pub(crate) fn new(bins: usize) -> Self {
        Self {
            whole: Counts::default(),
            sustain: Counts::default(),
            bins: vec![0; bins],
            handshake: Latency::new(),
            transaction: Latency::new(),
            hello_retries: 0,
            abandoned: 0,
            in_sustain: false,
        }
    }

    /// Says in which stage the next attempt, end or failure lies.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.in_sustain = stage == Stage::Sustain;
    }

    fn count(&mut self, change: impl Fn(&mut Counts)) {
        change(&mut self.whole);
        if self.in_sustain {
            change(&mut self.sustain);
        }
    }

    pub(crate) fn attempt(&mut self) {
        self.count(|counts| counts.attempts += 1);
    }

    /// Counts by the news' own time: a turn of the loop may reach over the end of a stage.
    pub(crate) fn news(&mut self, news: News, schedule: &Schedule, now: Instant) {
        self.enter(schedule.stage(now));
        match news {
            News::ClientDone { handshake, hello_retry, verified } => {
                self.count(|counts| {
                    counts.client_done += 1;
                    counts.signatures_verified += u64::from(verified);
                });
                self.hello_retries += u64::from(hello_retry);
                self.time(handshake, |tally| &mut tally.handshake);
            }
            News::Confirmed => self.count(|counts| counts.confirmed += 1),
            News::Complete { transaction } => {
                self.count(|counts| counts.transactions += 1);
                self.time(transaction, |tally| &mut tally.transaction);
                if let Some(bin) = schedule.bin_of(now).and_then(|bin| self.bins.get_mut(bin)) {
                    *bin += 1;
                }
            }
        }
    }

    fn time(&mut self, time: Duration, of: impl Fn(&mut Self) -> &mut Latency) {
        if self.in_sustain {
            of(self).record(time);
        }
    }

    /// A connection has ended, well or not, and so many bytes of its body had come.
    pub(crate) fn ended(&mut self, body_bytes: u64) {
        self.count(|counts| counts.body_bytes += body_bytes);
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        self.count(|counts| counts.fail(failure.clone()));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.whole.add(&other.whole);
        self.sustain.add(&other.sustain);
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin += more;
        }
        self.handshake.add(&other.handshake);
        self.transaction.add(&other.transaction);
        self.hello_retries += other.hello_retries;
        self.abandoned += other.abandoned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Protocol};

    #[test]
    fn news_count_by_their_own_time_whatever_turn_of_the_loop_they_came_in() {
        let plan = Plan::new(Protocol::Tls13);
        let schedule = Schedule::new(&plan, Instant::now());
        let news = News::Complete { transaction: Duration::from_millis(1) };
        let just = Duration::from_nanos(1);
        let mut tally = Tally::new(schedule.bins());
        tally.enter(Stage::RampUp);
        tally.news(news, &schedule, schedule.sustain_start - just);
        tally.news(news, &schedule, schedule.sustain_start);
        tally.news(news, &schedule, schedule.sustain_end - just);
        tally.news(news, &schedule, schedule.sustain_end);
        assert_eq!((tally.whole.transactions, tally.sustain.transactions), (4, 2));
        assert_eq!(tally.transaction.count(), 2);
        assert_eq!(tally.bins.iter().sum::<u64>(), 2);
    }
}
