//! Counts and times of one thread.

use core::time::Duration;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::arrival_counts::ArrivalCounts;
use crate::counts::Counts;
use crate::latency::Latency;
use crate::live::LiveCounts;
use crate::phase::{Failure, Phase};
use crate::request_spec::TransactionEvent;
use crate::schedule::{Schedule, Stage};
use crate::series::{Point, Series};
use crate::task::Task;
use crate::times::ByResumption;

/// The counts and times of one thread, or the sums over several threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tally {
    /// The counts of the whole run, from the first connection to the last.
    pub(crate) whole: Counts,
    /// In the sustained part.
    pub(crate) sustain: Counts,
    /// The plain part of `whole`.
    pub(crate) plain: Counts,
    /// Transactions by bin of the sustained part.
    pub(crate) bins: Vec<u64>,
    /// Times of TCP connections and of handshakes in the sustained part.
    pub(crate) connect: Latency,
    pub(crate) handshake: Latency,
    /// Separate times of full and resumed sessions, if the plan resumes sessions.
    pub(crate) by_resumption: Option<ByResumption>,
    /// Times of transactions. An open loop measures from the intended start to the last byte, and
    /// counts transactions whose intended start is in the sustained part. A closed loop measures
    /// from opening the socket to the last byte, and counts transactions whose last byte is in the
    /// sustained part.
    pub(crate) response: Latency,
    /// Arrivals of an open loop: in the sustained part, and in the whole run.
    pub(crate) arrivals: ArrivalCounts,
    pub(crate) arrivals_whole: ArrivalCounts,
    pub(crate) series: Series,
    /// Connections in flight when the run was stopped.
    pub(crate) abandoned: u64,
}

/// Counts the events of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) schedule: Schedule,
    pub(crate) tally: Tally,
    is_open: bool,
}

/// An arrival is late if it begins more than this time after its intended start. This limit is far
/// above the timer's resolution.
const LATE: Duration = Duration::from_millis(1);

/// One turn of the event loop or of the scheduler does not cause a longer delay than this.
const BEHIND: Duration = Duration::from_millis(20);

impl Tally {
    pub(crate) fn new(schedule: &Schedule, resumes: bool) -> Self {
        Self {
            whole: Counts::default(),
            sustain: Counts::default(),
            plain: Counts::default(),
            bins: vec![0; schedule.bins],
            connect: Latency::new(),
            handshake: Latency::new(),
            by_resumption: resumes.then(ByResumption::new),
            response: Latency::new(),
            arrivals: ArrivalCounts::default(),
            arrivals_whole: ArrivalCounts::default(),
            series: Series::new(schedule),
            abandoned: 0,
        }
    }

    /// Combines the bins that were planned into those of `ended`, which describes how the run
    /// ended.
    pub(crate) fn end_bins(&mut self, planned: &Schedule, ended: &Schedule) {
        let each = ended.bin_width.as_nanos() / planned.bin_width.as_nanos();
        let each = usize::try_from(each).unwrap_or(1).max(1);
        let bins = self.bins.chunks_exact(each).take(ended.bins);
        self.bins = bins.map(|bins| bins.iter().sum()).collect();
    }

    /// Returns whether a tally that came from another process has the form and the order of
    /// magnitude of one of this schedule.
    pub(crate) fn fits(&self, schedule: &Schedule, resumes: bool) -> bool {
        self.bins.len() == schedule.bins
            && self.series.fits(schedule)
            && self.by_resumption.is_some() == resumes
            && [&self.whole, &self.sustain, &self.plain].into_iter().all(Counts::is_plausible)
    }

    pub(crate) fn live_counts(&self) -> LiveCounts {
        LiveCounts {
            attempts: self.whole.attempts,
            confirmed: self.whole.confirmed,
            transactions: self.whole.transactions,
            failed: self.whole.failed(),
            timed_out: self.whole.timeouts(),
            dropped: self.arrivals_whole.dropped,
            body_bytes: self.whole.body_bytes,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.whole.add(&other.whole);
        self.sustain.add(&other.sustain);
        self.plain.add(&other.plain);
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin += more;
        }
        self.connect.add(&other.connect);
        self.handshake.add(&other.handshake);
        if let (Some(by_resumption), Some(more)) = (&mut self.by_resumption, &other.by_resumption) {
            by_resumption.add(more);
        }
        self.response.add(&other.response);
        self.arrivals.add(other.arrivals);
        self.arrivals_whole.add(other.arrivals_whole);
        self.series.add(&other.series);
        self.abandoned += other.abandoned;
    }
}

