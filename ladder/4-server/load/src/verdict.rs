//! Whether a run may be believed, and why not.

use core::fmt;

use crate::arrivals::{Arrivals, Pattern};
use crate::counts::{Counts, share};
use crate::finding::Finding;
use crate::offered::Offered;
use crate::outcome::ClientCpu;
use crate::phase::{Cause, Failure};
use crate::plan::Plan;
use crate::referee::Seen;
use crate::steady::Steady;
use crate::surroundings::Surroundings;

/// What a run is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The server's log agrees, and nothing speaks against it.
    Valid,
    /// Nothing speaks against it, and nobody but the client has counted.
    Unconfirmed,
    /// Something speaks against it: there is no rate.
    Invalid,
}

impl Verdict {
    /// One word.
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

/// What is known of a run when it is judged.
pub(crate) struct Evidence<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) whole: &'a Counts,
    pub(crate) sustain: &'a Counts,
    /// The plain part of the whole.
    pub(crate) plain: &'a Counts,
    /// Arrivals of the sustained part, of an open loop.
    pub(crate) offered: Offered,
    /// Connections that were dropped in flight.
    pub(crate) abandoned: u64,
    pub(crate) bins: &'a [u64],
    pub(crate) hello_retries: u64,
    pub(crate) gave_up: Option<Failure>,
    pub(crate) client_cpu: Option<&'a ClientCpu>,
    pub(crate) server_cpu_lost: Option<String>,
    /// There is no figure of the server's CPU time, though it could be read.
    pub(crate) server_cpu_late: bool,
    /// What happened around the run.
    pub(crate) around: &'a Surroundings,
    /// `None` without referee.
    pub(crate) seen: Option<&'a Result<Seen, String>>,
}

