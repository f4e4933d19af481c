//! A client that lies: it counts handshakes before the server has confirmed them. The referee
//! catches it, and does not catch the honest one.

use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::time::Instant;

use crate::limits::Limits;
use crate::offered::Offered;
use crate::plan::{Plan, Protocol};
use crate::referee::{Referee as _, settle};
use crate::schedule::Schedule;
use crate::surroundings::Surroundings;
use crate::target::Targets;
use crate::tls_server::{Manner, TlsServer};
use crate::verdict::{Evidence, Judgement, Verdict};
use crate::worker::{Part, Report, Worker};

/// What the client counted as confirmed, and what came of it before the referee.
fn judged(lies: bool) -> (Report, Judgement) {
    // a client that has no certificate holds the handshake for done; the server rejects it
    let server = TlsServer::start(|number| match number % 8 {
        3 => Manner::CertificateRequired,
        _ => Manner::Good,
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
    worker.lies(lies);
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
        offered: Offered::default(),
        abandoned: 0,
        bins: &[],
        hello_retries: 0,
        gave_up: None,
        client_cpu: None,
        server_cpu_lost: None,
        server_cpu_late: false,
        seen: Some(&seen),
        around: &Surroundings::default(),
    }
    .judge();
    (report, judgement)
}

/// Whether a finding holds the client's number of handshakes against the server's.
fn disputed(judgement: &Judgement) -> Option<(u64, u64)> {
    judgement.reasons.iter().find_map(|finding| match finding {
        crate::Finding::RefereeHandshakes { client, server } => Some((*client, *server)),
        _ => None,
    })
}

#[test]
fn who_counts_before_the_server_confirms_is_caught_by_the_referee() {
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
