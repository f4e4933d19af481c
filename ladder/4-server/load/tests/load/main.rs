//! The load generator against scripted servers.
//!
//! Other tests load the machine too. So if a run has too few sessions for its assertions, it is
//! repeated with a longer duration.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

mod arrivals;
mod client_timeout;
mod compare;
mod counts;
mod exchanges;
mod live;
mod requests;
mod resumption;
mod search;
mod steps;
mod tls_config;
mod tls_server;

use tollgate_load::{Finding, Limits, Outcome, Plan, Protocol, Server, run};

use tls_server::{Script, TlsServer};

/// Returns a short plan. Other tests run at the same time, so steadiness and client load are not
/// judged.
fn plan(protocol: Protocol) -> Plan {
    Plan {
        connections: 4,
        warm_up_ms: 50,
        sustain_ms: 300,
        limits: Limits::of_counts(),
        ..Plan::new(protocol)
    }
}

/// Runs a plan against a server.
fn load(plan: &Plan, mut side: Server<'_>) -> Outcome {
    run(plan, &mut side, &|| false, &mut |_, _| {}).unwrap()
}

/// Maximum number of runs, each four times as long as the previous one.
const TRIES: u32 = 4;

/// Runs `plan`, with increasing duration, until an outcome is `enough`.
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

/// Runs `plan` against a server with this script until an outcome is `enough` and has no stall.
fn confirmed(plan: &Plan, script: Script, enough: impl Fn(&Outcome) -> bool) -> Outcome {
    let steady = |outcome: &Outcome| !outcome.reasons.contains(&Finding::Stalled);
    until(
        plan,
        |outcome| enough(outcome) && steady(outcome),
        |plan| load(plan, TlsServer::start(script).side()),
    )
}
