//! Tests that the referee detects a client that counts unconfirmed handshakes, and accepts the
//! normal client.

use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::time::Instant;

use crate::arrival_counts::ArrivalCounts;
use crate::generator::Part;
use crate::host_conditions::HostConditions;
use crate::limits::Limits;
use crate::offer::Protocol;
use crate::plan::Plan;
use crate::referee::{Referee as _, settle};
use crate::schedule::Schedule;
use crate::target::Targets;
use crate::tls_server::{Behavior, TlsServer};
use crate::verdict::{Evidence, Judgement, Verdict};
use crate::worker::{Report, Worker};

/// Runs the client, which counts unconfirmed handshakes or not. Returns its report and the
/// judgement.
fn judged(counts_unconfirmed: bool) -> (Report, Judgement) {
    // a client without certificate finishes the handshake; then the server rejects it
    let server = TlsServer::start(|number| match number % 8 {
        3 => Behavior::CertificateRequired,
        _ => Behavior::Good,
    });
    let plan = Plan {
        connections: 4,
        warm_up_ms: 0,
        sustain_ms: 600,
        limits: Limits { errors: 1.0, ..Limits::of_counts() },
        ..Plan::new(Protocol::Tls13)
    };
    let mut referee = server.referee();
    referee.mark().expect("counters");
    let target = server.target();
    let targets = Targets { secure: &target, plain: &target };
    let mut worker = Worker::new(&plan, targets, Part::Thread(0)).expect("a plan that is right");
    worker.count_unconfirmed(counts_unconfirmed);
    let schedule = Schedule::new(&plan, Instant::now());
    let report = worker.run(&schedule, &AtomicBool::new(false)).expect("loopback");
    let whole = &report.tally.whole;
    let seen = settle(&mut referee, whole, Duration::from_secs(2), &|| false);
    let seen = Ok(seen.expect("counters").expect("nobody stops it"));
    let judgement = Evidence {
        plan: &plan,
        whole,
        sustain: &report.tally.sustain,
        plain: &report.tally.plain,
        arrivals: ArrivalCounts::default(),
        abandoned: 0,
        bins: &[],
        hello_retries: 0,
        server_gone: None,
        client_cpu: None,
        server_cpu_lost: None,
        server_cpu_late: false,
        seen: Some(&seen),
        host: &HostConditions::default(),
    }
    .judge();
    (report, judgement)
}

/// The handshakes that client and server counted, if a finding says that the numbers differ.
fn disputed(judgement: &Judgement) -> Option<(u64, u64)> {
    judgement.reasons.iter().find_map(|finding| match finding {
        crate::Finding::RefereeHandshakes { client, server } => Some((*client, *server)),
        _ => None,
    })
}

#[test]
fn the_referee_detects_a_client_that_counts_unconfirmed_handshakes() {
    let (honest, judgement) = judged(false);
    let whole = &honest.tally.whole;
    assert!(whole.client_done > whole.confirmed && whole.confirmed > 0, "{whole:?}");
    assert_eq!(disputed(&judgement), None, "{:?}", judgement.reasons);

    let (liar, judgement) = judged(true);
    let whole = &liar.tally.whole;
    assert_eq!(whole.client_done, whole.confirmed, "{whole:?}");
    assert_eq!(judgement.verdict, Verdict::Invalid);
    let (client, server) = disputed(&judgement).expect("the server's log has fewer");
    assert!(client == whole.confirmed && server < client, "{client} {server}");
}
