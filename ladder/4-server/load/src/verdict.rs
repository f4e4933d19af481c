//! Judges a run.

use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, Pattern};
use crate::finding::{Finding, Findings};
use crate::plan::Plan;
use crate::referee::Seen;
use crate::resumed_share::judge_resumed;
use crate::steady::Steady;
use crate::tally::Tally;

/// The verdict on a run.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The server's log agrees, and there is no other objection.
    Valid,
    /// There is no objection, but no referee either.
    Unconfirmed,
    /// There is an objection: the run has no figures.
    Invalid,
}

impl Verdict {
    /// Returns the verdict in one word.
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

/// Drift of the rate, minus two standard errors; a run above this is doubtful.
const TREND_DOUBT: f64 = 0.02;

/// Standard deviation of the rate per bin divided by its mean; a run above this is doubtful.
const SPREAD_DOUBT: f64 = 0.05;

pub(crate) struct Evidence {
    pub(crate) plan: Plan,
    /// The sum of all parts.
    pub(crate) tally: Tally,
    /// The findings about the parts.
    pub(crate) of_parts: Findings,
    /// The server was considered gone.
    pub(crate) is_server_gone: bool,
    pub(crate) server_cpu_lost: Option<String>,
    /// The server's CPU time was read too late for a figure.
    pub(crate) server_cpu_late: bool,
    /// The server's log, or why it could not be read. `None` if there is no referee, or if the run
    /// was broken off.
    pub(crate) seen: Option<Result<Seen, String>>,
}

impl Evidence {
    pub(crate) fn judge(&self) -> (Verdict, Findings) {
        let (plan, tally) = (&self.plan, &self.tally);
        let mut findings = self.of_parts.clone();
        findings
            .reasons
            .extend(self.server_cpu_lost.clone().map(|why| Finding::ServerCpuLost { why }));
        if tally.sustain.transactions == 0 {
            findings.reasons.push(Finding::Nothing);
        }
        findings.doubts.extend(tally.arrivals.judge_drawn(plan));
        judge_resumed(plan, &tally.sustain, &mut findings);
        self.judge_referee(&mut findings.reasons);
        self.judge_shape(&mut findings);
        if self.server_cpu_late && findings.reasons.is_empty() {
            findings.doubts.push(Finding::ServerCpuLate);
        }
        let verdict = match (findings.reasons.is_empty(), &self.seen) {
            (false, _) => Verdict::Invalid,
            (true, None) => Verdict::Unconfirmed,
            (true, Some(_)) => Verdict::Valid,
        };
        (verdict, findings)
    }