impl Recorder {
    pub(crate) fn new(schedule: &Schedule, is_open: bool, resumes: bool) -> Self {
        Self { schedule: *schedule, tally: Tally::new(schedule, resumes), is_open }
    }

    /// Counts an event in the stage of its own time, because a turn of the loop may extend over the
    /// end of a stage.
    fn count(&mut self, at: Instant, is_plain: bool, change: impl Fn(&mut Counts)) {
        change(&mut self.tally.whole);
        if is_plain {
            change(&mut self.tally.plain);
        }
        if self.is_sustained(at) {
            change(&mut self.tally.sustain);
        }
    }

    fn is_sustained(&self, at: Instant) -> bool {
        self.schedule.stage(at) == Stage::Sustain
    }

    fn second(&mut self, at: Instant, change: impl FnOnce(&mut Point)) {
        if let Some(second) = self.tally.series.at(&self.schedule, at) {
            change(second);
        }
    }

    pub(crate) fn attempt(&mut self, task: Task, at: Instant) {
        self.count(at, task.is_plain, |counts| {
            counts.attempts += 1;
            counts.retries += u64::from(task.retries > 0);
        });
        self.second(at, |second| second.attempts += 1);
    }

    /// Counts a connection that should resume a session. `found` is true if there was a session to
    /// offer.
    pub(crate) fn offers(&mut self, task: Task, found: bool, at: Instant) {
        self.count(at, task.is_plain, |counts| {
            counts.resumptions.offered += u64::from(found);
            counts.resumptions.starved += u64::from(!found);
        });
    }

    /// Counts an arrival that begins; `queued` if it waited for a connection.
    pub(crate) fn began(&mut self, task: Task, queued: bool, at: Instant) {
        let by = at.saturating_duration_since(task.intended);
        self.count_arrival(task.intended, |counts| {
            counts.arrivals += 1;
            counts.queued += u64::from(queued);
            counts.late += u64::from(by > LATE && !queued);
        });
        if self.is_sustained(task.intended) != self.is_sustained(at) && by > BEHIND {
            self.tally.arrivals.outside += 1;
            self.tally.arrivals.outside_queued += u64::from(queued);
        }
    }

    /// Counts an arrival that never began: its time is infinite.
    pub(crate) fn dropped(&mut self, intended: Instant) {
        self.count_arrival(intended, |counts| {
            counts.arrivals += 1;
            counts.dropped += 1;
        });
        if self.is_sustained(intended) {
            self.tally.response.record_never();
        }
        self.second(intended, |second| second.dropped += 1);
    }

    fn count_arrival(&mut self, at: Instant, change: impl Fn(&mut ArrivalCounts)) {
        change(&mut self.tally.arrivals_whole);
        if self.is_sustained(at) {
            change(&mut self.tally.arrivals);
        }
    }

    pub(crate) fn event(&mut self, task: Task, event: TransactionEvent, at: Instant) {
        let is_plain = task.is_plain;
        match event {
            TransactionEvent::Connected { connect } => {
                if self.is_sustained(at) {
                    self.tally.connect.record(connect);
                }
            }
            TransactionEvent::ClientDone { group, hello_retry, verified, refused } => {
                self.count(at, is_plain, |counts| {
                    counts.client_done += 1;
                    counts.signatures_verified += u64::from(verified);
                    counts.resumptions.refused += u64::from(refused);
                    counts.hello_retries += u64::from(hello_retry);
                    if let Some(group) = group {
                        *counts.groups.entry(group).or_default() += 1;
                    }
                });
            }
            TransactionEvent::Confirmed { handshake, resumed, early_data } => {
                if self.is_sustained(at) {
                    self.tally.handshake.record(handshake);
                }
                self.count(at, is_plain, |counts| {
                    counts.confirmed += 1;
                    counts.resumptions.accepted += u64::from(resumed);
                    counts.resumptions.early_data += u64::from(early_data);
                });
            }
            TransactionEvent::Response { bytes, .. } => self.count(at, is_plain, |counts| {
                counts.responses += 1;
                counts.response_bytes += bytes;
            }),
            TransactionEvent::Complete { service, response, .. } => {
                self.complete(task, (service, response), at);
            }
        }
        if self.is_sustained(at)
            && let Some(by_resumption) = self.tally.by_resumption.as_mut().filter(|_| !is_plain)
        {
            by_resumption.record(event);
        }
    }