/// The verdict with the findings that make a run invalid, and those that make it doubtful.
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
        self.offered.judge(self.plan, &mut reasons, &mut doubts);
        reasons.extend(self.plan.resume.and_then(|resume| resume.miss(self.plan, self.sustain)));
        self.judge_referee(&mut reasons);
        self.judge_shape(&mut reasons, &mut doubts);
        self.judge_client(&mut reasons, &mut doubts);
        self.around.judge(self.whole.attempts, &self.plan.limits, &mut reasons, &mut doubts);
        doubts.extend(self.around.ports.forecast(self.plan));
        doubts.extend(self.around.ports.scarce(self.plan));
        let verdict = match (reasons.is_empty(), self.seen) {
            (false, _) => Verdict::Invalid,
            (true, None) => Verdict::Unconfirmed,
            (true, Some(_)) => Verdict::Valid,
        };
        Judgement { verdict, reasons, doubts }
    }

    fn judge_counts(&self, reasons: &mut Vec<Finding>, doubts: &mut Vec<Finding>) {
        let whole = self.whole;
        if let Some(failure) = &self.gave_up {
            let (failure, transactions) = (failure.clone(), whole.transactions);
            reasons.push(Finding::ServerGone { failure, transactions });
        }
        let refused = whole.failures.iter().filter(|(failure, _)| failure.cause == Cause::Refused);
        let refused: u64 = refused.map(|(_, count)| count).sum();
        if refused > 0 && self.gave_up.is_none() {
            // within the error budget or not: the server that answered first was gone for a while
            reasons.push(Finding::ServerAway { refused });
        }
        reasons.extend(self.server_cpu_lost.clone().map(Finding::ServerCpuLost));
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
            Some(Err(why)) => return reasons.push(Finding::RefereeLost(why.clone())),
            Some(Ok(seen)) => seen,
        };
        // whom the client left early, the server may have served all the same
        let (left, left_plain) = (self.whole.given_up(), self.plain.given_up());
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

    /// Whether the rate is the server's, or as even as the plan's: others are uneven on purpose.
    const fn has_shape(&self) -> bool {
        match &self.plan.arrivals {
            Arrivals::Closed { .. } => true,
            Arrivals::Open { pattern, .. } => matches!(pattern, Pattern::Constant { .. }),
        }
    }

    fn judge_shape(&self, reasons: &mut Vec<Finding>, doubts: &mut Vec<Finding>) {
        if self.gave_up.is_some() || !self.has_shape() {
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
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::phase::Phase;
    use crate::plan::Protocol;

    /// A run of 1000 transactions, nothing wrong.
    struct Case {
        plan: Plan,
        counts: Counts,
        offered: Offered,
        bins: Vec<u64>,
        cpu: ClientCpu,
        seen: Option<Result<Seen, String>>,
        hello_retries: u64,
        server_cpu_lost: Option<String>,
        server_cpu_late: bool,
        around: Surroundings,
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
            offered: Offered::default(),
            bins: vec![50; 20],
            cpu: ClientCpu { cores: 0.5, busiest_share: 0.5, longest_wait_share: Some(0.0) },
            seen: Some(Ok(seen)),
            hello_retries: 0,
            server_cpu_lost: None,
            server_cpu_late: false,
            around: Surroundings::default(),
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
            offered: case.offered,
            abandoned: 0,
            bins: &case.bins,
            hello_retries: case.hello_retries,
            gave_up: None,
            client_cpu: Some(&case.cpu),
            server_cpu_lost: case.server_cpu_lost,
            server_cpu_late: case.server_cpu_late,
            around: &case.around,
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
    fn a_run_against_which_nothing_speaks_is_as_good_as_its_referee() {
        let judgement = judged(|_| {});
        assert_eq!(judgement.verdict, Verdict::Valid);
        assert_eq!((judgement.reasons, judgement.doubts), (vec![], vec![]));
        assert_eq!(judged(|case| case.seen = None).verdict, Verdict::Unconfirmed);
    }

    #[test]
    fn each_thing_that_speaks_against_a_run_is_told() {
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
        assert!(invalid(|case| case.around.clock_drift = 0.5).contains("clocks disagree"));
        let text = invalid(|case| case.counts.responses = 0);
        assert!(text.contains("counted 0 whole responses"), "no request belongs there: {text}");
        let text = invalid(|case| case.counts.attempts += 1);
        assert!(text.contains("1001") && text.contains("1000"), "{text}");
        let text = invalid(|case| {
            case.offered = Offered { arrivals: 1000, dropped: 2, ..Offered::default() };
        });
        assert!(text.contains("2 of 1000"), "{text}");
        let text = invalid(|case| {
            case.plan.limits.errors = 1.0; // far within the error budget
            case.counts.attempts += 2;
            let failure = Failure { phase: Phase::Connect, cause: Cause::Refused };
            case.counts.failures.insert(failure, 2);
        });
        assert!(text.contains("nothing listened 2 times"), "{text}");
        let fail = |case: &mut Case| {
            case.counts.attempts = 1002;
            let failure = Failure { phase: Phase::Hello, cause: Cause::Alert(80) };
            case.counts.failures.insert(failure, 2);
        };
        let text = invalid(fail);
        assert!(text.contains("2 of 1002") && text.contains("internal_error"), "{text}");
    }

    #[test]
    fn doubts_are_told_and_leave_the_verdict() {
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
            case.around.ports = crate::Ports { range: Some(100), waiting: Some(99) };
        });
        assert!(text.contains("99 of 100 ports"), "{text}");
        assert!(doubtful(|case| case.around.clock_drift = 0.005).contains("clocks disagree"));
        assert!(doubtful(|case| case.hello_retries = 3).contains("3 times"));
        let text = doubtful(|case| {
            case.offered = Offered { arrivals: 1000, late: 11, ..Offered::default() };
        });
        assert!(text.contains("11 of 1000"), "{text}");
        assert!(doubtful(|case| case.counts.client_done = 1001).contains("1001 handshakes"));
    }
}
