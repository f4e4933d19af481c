//! What one thread counts and times.

use core::time::Duration;
use std::time::Instant;

use crate::counts::Counts;
use crate::kinds::Kinds;
use crate::latency::Latency;
use crate::live::StepTimes;
use crate::manner::News;
use crate::offered::Offered;
use crate::phase::{Failure, Phase};
use crate::schedule::{Schedule, Stage};
use crate::series::{Second, Series};
use crate::task::Task;
use crate::times::Times;

/// The counts and times of one thread, or of several added up.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// From the first connection to the last.
    pub(crate) whole: Counts,
    /// In the sustained part.
    pub(crate) sustain: Counts,
    /// The part of `whole` that was plain.
    pub(crate) plain: Counts,
    /// Transactions by bin of the sustained part.
    pub(crate) bins: Vec<u64>,
    /// Times of the sustained part: secure transactions, and plain ones.
    pub(crate) secure_times: Times,
    pub(crate) plain_times: Times,
    /// Full and resumed sessions apart, if some are to be resumed.
    pub(crate) kinds: Option<Kinds>,
    /// From the intended start to the last byte, of those whose start lies in the sustained part.
    /// In a closed loop they start when they are intended to, and the last byte's time decides.
    pub(crate) response: Latency,
    /// Arrivals of an open loop whose time lies in the sustained part, and all.
    pub(crate) offered: Offered,
    pub(crate) offered_whole: Offered,
    pub(crate) series: Series,
    /// Of the whole run, not of the sustained part alone.
    pub(crate) step_times: StepTimes<u64>,
    /// Handshakes that took a second `ClientHello`, from the first connection to the last.
    pub(crate) hello_retries: u64,
    /// Connections that were dropped in flight when a run was broken off.
    pub(crate) abandoned: u64,
    is_open: bool,
}

/// An arrival that begins later than this after its time is late: much more than a timer takes.
const LATE: Duration = Duration::from_millis(1);

/// An arrival that begins later than this after its time is not held up by a turn of the loop, nor
/// by one of the system's.
const BEHIND: Duration = Duration::from_millis(20);

impl Tally {
    pub(crate) fn new(schedule: &Schedule, is_open: bool, resumes: bool) -> Self {
        Self {
            whole: Counts::default(),
            sustain: Counts::default(),
            plain: Counts::default(),
            bins: vec![0; schedule.bins()],
            secure_times: Times::new(),
            plain_times: Times::new(),
            kinds: resumes.then(Kinds::new),
            response: Latency::new(),
            offered: Offered::default(),
            offered_whole: Offered::default(),
            series: Series::new(schedule),
            step_times: StepTimes::default(),
            hello_retries: 0,
            abandoned: 0,
            is_open,
        }
    }

    /// Counts what happened at `at`, by its own time: a turn of the loop may reach over the end of
    /// a stage.
    fn count(
        &mut self,
        (schedule, at): (&Schedule, Instant),
        is_plain: bool,
        change: impl Fn(&mut Counts),
    ) {
        change(&mut self.whole);
        if is_plain {
            change(&mut self.plain);
        }
        if schedule.stage(at) == Stage::Sustain {
            change(&mut self.sustain);
        }
    }

    fn second(&mut self, at: Instant, change: impl FnOnce(&mut Second)) {
        if let Some(second) = self.series.at(at) {
            change(second);
        }
    }

    /// A connection is begun.
    pub(crate) fn attempt(&mut self, schedule: &Schedule, task: Task, at: Instant) {
        self.count((schedule, at), task.is_plain, |counts| {
            counts.attempts += 1;
            counts.retries += u64::from(task.retries > 0);
        });
        self.second(at, |second| second.attempts += 1);
    }

    /// A connection that is to resume a session offers one, or has none.
    pub(crate) fn offers(&mut self, schedule: &Schedule, task: Task, found: bool, at: Instant) {
        self.count((schedule, at), task.is_plain, |counts| {
            counts.resumptions.offered += u64::from(found);
            counts.resumptions.starved += u64::from(!found);
        });
    }