    fn complete(&mut self, task: Task, (service, response): (Duration, Duration), at: Instant) {
        self.count(at, task.is_plain, |counts| counts.transactions += 1);
        if let Some(bin) = self.schedule.bin_of(at).and_then(|bin| self.tally.bins.get_mut(bin)) {
            *bin += 1;
        }
        let (time, decides) = if self.is_open { (response, task.intended) } else { (service, at) };
        if self.is_sustained(decides) {
            self.tally.response.record(time);
        }
        self.second(at, |second| second.transactions += 1);
    }

    /// Counts the end of a connection, successful or not, with the bytes of bodies received.
    pub(crate) fn ended(&mut self, task: Task, bytes: u64, at: Instant) {
        self.count(at, task.is_plain, |counts| counts.body_bytes += bytes);
    }

    pub(crate) fn failed(&mut self, task: Task, failure: &Failure, at: Instant) {
        self.count(at, task.is_plain, |counts| counts.fail(failure.clone()));
        self.second(at, |second| second.failed += 1);
    }

    pub(crate) fn timed_out(&mut self, task: Task, phase: Phase, at: Instant) {
        self.count(at, task.is_plain, |counts| {
            *counts.timed_out.entry(phase).or_default() += 1;
        });
        self.second(at, |second| second.timed_out += 1);
    }

    /// Counts an arrival that timed out finally: its time is infinite.
    pub(crate) fn never_completed(&mut self, task: Task) {
        if self.is_open && self.is_sustained(task.intended) {
            self.tally.response.record_never();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;
    use crate::plan::Plan;

    fn task(intended: Instant) -> Task {
        Task::new(intended, 0)
    }

    #[test]
    fn events_count_at_their_own_time() {
        let plan = Plan::new(Protocol::Tls13);
        let schedule = Schedule::new(&plan, Instant::now());
        let ms = Duration::from_millis(1);
        let event = TransactionEvent::Complete { service: ms, response: 2 * ms, resumed: true };
        let just = Duration::from_nanos(1);
        let of = |is_open| {
            let mut recorder = Recorder::new(&schedule, is_open, true);
            for at in [schedule.sustain_start, schedule.sustain_end] {
                recorder.event(task(at - 2 * ms), event, at - just);
                recorder.event(task(at - 2 * ms), event, at);
            }
            recorder.tally
        };
        let closed = of(false);
        assert_eq!((closed.whole.transactions, closed.sustain.transactions), (4, 2));
        let by_resumption = closed.by_resumption.as_ref().map(|by_resumption| {
            (by_resumption.full.transactions, by_resumption.resumed.transactions)
        });
        assert_eq!(by_resumption, Some((0, 2)));
        assert_eq!(closed.bins.iter().sum::<u64>(), 2);
        assert_eq!(closed.response.count(), 2);
        assert!(
            closed.response.quantile_ns(1.0).is_some_and(|ns| ns < 1_500_000),
            "from the start"
        );
        // An open loop counts by the intended start. The first two transactions are before the
        // sustained part, and the last two transactions are in it.
        let open = of(true);
        assert_eq!((open.sustain.transactions, open.response.count()), (2, 2));
        assert!(open.response.quantile_ns(0.0).is_some_and(|ns| ns > 1_500_000), "from the intent");
    }

    #[test]
    fn dropped_arrivals_have_an_infinite_time_and_queued_ones_are_not_late() {
        let plan = Plan::new(Protocol::Tls13);
        let schedule = Schedule::new(&plan, Instant::now());
        let at = schedule.sustain_start;
        let mut recorder = Recorder::new(&schedule, true, false);
        recorder.began(task(at), false, at + LATE);
        recorder.began(task(at), true, at + 5 * LATE);
        recorder.began(task(at), false, at + 5 * LATE);
        recorder.dropped(at);
        recorder.dropped(schedule.start);
        let arrivals = ArrivalCounts {
            arrivals: 4,
            late: 1,
            queued: 1,
            dropped: 1,
            ..ArrivalCounts::default()
        };
        assert_eq!(recorder.tally.arrivals, arrivals);
        assert_eq!(
            recorder.tally.arrivals_whole,
            ArrivalCounts { arrivals: 5, dropped: 2, ..arrivals }
        );
        assert_eq!((recorder.tally.response.count(), recorder.tally.response.above()), (1, 1));
    }
}
