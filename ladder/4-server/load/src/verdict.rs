//! Judges a run.

use core::fmt;

use crate::arrival_counts::ArrivalCounts;
use crate::arrivals::{Arrivals, Pattern};
use crate::counts::{Counts, share};
use crate::cpu::ClientCpu;
use crate::finding::Finding;
use crate::host_conditions::HostConditions;
use crate::phase::{Cause, Failure};
use crate::plan::Plan;
use crate::referee::Seen;
use crate::steady::Steady;

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The server's log agrees, and there is no other objection.
    Valid,
    /// There is no objection, but no referee either.
    Unconfirmed,
    /// There is an objection: the run has no figures.
    Invalid,
}

impl Verdict {
    /// The verdict in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Unconfirmed => "UNCONFIRMED",
            Self::Invalid => "INVALID",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unconfirmed => "UNCONFIRMED (client-side only)",
            other => other.word(),
        })
    }
}

/// The data for judging a run.
pub(crate) struct Evidence<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) whole: &'a Counts,
    pub(crate) sustain: &'a Counts,
    /// The plain part of `whole`.
    pub(crate) plain: &'a Counts,
    /// Arrivals of an open loop in the sustained part.
    pub(crate) arrivals: ArrivalCounts,
    /// Connections in flight when the run was stopped.
    pub(crate) abandoned: u64,
    pub(crate) bins: &'a [u64],
    pub(crate) hello_retries: u64,
    pub(crate) server_gone: Option<Failure>,
    pub(crate) client_cpu: Option<&'a ClientCpu>,
    pub(crate) server_cpu_lost: Option<String>,
    /// The server's CPU time was read too late for a figure.
    pub(crate) server_cpu_late: bool,
    /// Conditions of the host.
    pub(crate) host: &'a HostConditions,
    /// `None` without referee.
    pub(crate) seen: Option<&'a Result<Seen, String>>,
}

/// The verdict, the findings that make a run invalid, and the findings that make it doubtful.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<Finding>,
    pub(crate) doubts: Vec<Finding>,
}