    /// A client of an open loop begins, `queued` if it had to wait for a connection.
    pub(crate) fn began(&mut self, schedule: &Schedule, task: Task, queued: bool, at: Instant) {
        let by = at.saturating_duration_since(task.intended);
        self.offer(schedule, task.intended, |offered| {
            offered.arrivals += 1;
            offered.queued += u64::from(queued);
            offered.late += u64::from(by > LATE && !queued);
        });
        let [belongs, began] = [task.intended, at].map(|at| schedule.stage(at) == Stage::Sustain);
        if belongs != began && by > BEHIND {
            self.offered.outside += 1;
            self.offered.outside_queued += u64::from(queued);
        }
    }

    /// A client of an open loop never began: its time has no end.
    pub(crate) fn dropped(&mut self, schedule: &Schedule, intended: Instant) {
        self.offer(schedule, intended, |offered| {
            offered.arrivals += 1;
            offered.dropped += 1;
        });
        if schedule.stage(intended) == Stage::Sustain {
            self.response.record_never();
        }
        self.second(intended, |second| second.dropped += 1);
    }

    fn offer(&mut self, schedule: &Schedule, at: Instant, change: impl Fn(&mut Offered)) {
        change(&mut self.offered_whole);
        if schedule.stage(at) == Stage::Sustain {
            change(&mut self.offered);
        }
    }

    const fn times(&mut self, is_plain: bool) -> &mut Times {
        if is_plain { &mut self.plain_times } else { &mut self.secure_times }
    }

    /// News of a transaction.
    pub(crate) fn news(&mut self, schedule: &Schedule, task: Task, news: News, at: Instant) {
        let (when, is_plain) = ((schedule, at), task.is_plain);
        match news {
            News::Connected { connect } => self.step_times.connect.record(connect),
            News::ClientDone { hello_retry, verified, refused, .. } => {
                self.count(when, is_plain, |counts| {
                    counts.client_done += 1;
                    counts.signatures_verified += u64::from(verified);
                    counts.resumptions.refused += u64::from(refused);
                });
                self.hello_retries += u64::from(hello_retry);
            }
            News::Confirmed { handshake, resumed, early_data, .. } => {
                self.count(when, is_plain, |counts| {
                    counts.confirmed += 1;
                    counts.resumptions.accepted += u64::from(resumed);
                    counts.resumptions.early_data += u64::from(early_data);
                });
                self.step_times.handshake.record(handshake);
            }
            News::Response { bytes, .. } => self.count(when, is_plain, |counts| {
                counts.responses += 1;
                counts.response_bytes += bytes;
            }),
            News::Complete { service, response, .. } => {
                self.complete(schedule, task, (service, response), at);
            }
        }
        if schedule.stage(at) == Stage::Sustain {
            self.times(is_plain).record(news);
            if let Some(kinds) = self.kinds.as_mut().filter(|_| !is_plain) {
                kinds.record(news);
            }
        }
    }

    fn complete(
        &mut self,
        schedule: &Schedule,
        task: Task,
        (service, response): (Duration, Duration),
        at: Instant,
    ) {
        self.count((schedule, at), task.is_plain, |counts| counts.transactions += 1);
        if let Some(bin) = schedule.bin_of(at).and_then(|bin| self.bins.get_mut(bin)) {
            *bin += 1;
        }
        let (time, decides) = if self.is_open { (response, task.intended) } else { (service, at) };
        if schedule.stage(decides) == Stage::Sustain {
            self.response.record(time);
        }
        self.step_times.transaction.record(time);
        self.second(at, |second| second.complete(time));
    }

    /// A connection has ended, well or not, and so many bytes of bodies had come.
    pub(crate) fn ended(&mut self, schedule: &Schedule, task: Task, bytes: u64, at: Instant) {
        self.count((schedule, at), task.is_plain, |counts| counts.body_bytes += bytes);
    }

    /// A connection has failed.
    pub(crate) fn failed(
        &mut self,
        schedule: &Schedule,
        task: Task,
        failure: &Failure,
        at: Instant,
    ) {
        self.count((schedule, at), task.is_plain, |counts| counts.fail(failure.clone()));
        self.second(at, |second| second.failed += 1);
    }

