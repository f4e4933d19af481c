//! The load generator against servers that do as they are told, and against OpenSSL's.
//!
//! How much load this machine takes beside what else runs on it is not asked: a run that is too
//! short for what is asserted of it is done again, longer.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

mod arrivals;
mod compare;
mod counts;
mod exchanges;
mod looking_on;
mod openssl;
mod patience;
mod resumption;
mod rogue;
mod search;
mod steps;
mod tls_server;
mod truth;

use tollgate_load::{Finding, Limits, Outcome, Plan, Protocol, Server, run};

use tls_server::{Counter, Script, TlsServer};

/// Short, and for a machine on which other tests run: shape and client load are not judged.
fn plan(protocol: Protocol) -> Plan {
    Plan {
        connections: 4,
        warm_up_ms: 50,
        sustain_ms: 300,
        limits: Limits::of_counts(),
        ..Plan::new(protocol)
    }
}

/// Runs are done again so often, each four times as long.
const TRIES: u32 = 4;

/// The first run of `plan`, or of one that lasts longer, that is `enough`.
fn until(
    plan: &Plan,
    enough: impl Fn(&Outcome) -> bool,
    mut run: impl FnMut(&Plan) -> Outcome,
) -> Outcome {
    let mut plan = plan.clone();
    for _ in 0..TRIES {
        let outcome = run(&plan);
        if enough(&outcome) {
            return outcome;
        }
        plan.sustain_ms *= 4;
    }
    panic!("this machine is too busy, even for {} ms", plan.sustain_ms / 4);
}

/// Of a server that does this, and a referee to whom something is done: the first run of the plan,
/// or of one that lasts longer, that is `enough` and did not stall.
fn confirmed(
    plan: &Plan,
    script: Script,
    change: fn(&mut Counter),
    enough: impl Fn(&Outcome) -> bool,
) -> Outcome {
    let steady = |outcome: &Outcome| !outcome.reasons().contains(&Finding::Stalled);
    until(
        plan,
        |outcome| enough(outcome) && steady(outcome),
        |plan| {
            let server = TlsServer::start(script);
            let mut referee = server.referee();
            change(&mut referee);
            let mut side = Server::new("rustls", server.target()).with_referee(referee);
            run(plan, &mut side, &|| false, &mut |_, _| {}).unwrap()
        },
    )
}