    fn judge_referee(&self, reasons: &mut Vec<Finding>) {
        let seen = match &self.seen {
            None => return,
            Some(Err(why)) => return reasons.push(Finding::RefereeLost { why: why.clone() }),
            Some(Ok(seen)) => seen,
        };
        let whole = &self.tally.whole;
        // these connections timed out in the client, but the server may have served them
        let left = whole.timeouts();
        let left_secure = left.saturating_sub(self.tally.plain.timeouts());
        let is_off = |server: u64, client: u64, more: u64| {
            server < client || server > client.saturating_add(more)
        };
        let (client, server) = (whole.confirmed, seen.handshakes);
        if is_off(server, client, left_secure) {
            reasons.push(Finding::RefereeHandshakes { client, server });
        }
        let (client, server) = (whole.responses, seen.requests);
        if is_off(server, client, left) {
            reasons.push(Finding::RefereeRequests { client, server });
        }
        let bytes = whole.response_bytes;
        if let Some(server) = seen.body_bytes.filter(|&server| server != bytes)
            && seen.requests == client
        {
            reasons.push(Finding::RefereeBytes { client: bytes, server });
        }
        let (client, server) = (whole.resumptions.accepted, seen.resumed);
        if self.plan.resume.is_none() && server > 0 {
            let (count, handshakes) = (server, seen.handshakes);
            reasons.push(Finding::Resumed { count, handshakes });
        } else if is_off(server, client, left_secure) {
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

    fn judge_shape(&self, findings: &mut Findings) {
        if self.is_server_gone || !self.has_shape() {
            return;
        }
        let Some(steady) = Steady::new(&self.tally.bins) else {
            if self.tally.sustain.transactions > 0 {
                findings.doubts.push(Finding::ShapeUnknown);
            }
            return;
        };
        let limits = &self.plan.limits;
        if steady.stalled {
            findings.reasons.push(Finding::Stalled);
        }
        let drift = Finding::Drift { share: steady.trend };
        let doubt = limits.shape(TREND_DOUBT.min(limits.trend));
        findings.above((limits.trend, doubt), steady.drift(), drift);
        if steady.spread > limits.shape(SPREAD_DOUBT) {
            findings.doubts.push(Finding::Spread { share: steady.spread });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tollgate_tls_client::Group;

    use super::*;
    use crate::arrival_counts::ArrivalCounts;
    use crate::counts::Counts;
    use crate::cpu::ClientCpu;
    use crate::host_conditions::HostConditions;
    use crate::offer::Protocol;
    use crate::part::Part;
    use crate::phase::{Cause, Failure, Phase};
    use crate::schedule::Schedule;

    const SEEN: Seen =
        Seen { handshakes: 1000, requests: 1000, resumed: 0, failed: 0, body_bytes: None };

    /// The evidence about a run of one process.
    struct Case {
        plan: Plan,
        part: Part,
        server_cpu_lost: Option<String>,
        server_cpu_late: bool,
        seen: Option<Result<Seen, String>>,
    }

    /// Returns a good run of 1000 transactions.
    fn good() -> Case {
        let plan = Plan::new(Protocol::Tls13);
        let counts = Counts {
            attempts: 1000,
            client_done: 1000,
            confirmed: 1000,
            responses: 1000,
            response_bytes: 14_336_000,
            transactions: 1000,
            ..Counts::default()
        };
        let mut tally = Tally::new(&Schedule::new(&plan, Instant::now()), false);
        (tally.whole, tally.sustain, tally.bins) = (counts.clone(), counts, vec![50; 20]);
        let (client_cpu, host) = (client(0.5, 0.0), HostConditions::default());
        Case {
            plan,
            part: Part { tally, client_cpu, server_gone: None, host },
            server_cpu_lost: None,
            server_cpu_late: false,
            seen: Some(Ok(SEEN)),
        }
    }

    fn client(busiest_share: f64, wait_share: f64) -> Option<ClientCpu> {
        Some(ClientCpu { cores: 0.5, busiest_share, longest_wait_share: Some(wait_share) })
    }

    fn judged(change: impl FnOnce(&mut Case)) -> (Verdict, Findings) {
        let mut case = good();
        change(&mut case);
        let Case { plan, part, server_cpu_lost, server_cpu_late, seen } = case;
        let mut of_parts = Findings::default();
        part.judge(&plan, &mut of_parts);
        let tally = part.tally;
        let is_server_gone = part.server_gone.is_some();
        Evidence { plan, tally, of_parts, is_server_gone, server_cpu_lost, server_cpu_late, seen }
            .judge()
    }

    /// A change of a good run, and the words of the only finding that follows.
    type Row = (fn(&mut Case), &'static [&'static str]);

    fn check(rows: &[Row], expected: Verdict) {
        for (change, words) in rows {
            let (verdict, Findings { reasons, doubts }) = judged(change);
            assert_eq!(verdict, expected, "{words:?}: {reasons:?}");
            let found = if verdict == Verdict::Invalid { reasons } else { doubts };
            assert_eq!(found.len(), 1, "{words:?}: {found:?}");
            let text = found[0].to_string();
            assert!(words.iter().all(|words| text.contains(words)), "{words:?}: {text}");
        }
    }

    #[test]
    fn a_good_run_is_valid_with_a_referee() {
        assert_eq!(judged(|_| {}), (Verdict::Valid, Findings::default()));
        assert_eq!(judged(|case| case.seen = None).0, Verdict::Unconfirmed);
    }

    fn fail(case: &mut Case, phase: Phase, cause: Cause) {
        case.part.tally.whole.attempts += 2;
        case.part.tally.whole.failures.insert(Failure { phase, cause }, 2);
    }

    #[test]
    fn each_reason_makes_a_run_invalid() {
        let rows: [Row; 13] = [
            (|case| case.part.client_cpu = client(0.97, 0.0), &["97 % of a core"]),
            (
                |case| {
                    case.plan.offer.group = Some(Group::X25519MlKem768.name().to_owned());
                    let chosen = [(Group::X25519MlKem768, 997), (Group::X25519, 3)];
                    case.part.tally.whole.groups = chosen.into();
                },
                &["chose x25519 in 3 handshakes", "--group x25519"],
            ),
            (|case| case.part.tally.bins = (0..20).map(|i| 40 + i).collect(), &["measure longer"]),
            (|case| case.part.tally.bins[7] = 0, &["for a while"]),
            (|case| case.seen = Some(Err("disk on fire".to_owned())), &["disk on fire"]),
            (|case| case.server_cpu_lost = Some("7 is gone".to_owned()), &["7 is gone"]),
            (
                |case| case.seen = Some(Ok(Seen { body_bytes: Some(14_336_001), ..SEEN })),
                &["14336000 bytes", "14336001"],
            ),
            (|case| case.part.host.clock_drift = 0.5, &["clocks disagree"]),
            (|case| case.part.tally.whole.responses = 0, &["counted 0 complete responses"]),
            (|case| case.part.tally.whole.attempts += 1, &["1001", "1000"]),
            (
                |case| {
                    case.part.tally.arrivals =
                        ArrivalCounts { arrivals: 1000, dropped: 2, ..ArrivalCounts::default() };
                },
                &["2 of 1000"],
            ),
            (
                |case| {
                    case.plan.limits.errors = 1.0; // far within the error budget
                    fail(case, Phase::Connect, Cause::Refused);
                },
                &["2 connections were refused"],
            ),
            (
                |case| fail(case, Phase::Hello, Cause::Alert(80)),
                &["2 of 1002", "internal_error", "failed: see its log"],
            ),
        ];
        check(&rows, Verdict::Invalid);
    }

    #[test]
    fn doubts_do_not_change_the_verdict() {
        let rows: [Row; 11] = [
            (|case| case.part.client_cpu = client(0.85, 0.0), &["85 % of a core"]),
            (|case| case.part.client_cpu = client(0.5, 0.3), &["waited for a core 30 %"]),
            (
                |case| case.part.tally.bins = (0..20).map(|i| 200 + i / 2).collect(),
                &["the rate moved by +4"],
            ),
            (
                |case| case.part.tally.bins = (0..20).map(|i| 50 + 8 * (i % 2)).collect(),
                &["scatters"],
            ),
            (|case| case.part.tally.bins = vec![500; 2], &["too short to tell"]),
            (|case| case.server_cpu_late = true, &["no figure"]),
            (
                |case| case.part.host.ports = crate::Ports { range: Some(100), waiting: Some(99) },
                &["99 of 100 ports"],
            ),
            (|case| case.part.host.clock_drift = 0.005, &["clocks disagree"]),
            (|case| case.part.tally.whole.hello_retries = 3, &["3 times"]),
            (
                |case| {
                    case.part.tally.arrivals =
                        ArrivalCounts { arrivals: 1000, late: 11, ..ArrivalCounts::default() };
                },
                &["11 of 1000"],
            ),
            (|case| case.part.tally.whole.client_done = 1001, &["1001 handshakes"]),
        ];
        check(&rows, Verdict::Valid);
    }
}
