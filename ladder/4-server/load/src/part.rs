//! The results of a segment of a plan, and their judgement.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::counts::{Counts, share};
use crate::cpu::ClientCpu;
use crate::error::Error;
use crate::finding::{Finding, Findings};
use crate::host_conditions::{HostConditions, Reading};
use crate::live::Live;
use crate::phase::{Cause, Failure};
use crate::plan::Plan;
use crate::quota::Quota;
use crate::schedule::Schedule;
use crate::segment::Segment;
use crate::socket::reserve_descriptors;
use crate::tally::Tally;
use crate::target::{Target, Targets};
use crate::threads::{Job, TICK, first, run_threads};
use crate::worker::Report;

/// The results of the threads of one process. Its JSON keeps all counts and times.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub(crate) tally: Tally,
    pub(crate) client_cpu: Option<ClientCpu>,
    /// The last failure, if the server was considered gone.
    pub(crate) server_gone: Option<Failure>,
    pub(crate) host: HostConditions,
}

/// Runs a segment of a plan in this process, as an agent of a controller that judges the whole run.
///
/// First it tries one transaction alone. `begin` is called when all threads are ready; it returns
/// the time of the start, or `None` if the run will not begin. `stop` is called about every 50 ms,
/// more often in the first transaction.
///
/// # Errors
///
/// [`Error`] if there was no run; [`Error::Stopped`] if `begin` returned `None`, or if it was
/// stopped in the first transaction. A later stop gives a part with connections in flight.
pub fn run_part(
    plan: &Plan,
    target: &Target,
    segment: Segment,
    live: &Arc<Live>,
    begin: &mut dyn FnMut() -> Option<Instant>,
    stop: &dyn Fn() -> bool,
) -> Result<Part, Error> {
    if plan.transactions.is_some() || !segment.is_of(plan) {
        return Err(Error::Plan("agents run a segment of its threads, for a time"));
    }
    plan.check()?;
    let job = Job { plan, targets: Targets::new(target, None), segment, live: Some(live) };
    check(job)?;
    let probes = first(job, stop)?;
    let reading = Reading::now();
    let quota = Arc::new(Quota::new(None));
    let (schedule, (), reports) = run_threads(job, &quota, begin, |_, threads| {
        while !(threads.have_ended)() {
            if stop() {
                threads.quit();
            }
            std::thread::sleep(TICK);
        }
    })?;
    Ok(Part::new(plan, &schedule, reports, &probes, reading.until_now()))
}

/// CPU time of the busiest client thread divided by elapsed time; a run above this is doubtful.
const BUSY_DOUBT: f64 = 0.8;

/// Share of time that a client thread waited for a core; a run above this is doubtful.
const WAIT_DOUBT: f64 = 0.2;

/// Checks that this machine can run the job.
pub(crate) fn check(job: Job<'_>) -> Result<(), Error> {
    let Job { plan, targets, segment, .. } = job;
    [targets.secure, targets.plain].into_iter().try_for_each(|target| target.lasts(plan))?;
    reserve_descriptors(&segment.size(plan))
}

impl Part {
    pub(crate) fn new(
        plan: &Plan,
        schedule: &Schedule,
        reports: Vec<Report>,
        probes: &[Tally],
        host: HostConditions,
    ) -> Self {
        let usages: Vec<_> = reports.iter().map(|report| report.cpu).collect();
        let mut tally = Tally::new(schedule, plan.resume.is_some());
        reports.iter().for_each(|report| tally.add(&report.tally));
        probes.iter().for_each(|probe| tally.add(probe));
        Self {
            tally,
            client_cpu: ClientCpu::new(&usages),
            server_gone: reports.into_iter().find_map(|report| report.server_gone),
            host,
        }
    }

