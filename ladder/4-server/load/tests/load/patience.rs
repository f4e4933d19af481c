//! Clients that do not wait for ever: what they do is counted, and nothing is lost.

use tollgate_load::{
    Arrivals, Outcome, Patience, Pattern, Phase, Plan, Protocol, Server, Verdict, run,
};

use crate::tls_server::{Manner, Script, TlsServer};
use crate::{plan, until};

/// Every fourth connection is accepted, and nothing follows.
const MUTE: Script = |number| if number % 4 == 3 { Manner::Silent } else { Manner::Good };

fn outcome(plan: &Plan) -> Outcome {
    let enough =
        |outcome: &Outcome| outcome.sustain().transactions > 5 && outcome.whole().given_up() > 3;
    until(plan, enough, |plan| {
        let server = TlsServer::start(MUTE);
        let mut side = Server::new("rustls", server.target())
            .with_plain(server.plain())
            .with_referee(server.referee());
        run(plan, &mut side, &|| false, &mut |_, _| {}).unwrap()
    })
}

/// Connections begun are those that completed, failed, or were given up, of each kind.
fn assert_accounted(outcome: &Outcome) {
    for counts in [outcome.whole(), outcome.plain()] {
        assert_eq!(counts.attempts, counts.ended(), "{outcome}");
    }
    assert_eq!(outcome.verdict(), Verdict::Valid, "{outcome}");
}

#[test]
fn who_gives_up_is_counted_in_the_phase_in_which_that_was() {
    let patience = Some(Patience { ms: 150, retries: 0 });
    let outcome = outcome(&Plan { patience, ..plan(Protocol::Tls13) });
    assert_accounted(&outcome);
    let whole = outcome.whole();
    assert!(whole.gave_up.contains_key(&Phase::Hello), "{outcome}");
    assert_eq!((whole.retries, whole.failed()), (0, 0), "{outcome}");
}

#[test]
fn who_tries_again_makes_more_connections_than_clients_came() {
    let patience = Some(Patience { ms: 150, retries: 5 });
    let arrivals = Arrivals::open(Pattern::Poisson { per_s: 60.0 });
    let plan = Plan {
        patience,
        arrivals,
        connections: 32,
        plain_share: 0.5,
        sustain_ms: 1000,
        ..plan(Protocol::Tls13)
    };
    let outcome = outcome(&plan);
    assert_accounted(&outcome);
    let whole = outcome.whole();
    assert!(whole.retries > 0 && whole.retries <= whole.given_up(), "{outcome}");
    let in_series: u64 = outcome.series().iter().map(|point| point.gave_up).sum();
    assert!(in_series > 0 && in_series <= whole.given_up(), "{outcome}");
}
