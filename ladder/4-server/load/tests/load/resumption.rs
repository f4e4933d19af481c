//! Sessions are resumed as the plan says, and the server has the same count; or the run is invalid.

use tollgate_load::{
    Close, Exchange, Finding, Mechanism, Outcome, Plan, Protocol, Resume, Resumptions, Verdict,
};

use crate::tls_server::{Counter, Manner, Script};
use crate::{confirmed, plan};

/// So many sessions that a few at the edges of the sustained part are no point of the share.
const ENOUGH: u64 = 1000;

fn resuming(protocol: Protocol, share: f64, by: Mechanism) -> Plan {
    // small bodies: more sessions
    let exchange = Exchange::bytes(100);
    let close = if by == Mechanism::EarlyData { Close::Fin } else { Close::RstAfterConfirm };
    Plan { resume: Some(Resume { share, by }), exchange, close, ..plan(protocol) }
}

fn outcome(plan: &Plan, script: Script, change: fn(&mut Counter)) -> Outcome {
    confirmed(plan, script, change, |outcome| outcome.sustain().confirmed >= ENOUGH)
}

#[test]
fn as_many_are_resumed_as_the_plan_says() {
    for (protocol, by, share, close) in [
        (Protocol::Tls13, Mechanism::Psk, 0.8, Close::RstAfterConfirm),
        (Protocol::Tls13, Mechanism::Psk, 1.0, Close::Fin),
        (Protocol::Tls12X25519, Mechanism::SessionId, 0.3, Close::RstAfterConfirm),
    ] {
        let plan = Plan { close, threads: 2, ..resuming(protocol, share, by) };
        let outcome = outcome(&plan, |_| Manner::Good, |_| {});
        assert_eq!(outcome.verdict(), Verdict::Valid, "{outcome}");
        let (whole, seen) = (outcome.whole(), outcome.seen().unwrap());
        let Resumptions { offered, accepted, refused, starved, early_data } = whole.resumptions;
        assert_eq!((seen.handshakes, seen.resumed), (whole.confirmed, accepted));
        assert_eq!((offered, early_data), (accepted + refused, 0), "{outcome}");
        assert!(starved > 0, "the first have none: {outcome}");
        let achieved = outcome.resumed_share().unwrap();
        assert!((achieved - share).abs() <= 0.01, "{outcome}");
        let kinds = outcome.kinds().unwrap();
        let sum = kinds.full.transactions() + kinds.resumed.transactions();
        assert_eq!(sum, outcome.sustain().transactions);
        assert!(kinds.resumed.handshake().quantile_ns(0.5).unwrap() > 1000);
        assert_eq!(kinds.resumed.service().count(), kinds.resumed.transactions());
    }
}

#[test]
fn early_data_that_is_answered_at_once_ends_with_a_whole_handshake() {
    // the server counts a handshake when the client's Finished has come, and answers before
    let plan = resuming(Protocol::Tls13, 0.5, Mechanism::EarlyData);
    let outcome = outcome(&plan, |_| Manner::Early, |_| {});
    assert_eq!(outcome.verdict(), Verdict::Valid, "{outcome}");
    let Resumptions { accepted, early_data, .. } = outcome.whole().resumptions;
    assert!(early_data > 0 && early_data == accepted, "{outcome}");
    assert_eq!(outcome.seen().unwrap().handshakes, outcome.whole().confirmed, "{outcome}");
}

#[test]
fn a_request_that_is_too_long_for_early_data_follows_the_handshake() {
    let plan = Plan {
        requests_per_connection: 2.0,
        ..resuming(Protocol::Tls13, 0.5, Mechanism::EarlyData)
    };
    let outcome = outcome(&plan, |_| Manner::LittleEarly, |_| {});
    let whole = outcome.whole();
    assert!(whole.resumptions.accepted > 0 && whole.resumptions.early_data == 0, "{outcome}");
    assert_eq!((whole.transactions, whole.responses), (whole.attempts, 2 * whole.attempts));
    let is_off = |finding: &Finding| matches!(finding, Finding::ResumedOffPlan { .. });
    assert!(outcome.reasons().iter().all(is_off), "{outcome}");
}

#[test]
fn a_server_that_gives_no_such_sessions_is_off_plan() {
    // the good one has session IDs and no tickets for TLS 1.2
    let without: [(_, _, Script); 2] = [
        (Protocol::Tls13, Mechanism::Psk, |_| Manner::Forgetful),
        (Protocol::Tls12X25519, Mechanism::Ticket, |_| Manner::Good),
    ];
    for (protocol, by, script) in without {
        let plan = resuming(protocol, 0.5, by);
        let outcome = outcome(&plan, script, |_| {});
        assert_eq!((outcome.verdict(), outcome.sessions_per_s()), (Verdict::Invalid, None));
        let [Finding::ResumedOffPlan { planned, achieved, offered: 0, starved, .. }] =
            outcome.reasons()
        else {
            panic!("{outcome}");
        };
        assert!((planned, achieved) == (&0.5, &0.0) && *starved > 0, "{outcome}");
        assert!(outcome.kinds().is_none(), "an invalid run has no figures");
    }
}

#[test]
fn sessions_that_are_refused_are_counted_and_off_plan() {
    let plan = resuming(Protocol::Tls12X25519, 1.0, Mechanism::SessionId);
    let outcome = outcome(
        &plan,
        |number| if number % 3 == 0 { Manner::Forgetful } else { Manner::Good },
        |_| {},
    );
    let Resumptions { offered, accepted, refused, .. } = outcome.whole().resumptions;
    assert!(refused > 0 && accepted > 0 && offered == accepted + refused, "{outcome}");
    assert_eq!(outcome.seen().unwrap().resumed, accepted, "{outcome}");
    let is_told = |finding: &Finding| matches!(finding, Finding::ResumedOffPlan { .. });
    assert!(outcome.reasons().iter().any(is_told), "{outcome}");
    assert_eq!(outcome.whole().transactions, outcome.whole().attempts);
}

#[test]
fn a_log_with_another_count_of_resumed_sessions_makes_it_invalid() {
    let plan = resuming(Protocol::Tls13, 0.5, Mechanism::Psk);
    let outcome = outcome(&plan, |_| Manner::Good, |referee| referee.resumed = 1);
    let client = outcome.whole().resumptions.accepted;
    let expected = Finding::RefereeResumed { client, server: client + 1 };
    assert_eq!(outcome.reasons(), [expected], "{outcome}");
}