    /// An impatient client has closed its connection.
    pub(crate) fn gave_up(&mut self, schedule: &Schedule, task: Task, phase: Phase, at: Instant) {
        self.count((schedule, at), task.is_plain, |counts| {
            *counts.gave_up.entry(phase).or_default() += 1;
        });
        self.second(at, |second| second.gave_up += 1);
    }

    /// An impatient client of an open loop will not come again: its time has no end.
    pub(crate) fn lost(&mut self, schedule: &Schedule, task: Task) {
        if self.is_open && schedule.stage(task.intended) == Stage::Sustain {
            self.response.record_never();
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.whole.add(&other.whole);
        self.sustain.add(&other.sustain);
        self.plain.add(&other.plain);
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin += more;
        }
        self.secure_times.add(&other.secure_times);
        self.plain_times.add(&other.plain_times);
        if let (Some(kinds), Some(more)) = (&mut self.kinds, &other.kinds) {
            kinds.add(more);
        }
        self.response.add(&other.response);
        self.offered.add(other.offered);
        self.offered_whole.add(other.offered_whole);
        self.series.add(&other.series);
        self.step_times.add(&other.step_times);
        self.hello_retries += other.hello_retries;
        self.abandoned += other.abandoned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Protocol};

    fn task(intended: Instant) -> Task {
        Task { intended, is_plain: false, resumes: false, number: 0, bytes: None, retries: 0 }
    }

    #[test]
    fn news_count_by_their_own_time_whatever_turn_of_the_loop_they_came_in() {
        let plan = Plan::new(Protocol::Tls13);
        let schedule = Schedule::new(&plan, Instant::now());
        let ms = Duration::from_millis(1);
        let news = News::Complete { service: ms, response: 2 * ms, resumed: true };
        let just = Duration::from_nanos(1);
        let of = |is_open| {
            let mut tally = Tally::new(&schedule, is_open, true);
            for at in [schedule.sustain_start, schedule.sustain_end] {
                tally.news(&schedule, task(at - 2 * ms), news, at - just);
                tally.news(&schedule, task(at - 2 * ms), news, at);
            }
            tally
        };
        let closed = of(false);
        assert_eq!((closed.whole.transactions, closed.sustain.transactions), (4, 2));
        assert_eq!(closed.secure_times.service.count(), 2);
        let kinds = closed
            .kinds
            .as_ref()
            .map(|kinds| (kinds.full.transactions, kinds.resumed.transactions));
        assert_eq!(kinds, Some((0, 2)));
        assert_eq!(closed.bins.iter().sum::<u64>(), 2);
        assert_eq!(closed.response.count(), 2);
        assert!(
            closed.response.quantile_ns(1.0).is_some_and(|ns| ns < 1_500_000),
            "from the start"
        );
        // by the intended start: the first two were to start before, the last two in time
        let open = of(true);
        assert_eq!((open.sustain.transactions, open.response.count()), (2, 2));
        assert!(open.response.quantile_ns(0.0).is_some_and(|ns| ns > 1_500_000), "from the intent");
    }

    #[test]
    fn who_is_dropped_has_a_time_without_end_and_who_waits_is_not_late() {
        let plan = Plan::new(Protocol::Tls13);
        let schedule = Schedule::new(&plan, Instant::now());
        let at = schedule.sustain_start;
        let mut tally = Tally::new(&schedule, true, false);
        tally.began(&schedule, task(at), false, at + LATE);
        tally.began(&schedule, task(at), true, at + 5 * LATE);
        tally.began(&schedule, task(at), false, at + 5 * LATE);
        tally.dropped(&schedule, at);
        tally.dropped(&schedule, schedule.start);
        let offered = Offered { arrivals: 4, late: 1, queued: 1, dropped: 1, ..Offered::default() };
        assert_eq!(tally.offered, offered);
        assert_eq!(tally.offered_whole, Offered { arrivals: 5, dropped: 2, ..offered });
        assert_eq!((tally.response.count(), tally.response.above()), (1, 1));
    }
}
