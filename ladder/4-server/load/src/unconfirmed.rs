//! Tests that the referee detects a client that counts unconfirmed handshakes, and accepts the
//! normal client.

use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::time::Instant;

use crate::counts::Counts;
use crate::finding::{Finding, Findings};
use crate::host_conditions::HostConditions;
use crate::limits::Limits;
use crate::offer::Protocol;
use crate::part::Part;
use crate::plan::Plan;
use crate::referee::{Referee as _, settle};
use crate::schedule::Schedule;
use crate::target::Targets;
use crate::tls_server::{Behavior, TlsServer};
use crate::verdict::{Evidence, Verdict};
use crate::worker::Worker;

/// Runs the client, which counts unconfirmed handshakes or not. Returns its counts and the
/// judgement.
fn judged(counts_unconfirmed: bool) -> (Counts, (Verdict, Findings)) {
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
    let targets = Targets::of(&target, None);
    let mut worker = Worker::new(&plan, targets, 0).expect("a plan that is right");
    worker.count_unconfirmed(counts_unconfirmed);
    let schedule = Schedule::new(&plan, Instant::now());
    let report = worker.run(&schedule, &AtomicBool::new(false)).expect("loopback");
    let seen = settle(&mut referee, &report.tally.whole, Duration::from_secs(2), &|| false);
    let seen = Ok(seen.expect("counters").expect("nobody stops it"));
    let host = HostConditions::default();
    let part = Part { tally: report.tally, client_cpu: None, server_gone: None, host };
    let mut of_parts = Findings::default();
    part.judge(&plan, &mut of_parts);
    let evidence = Evidence {
        plan,
        tally: part.tally,
        of_parts,
        is_server_gone: false,
        server_cpu_lost: None,
        server_cpu_late: false,
        seen: Some(seen),
    };
    let judgement = evidence.judge();
    (evidence.tally.whole, judgement)
}

/// Returns the handshakes that client and server counted, if a finding says that the numbers
/// differ.
fn disputed(findings: &Findings) -> Option<(u64, u64)> {
    findings.reasons.iter().find_map(|finding| match finding {
        Finding::RefereeHandshakes { client, server } => Some((*client, *server)),
        _ => None,
    })
}

#[test]
fn the_referee_detects_a_client_that_counts_unconfirmed_handshakes() {
    let (whole, (_, findings)) = judged(false);
    assert!(whole.client_done > whole.confirmed && whole.confirmed > 0, "{whole:?}");
    assert_eq!(disputed(&findings), None, "{findings:?}");

    let (whole, (verdict, findings)) = judged(true);
    assert_eq!(whole.client_done, whole.confirmed, "{whole:?}");
    assert_eq!(verdict, Verdict::Invalid);
    let (client, server) = disputed(&findings).expect("the server's log has fewer");
    assert!(client == whole.confirmed && server < client, "{client} {server}");
}