impl Evidence<'_> {
    pub(crate) fn judge(&self) -> Judgement {
        let mut reasons = Vec::new();
        let mut doubts = Vec::new();
        self.judge_counts(&mut reasons, &mut doubts);
        self.arrivals.judge(self.plan, &mut reasons, &mut doubts);
        reasons.extend(
            self.plan.resume.and_then(|resume| resume.miss(&self.plan.arrivals, self.sustain)),
        );
        self.judge_referee(&mut reasons);
        self.judge_shape(&mut reasons, &mut doubts);
        self.judge_client(&mut reasons, &mut doubts);
        self.host.judge(self.whole.attempts, &self.plan.limits, &mut reasons, &mut doubts);
        doubts.extend(self.host.ports.forecast(self.plan));
        doubts.extend(self.host.ports.scarce(self.plan));
        let verdict = match (reasons.is_empty(), self.seen) {
            (false, _) => Verdict::Invalid,
            (true, None) => Verdict::Unconfirmed,
            (true, Some(_)) => Verdict::Valid,
        };
        Judgement { verdict, reasons, doubts }
    }

    fn judge_counts(&self, reasons: &mut Vec<Finding>, doubts: &mut Vec<Finding>) {
        let whole = self.whole;
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
        reasons.extend(self.server_cpu_lost.clone().map(|why| Finding::ServerCpuLost { why }));
        let (failed, attempts) = (whole.failed(), whole.attempts);
        if let Some((worst, _)) = whole.worst()
            && share(failed, attempts) > self.plan.limits.errors
        {
            reasons.push(Finding::Errors { failed, attempts, worst: worst.clone() });
        }
        if whole.attempts != whole.ended() + self.abandoned {
            let ended = whole.ended() + self.abandoned;
            reasons.push(Finding::Unaccounted { attempts: whole.attempts, ended });
        }
        if self.sustain.transactions == 0 {
            reasons.push(Finding::Nothing);
        }
        if whole.confirmed < whole.client_done {
            let (client_done, confirmed) = (whole.client_done, whole.confirmed);
            doubts.push(Finding::ConfirmedLess { client_done, confirmed });
        }
        if self.server_cpu_late && reasons.is_empty() {
            doubts.push(Finding::ServerCpuLate);
        }
        if self.hello_retries > 0 {
            doubts.push(Finding::HelloRetries { count: self.hello_retries });
        }
    }

    fn judge_referee(&self, reasons: &mut Vec<Finding>) {
        let seen = match self.seen {
            None => return,
            Some(Err(why)) => return reasons.push(Finding::RefereeLost { why: why.clone() }),
            Some(Ok(seen)) => seen,
        };
        // these connections timed out in the client, but the server may have served them
        let (left, left_plain) = (self.whole.timeouts(), self.plain.timeouts());
        let is_off = |server: u64, client: u64, more: u64| {
            server < client || server > client.saturating_add(more)
        };
        if is_off(seen.handshakes, self.whole.confirmed, left.saturating_sub(left_plain)) {
            let (client, server) = (self.whole.confirmed, seen.handshakes);
            reasons.push(Finding::RefereeHandshakes { client, server });
        }
        let client = self.whole.responses;
        if is_off(seen.requests, client, left) {
            reasons.push(Finding::RefereeRequests { client, server: seen.requests });
        }
        let bytes = self.whole.response_bytes;
        if let Some(server) = seen.body_bytes.filter(|&server| server != bytes)
            && seen.requests == client
        {
            reasons.push(Finding::RefereeBytes { client: bytes, server });
        }
        let (client, server) = (self.whole.resumptions.accepted, seen.resumed);
        if self.plan.resume.is_none() && server > 0 {
            let (count, handshakes) = (server, seen.handshakes);
            reasons.push(Finding::Resumed { count, handshakes });
        } else if is_off(server, client, left.saturating_sub(left_plain)) {
            reasons.push(Finding::RefereeResumed { client, server });
        }
    }

    /// Returns whether the rate should be steady: in a closed loop, or with constant arrivals.
    const fn has_shape(&self) -> bool {
        match &self.plan.arrivals {
            Arrivals::Closed { .. } => true,
            Arrivals::Open { pattern, .. } => matches!(pattern, Pattern::Constant { .. }),
        }
    }

    fn judge_shape(&self, reasons: &mut Vec<Finding>, doubts: &mut Vec<Finding>) {
        if self.server_gone.is_some() || !self.has_shape() {
            return;
        }
        let Some(steady) = Steady::of(self.bins) else {
            if self.sustain.transactions > 0 {
                doubts.push(Finding::ShapeUnknown);
            }
            return;
        };
        let limits = &self.plan.limits;
        if steady.stalled {
            reasons.push(Finding::Stalled);
        }
        let drift = Finding::Drift { share: steady.trend };
        if steady.drifts(limits.trend) {
            reasons.push(drift);
        } else if steady.drifts(limits.trend_doubt) {
            doubts.push(drift);
        }
        if steady.spread > limits.spread_doubt {
            doubts.push(Finding::Spread { share: steady.spread });
        }
    }

    fn judge_client(&self, reasons: &mut Vec<Finding>, doubts: &mut Vec<Finding>) {
        let Some(cpu) = self.client_cpu else {
            return;
        };
        let limits = &self.plan.limits;
        let busy = Finding::ClientBusy { share: cpu.busiest_share };
        if cpu.busiest_share > limits.client_cpu {
            reasons.push(busy);
        } else if cpu.busiest_share > limits.client_cpu_doubt {
            doubts.push(busy);
        }
        let waited = cpu.longest_wait_share.filter(|&share| share > limits.client_wait_doubt);
        doubts.extend(waited.map(|share| Finding::ClientWaited { share }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;
    use crate::phase::Phase;

    /// A good run of 1000 transactions.
    struct Case {
        plan: Plan,
        counts: Counts,
        arrivals: ArrivalCounts,
        bins: Vec<u64>,
        cpu: ClientCpu,
        seen: Option<Result<Seen, String>>,
        hello_retries: u64,
        server_cpu_lost: Option<String>,
        server_cpu_late: bool,
        host: HostConditions,
    }

    fn good() -> Case {
        let counts = Counts {
            attempts: 1000,
            client_done: 1000,
            confirmed: 1000,
            responses: 1000,
            response_bytes: 14_336_000,
            transactions: 1000,
            ..Counts::default()
        };
        let seen = Seen { handshakes: 1000, requests: 1000, ..Seen::default() };
        Case {
            plan: Plan::new(Protocol::Tls13),
            counts,
            arrivals: ArrivalCounts::default(),
            bins: vec![50; 20],
            cpu: ClientCpu { cores: 0.5, busiest_share: 0.5, longest_wait_share: Some(0.0) },
            seen: Some(Ok(seen)),
            hello_retries: 0,
            server_cpu_lost: None,
            server_cpu_late: false,
            host: HostConditions::default(),
        }
    }

    fn judged(change: impl FnOnce(&mut Case)) -> Judgement {
        let mut case = good();
        change(&mut case);
        Evidence {
            plan: &case.plan,
            whole: &case.counts,
            sustain: &case.counts,
            plain: &Counts::default(),
            arrivals: case.arrivals,
            abandoned: 0,
            bins: &case.bins,
            hello_retries: case.hello_retries,
            server_gone: None,
            client_cpu: Some(&case.cpu),
            server_cpu_lost: case.server_cpu_lost,
            server_cpu_late: case.server_cpu_late,
            host: &case.host,
            seen: case.seen.as_ref(),
        }
        .judge()
    }

    fn invalid(change: impl FnOnce(&mut Case)) -> String {
        let judgement = judged(change);
        assert_eq!(judgement.verdict, Verdict::Invalid);
        assert_eq!(judgement.reasons.len(), 1, "{:?}", judgement.reasons);
        judgement.reasons[0].to_string()
    }

    fn doubtful(change: impl FnOnce(&mut Case)) -> String {
        let judgement = judged(change);
        assert_eq!(judgement.verdict, Verdict::Valid, "{:?}", judgement.reasons);
        assert_eq!(judgement.doubts.len(), 1, "{:?}", judgement.doubts);
        judgement.doubts[0].to_string()
    }

    #[test]
    fn a_good_run_is_valid_with_a_referee() {
        let judgement = judged(|_| {});
        assert_eq!(judgement.verdict, Verdict::Valid);
        assert_eq!((judgement.reasons, judgement.doubts), (vec![], vec![]));
        assert_eq!(judged(|case| case.seen = None).verdict, Verdict::Unconfirmed);
    }

    #[test]
    fn each_reason_makes_a_run_invalid() {
        let text = invalid(|case| case.cpu.busiest_share = 0.97);
        assert!(text.contains("97 % of a core"), "{text}");
        let text = invalid(|case| case.bins = (0..20).map(|i| 40 + i).collect());
        assert!(text.contains("warm up longer"), "{text}");
        let text = invalid(|case| case.bins[7] = 0);
        assert!(text.contains("for a while"), "{text}");
        let text = invalid(|case| case.seen = Some(Err("disk on fire".to_owned())));
        assert!(text.contains("disk on fire"), "{text}");
        let text = invalid(|case| case.server_cpu_lost = Some("process 7 is gone".to_owned()));
        assert!(text.contains("process 7 is gone"), "{text}");
        let text = invalid(|case| {
            let body_bytes = Some(14_336_001);
            let seen = Seen { handshakes: 1000, requests: 1000, body_bytes, ..Seen::default() };
            case.seen = Some(Ok(seen));
        });
        assert!(text.contains("14336000 bytes") && text.contains("14336001"), "{text}");
        assert!(invalid(|case| case.host.clock_drift = 0.5).contains("clocks disagree"));
        let text = invalid(|case| case.counts.responses = 0);
        assert!(text.contains("counted 0 complete responses"), "{text}");
        let text = invalid(|case| case.counts.attempts += 1);
        assert!(text.contains("1001") && text.contains("1000"), "{text}");
        let text = invalid(|case| {
            case.arrivals =
                ArrivalCounts { arrivals: 1000, dropped: 2, ..ArrivalCounts::default() };
        });
        assert!(text.contains("2 of 1000"), "{text}");
        let text = invalid(|case| {
            case.plan.limits.errors = 1.0; // far within the error budget
            case.counts.attempts += 2;
            let failure = Failure { phase: Phase::Connect, cause: Cause::Refused };
            case.counts.failures.insert(failure, 2);
        });
        assert!(text.contains("2 connections were refused"), "{text}");
        let fail = |case: &mut Case| {
            case.counts.attempts = 1002;
            let failure = Failure { phase: Phase::Hello, cause: Cause::Alert(80) };
            case.counts.failures.insert(failure, 2);
        };
        let text = invalid(fail);
        assert!(text.contains("2 of 1002") && text.contains("internal_error"), "{text}");
    }

    #[test]
    fn doubts_do_not_change_the_verdict() {
        assert!(doubtful(|case| case.cpu.busiest_share = 0.85).contains("85 % of a core"));
        let text = doubtful(|case| case.cpu.longest_wait_share = Some(0.3));
        assert!(text.contains("waited for a core 30 %"), "{text}");
        let text = doubtful(|case| case.bins = (0..20).map(|i| 200 + i / 2).collect());
        assert!(text.contains("the rate moved by +4"), "{text}");
        let text = doubtful(|case| case.bins = (0..20).map(|i| 50 + 8 * (i % 2)).collect());
        assert!(text.contains("scatters"), "{text}");
        assert!(doubtful(|case| case.bins = vec![500; 2]).contains("too short to tell"));
        assert!(doubtful(|case| case.server_cpu_late = true).contains("no figure"));
        let text = doubtful(|case| {
            case.host.ports = crate::Ports { range: Some(100), waiting: Some(99) };
        });
        assert!(text.contains("99 of 100 ports"), "{text}");
        assert!(doubtful(|case| case.host.clock_drift = 0.005).contains("clocks disagree"));
        assert!(doubtful(|case| case.hello_retries = 3).contains("3 times"));
        let text = doubtful(|case| {
            case.arrivals = ArrivalCounts { arrivals: 1000, late: 11, ..ArrivalCounts::default() };
        });
        assert!(text.contains("11 of 1000"), "{text}");
        assert!(doubtful(|case| case.counts.client_done = 1001).contains("1001 handshakes"));
    }
}
