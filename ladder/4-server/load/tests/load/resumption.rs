//! Sessions are resumed as planned, and client and server count the same number; otherwise the run
//! is invalid.

use tollgate_load::{
    Close, Exchange, Finding, Mechanism, Outcome, Plan, Protocol, Resume, Resumptions, Verdict,
};

use crate::tls_server::{Behavior, Script};
use crate::{confirmed, plan};

/// Enough sessions that a few at the boundaries of the sustained part change the share by less than
/// one percentage point.
const ENOUGH: u64 = 1000;

fn resuming(protocol: Protocol, share: f64, by: Mechanism) -> Plan {
    // small bodies: more sessions
    let exchange = Exchange::bytes(100);
    let close = if by == Mechanism::EarlyData { Close::Fin } else { Close::RstAfterConfirm };
    Plan { resume: Some(Resume { share, by }), exchange, close, ..plan(protocol) }
}

fn outcome(plan: &Plan, script: Script) -> Outcome {
    confirmed(plan, script, |outcome| outcome.sustain.confirmed >= ENOUGH)
}

#[test]
fn the_planned_share_is_resumed() {
    for (protocol, by, share, close) in [
        (Protocol::Tls13, Mechanism::Psk, 0.8, Close::RstAfterConfirm),
        (Protocol::Tls13, Mechanism::Psk, 1.0, Close::Fin),
        (Protocol::Tls12X25519, Mechanism::SessionId, 0.3, Close::RstAfterConfirm),
    ] {
        let plan = Plan { close, threads: 2, ..resuming(protocol, share, by) };
        let outcome = outcome(&plan, |_| Behavior::Good);
        assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
        let (whole, seen) = (&outcome.whole, outcome.seen.unwrap());
        let Resumptions { offered, accepted, refused, starved, early_data } = whole.resumptions;
        assert_eq!((seen.handshakes, seen.resumed), (whole.confirmed, accepted));
        assert_eq!((offered, early_data), (accepted + refused, 0), "{outcome}");
        assert!(starved > 0, "the first have none: {outcome}");
        let achieved = outcome.resumed_share().unwrap();
        assert!((achieved - share).abs() <= 0.01, "{outcome}");
        let sessions = outcome.by_resumption().unwrap();
        let sum = sessions.full.transactions + sessions.resumed.transactions;
        assert_eq!(sum, outcome.sustain.transactions);
        assert!(sessions.resumed.handshake.quantile_ns(0.5).unwrap() > 1000);
    }
}

#[test]
fn early_data_answered_at_once_ends_with_a_complete_handshake() {
    // the server answers before the client's Finished, and counts the handshake after it
    let plan = resuming(Protocol::Tls13, 0.5, Mechanism::EarlyData);
    let outcome = outcome(&plan, |_| Behavior::Early);
    assert_eq!(outcome.verdict, Verdict::Valid, "{outcome}");
    let Resumptions { accepted, early_data, .. } = outcome.whole.resumptions;
    assert!(early_data > 0 && early_data == accepted, "{outcome}");
    assert_eq!(outcome.seen.unwrap().handshakes, outcome.whole.confirmed, "{outcome}");
}

#[test]
fn a_request_too_long_for_early_data_follows_the_handshake() {
    let plan = Plan {
        requests_per_connection: 2.0,
        ..resuming(Protocol::Tls13, 0.5, Mechanism::EarlyData)
    };
    let outcome = outcome(&plan, |_| Behavior::LittleEarly);
    let whole = &outcome.whole;
    assert!(whole.resumptions.accepted > 0 && whole.resumptions.early_data == 0, "{outcome}");
    assert_eq!((whole.transactions, whole.responses), (whole.attempts, 2 * whole.attempts));
    let is_off = |finding: &Finding| matches!(finding, Finding::ResumedOffPlan { .. });
    assert!(outcome.reasons.iter().all(is_off), "{outcome}");
}

#[test]
fn a_server_without_such_sessions_is_off_plan() {
    // a well-behaved server has session IDs but no tickets for TLS 1.2
    let without: [(_, _, Script); 2] = [
        (Protocol::Tls13, Mechanism::Psk, |_| Behavior::Forgetful),
        (Protocol::Tls12X25519, Mechanism::Ticket, |_| Behavior::Good),
    ];
    for (protocol, by, script) in without {
        let plan = resuming(protocol, 0.5, by);
        let outcome = outcome(&plan, script);
        assert_eq!((outcome.verdict, outcome.sessions_per_s()), (Verdict::Invalid, None));
        let [Finding::ResumedOffPlan { planned, achieved, offered: 0, starved, .. }] =
            &outcome.reasons[..]
        else {
            panic!("{outcome}");
        };
        assert!((planned, achieved) == (&0.5, &0.0) && *starved > 0, "{outcome}");
        assert!(outcome.by_resumption().is_none(), "an invalid run has no figures");
    }
}

#[test]
fn refused_sessions_are_counted_and_off_plan() {
    let plan = resuming(Protocol::Tls12X25519, 1.0, Mechanism::SessionId);
    let outcome =
        outcome(&plan, |number| if number % 3 == 0 { Behavior::Forgetful } else { Behavior::Good });
    let Resumptions { offered, accepted, refused, .. } = outcome.whole.resumptions;
    assert!(refused > 0 && accepted > 0 && offered == accepted + refused, "{outcome}");
    assert_eq!(outcome.seen.unwrap().resumed, accepted, "{outcome}");
    let is_told = |finding: &Finding| matches!(finding, Finding::ResumedOffPlan { .. });
    assert!(outcome.reasons.iter().any(is_told), "{outcome}");
    assert_eq!(outcome.whole.transactions, outcome.whole.attempts);
}
