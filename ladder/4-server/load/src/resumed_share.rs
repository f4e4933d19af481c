//! Compares the share of resumed sessions with the plan.

use crate::counts::{Counts, Resumptions, share};
use crate::finding::{Finding, Findings};
use crate::plan::Plan;

/// Adds a finding if the sustained part misses the planned share.
pub(crate) fn judge_resumed(plan: &Plan, sustain: &Counts, findings: &mut Findings) {
    let Some(resume) = plan.resume else { return };
    let Some(achieved) = resume.achieved(sustain) else { return };
    let Resumptions { offered, refused, starved, .. } = sustain.resumptions;
    let of_all = |count: u64| share(count, sustain.confirmed);
    let planned = resume.share;
    // Without a warm-up, the first connections come before there are sessions to resume.
    let is_cold = plan.transactions.is_some() && starved <= u64::from(plan.connections);
    let expected = if is_cold && offered > 0 { of_all(offered) } else { planned };
    let few = f64::from(2 * plan.threads) + f64::from(2 * plan.connections).sqrt();
    #[allow(clippy::cast_precision_loss, reason = "a count of a run is far below 2^52")]
    let off_plan = OFF_PLAN.max(few / sustain.confirmed as f64);
    if (achieved - expected).abs() > off_plan {
        findings.reasons.push(Finding::ResumedOffPlan {
            planned,
            achieved,
            offered,
            refused,
            starved,
        });
    } else if is_cold && of_all(starved) > OFF_PLAN {
        findings.doubts.push(Finding::ResumedCold { planned, achieved, starved });
    }
}

/// Maximum difference between planned and achieved share: one percentage point. In a small number
/// of sessions it is more: each thread draws its own, and connections that cross a boundary of the
/// measured part are in one of its sides.
const OFF_PLAN: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Protocol;
    use crate::resumption::{Mechanism, Resume};

    const NONE: [Vec<String>; 2] = [vec![], vec![]];

    /// Returns the findings about a run with these sessions, as text.
    fn judged(plan: &Plan, confirmed: u64, resumptions: Resumptions) -> [Vec<String>; 2] {
        let mut findings = Findings::default();
        let counts = Counts { confirmed, resumptions, ..Counts::default() };
        judge_resumed(plan, &counts, &mut findings);
        let text = |all: Vec<Finding>| all.iter().map(ToString::to_string).collect();
        [text(findings.reasons), text(findings.doubts)]
    }

    #[test]
    fn more_than_one_point_is_off_plan() {
        let resume = Resume { share: 0.8, by: Mechanism::Ticket };
        let plan = Plan { resume: Some(resume), ..Plan::new(Protocol::Tls12X25519) };
        let sessions = |accepted, early_data| Resumptions {
            offered: 9000,
            accepted,
            early_data,
            ..Resumptions::default()
        };
        for (accepted, is_off) in
            [(8000, false), (7910, false), (8090, false), (7890, true), (8110, true)]
        {
            let [reasons, _] = judged(&plan, 10_000, sessions(accepted, 0));
            assert_eq!(!reasons.is_empty(), is_off, "{accepted}");
        }
        let early = Resume { by: Mechanism::EarlyData, ..resume };
        let early = Plan { resume: Some(early), ..plan.clone() };
        assert_eq!(judged(&early, 10_000, sessions(9000, 8000)), NONE);
        let [reasons, _] = judged(&early, 10_000, sessions(8000, 0));
        assert!(reasons[0].contains("80.0 %") && reasons[0].contains("0.0 %"), "{reasons:?}");
        assert_eq!(judged(&plan, 0, Resumptions::default()), NONE, "nothing was measured");
    }

    #[test]
    fn few_sessions_may_differ_by_more() {
        let resume = Resume { share: 0.5, by: Mechanism::Psk };
        let timed = Plan { resume: Some(resume), connections: 16, ..Plan::new(Protocol::Tls13) };
        let sessions = |offered, accepted, starved| Resumptions {
            offered,
            accepted,
            refused: offered - accepted,
            starved,
            ..Resumptions::default()
        };
        assert_eq!(judged(&timed, 40, sessions(24, 24, 0)), NONE);
        assert_eq!(judged(&timed, 40, sessions(24, 0, 0))[0].len(), 1, "the server refuses all");
        // 200 requests: 16 connections begin before there is a session to resume
        let counted = Plan { warm_up_ms: 0, transactions: Some(200), ..timed.clone() };
        let [reasons, doubts] = judged(&counted, 200, sessions(84, 84, 16));
        assert_eq!(reasons.len(), 0, "{reasons:?}");
        assert!(doubts[0].contains("42.0 %") && doubts[0].contains("more requests"), "{doubts:?}");
        let [reasons, doubts] = judged(&counted, 10, sessions(0, 0, 5));
        assert_eq!((reasons.len(), doubts.len()), (0, 1), "no connection could resume a session");
        for bad in [sessions(84, 60, 16), sessions(0, 0, 16), sessions(60, 60, 40)] {
            let [reasons, _] = judged(&counted, 200, bad);
            assert_eq!(reasons.len(), 1, "{bad:?}");
            assert!(!reasons[0].contains("warm up"), "{reasons:?}");
        }
        assert_eq!(judged(&timed, 200, sessions(84, 84, 16))[0].len(), 1, "it had a warm-up");
    }
}
