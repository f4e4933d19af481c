//! The search for the highest rate, on a server whose highest rate is known.

use tollgate_load::{
    Arrivals, Error, Exchange, Objective, Pattern, Plan, Protocol, Server, StepResult, Think,
    search,
};

use crate::plan;
use crate::tls_server::{Behavior, SERVICE, TlsServer};

fn objective() -> Objective {
    "p90=40ms".parse().unwrap()
}

fn open(pattern: Pattern) -> Plan {
    Plan {
        arrivals: Arrivals::open(pattern),
        connections: 64,
        plain_share: 1.0,
        sustain_ms: 500,
        exchange: Exchange::bytes(100),
        ..plan(Protocol::Tls13)
    }
}

#[test]
fn the_limit_is_slightly_below_the_capacity_of_a_single_server_queue() {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_none() {
        eprintln!("not tested: half a minute of search; set TOLLGATE_TEST_LONG");
        return;
    }
    let server = TlsServer::start(|_| Behavior::Serial);
    let mut side = Server::new("serial", server.target()).with_plain(server.plain());
    let plan = open(Pattern::Poisson { per_s: 1.0 });
    let curve = search(&plan, objective(), &mut side, &|| false, &mut |_| {}).unwrap();
    let most = 1.0 / SERVICE.as_secs_f64();
    // M/D/1 with this service time meets the objective up to 0.9 of its capacity. A sleep takes
    // longer than requested; the excess depends on the machine.
    let (met, above) = (curve.met_per_s.unwrap(), curve.above_per_s.unwrap());
    assert!(met > 0.3 * curve.capacity_per_s && met < most, "{curve:?}");
    assert!(above > met && above < 1.3 * most, "{curve:?}");
    assert!(!curve.client_is_limit, "{curve:?}");
    let first = &curve.steps[0];
    assert_eq!(first.result, StepResult::Met, "a tenth of the capacity: {curve:?}");
    assert!(u128::from(first.p50_ns.unwrap()) >= SERVICE.as_nanos(), "{curve:?}");
    assert!(curve.steps.windows(2).all(|two| two[0].offered_per_s < two[1].offered_per_s));
}

#[test]
fn a_search_needs_a_rate() {
    let server = TlsServer::start(|_| Behavior::Good);
    let arrivals = Arrivals::Closed { think: Think::None };
    let plan = Plan { arrivals, ..open(Pattern::Poisson { per_s: 1.0 }) };
    let mut side = Server::new("good", server.target()).with_plain(server.plain());
    let error = search(&plan, objective(), &mut side, &|| false, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Plan(_)), "{error}");
}