    /// Returns the client's counts of this part.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.tally.whole
    }

    /// Returns whether a part that came from another process can be a part of this plan.
    #[must_use]
    pub fn fits(&self, plan: &Plan) -> bool {
        self.tally.fits(&Schedule::new(plan, Instant::now()), plan.resume.is_some())
    }

    /// Adds a comparison of this part's clock with that of the controller: the difference as a
    /// share of the run. The larger disagreement of clocks is judged.
    pub const fn add_clock_drift(&mut self, share: f64) {
        self.host.clock_drift = self.host.clock_drift.max(share);
    }

    /// Judges what concerns this part alone: its counts, its arrivals, and its machine. `size` is a
    /// plan with the size of the segment.
    pub(crate) fn judge(&self, size: &Plan, findings: &mut Findings) {
        self.judge_counts(size, findings);
        self.tally.arrivals.judge(&size.limits, findings);
        self.judge_client(size, findings);
        self.host.judge(self.tally.whole.attempts, &size.limits, findings);
        findings.doubts.extend(self.host.ports.scarce(&size.limits));
    }

    fn judge_counts(&self, plan: &Plan, Findings { reasons, doubts }: &mut Findings) {
        let whole = &self.tally.whole;
        if let Some(failure) = &self.server_gone {
            let (failure, transactions) = (failure.clone(), whole.transactions);
            reasons.push(Finding::ServerGone { failure, transactions });
        }
        let refused = whole.failures.iter().filter(|(failure, _)| failure.cause == Cause::Refused);
        let refused: u64 = refused.map(|(_, count)| count).sum();
        if refused > 0 && self.server_gone.is_none() {
            // regardless of the error budget: the server was away for a while
            reasons.push(Finding::ServerAway { refused });
        }
        let (failed, attempts) = (whole.failed(), whole.attempts);
        if let Some((worst, _)) = whole.worst()
            && share(failed, attempts) > plan.limits.errors
        {
            reasons.push(Finding::Errors { failed, attempts, worst: worst.clone() });
        }
        let ended = whole.ended() + self.tally.abandoned;
        if attempts != ended {
            reasons.push(Finding::Unaccounted { attempts, ended });
        }
        if whole.confirmed < whole.client_done {
            let (client_done, confirmed) = (whole.client_done, whole.confirmed);
            doubts.push(Finding::ConfirmedLess { client_done, confirmed });
        }
        let count = whole.hello_retries;
        if count > 0 {
            doubts.push(Finding::HelloRetries { count });
        }
        let named = plan.offer.group.as_deref();
        let other = whole.groups.iter().find(|(group, _)| named != Some(group.name()));
        if let (Some(named), Some((group, &count))) = (named, other) {
            let (named, chosen) = (named.to_owned(), group.name());
            reasons.push(Finding::OtherGroup { named, chosen, count });
        }
    }

    fn judge_client(&self, plan: &Plan, findings: &mut Findings) {
        let (Some(cpu), limits) = (self.client_cpu, &plan.limits) else { return };
        let share = cpu.busiest_share;
        let busy = (limits.client_cpu, limits.shape(BUSY_DOUBT));
        findings.above(busy, share, Finding::ClientBusy { share });
        let waited = cpu.longest_wait_share.filter(|&share| share > limits.shape(WAIT_DOUBT));
        findings.doubts.extend(waited.map(|share| Finding::ClientWaited { share }));
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::offer::Protocol;
    use crate::request_spec::TransactionEvent;
    use crate::resumption::{Mechanism, Resume};
    use crate::tally::Recorder;
    use crate::task::Task;

    fn plan() -> Plan {
        let resume = Some(Resume { share: 0.5, by: Mechanism::Psk });
        Plan { resume, ..Plan::new(Protocol::Tls13) }
    }

    /// Counts these transactions, one in ten of which fails.
    fn part(schedule: &Schedule, numbers: impl Iterator<Item = u32>) -> Part {
        let mut recorder = Recorder::new(schedule, false, true);
        for number in numbers {
            let at = schedule.start + Duration::from_micros(700) * number;
            let task = Task::new(at, u64::from(number));
            recorder.attempt(task, at);
            if number.is_multiple_of(10) {
                let cause = Cause::Response("odd".into());
                recorder.failed(task, &Failure { phase: crate::Phase::Data, cause }, at);
                continue;
            }
            // from below the range of histograms to above it
            let time = Duration::from_nanos(500) * (number % 7) + Duration::from_millis(5) * number;
            let time = if number.is_multiple_of(999) { Duration::from_secs(200) } else { time };
            let (handshake, service, response) = (time / 2, time, 2 * time);
            let resumed = number.is_multiple_of(2);
            let confirmed = TransactionEvent::Confirmed { handshake, resumed, early_data: false };
            recorder.event(task, confirmed, at);
            recorder.event(task, TransactionEvent::Complete { service, response, resumed }, at);
        }
        let host = HostConditions::default();
        Part { tally: recorder.tally, client_cpu: None, server_gone: None, host }
    }

    #[test]
    fn parts_that_were_sent_add_up_to_all_bits_of_one_process() {
        let (plan, count) = (plan(), 9000);
        let schedule = Schedule::new(&plan, Instant::now());
        let whole = part(&schedule, 0..count);
        let of_thread = |thread| (thread..count).step_by(3);
        let sent = (0..3).map(|thread| serde_json::to_vec(&part(&schedule, of_thread(thread))));
        let mut sum = Tally::new(&schedule, true);
        for sent in sent {
            let part: Part = serde_json::from_slice(&sent.unwrap()).unwrap();
            assert!(part.fits(&plan));
            sum.add(&part.tally);
        }
        let json = |tally: &Tally| serde_json::to_string(tally).unwrap();
        assert_eq!(json(&sum), json(&whole.tally));
        assert_eq!((sum.whole.transactions, sum.whole.failed()), (8100, 900));
        assert!(sum.response.above() > 0 && sum.response.count() > 1000);
        assert_eq!(sum.response.to_base64(), whole.tally.response.to_base64());
        assert_eq!(sum.response.quantile_ns(0.99), whole.tally.response.quantile_ns(0.99));
    }

    #[test]
    fn parts_of_other_plans_do_not_fit() {
        let plan = plan();
        let schedule = Schedule::new(&plan, Instant::now());
        let part = part(&schedule, 0..10);
        assert!(part.fits(&plan));
        assert!(!part.fits(&Plan { resume: None, ..plan.clone() }));
        assert!(!part.fits(&Plan { sustain_ms: 100_000, ..plan.clone() }));
        let mut wrong = part;
        wrong.tally.whole.retries = wrong.tally.whole.attempts + 1;
        assert!(!wrong.fits(&plan));
    }
}
