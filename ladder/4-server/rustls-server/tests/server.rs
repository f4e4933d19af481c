//! Loads the server with the load generator. The server must count every handshake and response,
//! with either signer.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::time::Duration;

use tollgate_load::{Exchange, Limits, Outcome, Plan, Protocol, Server, Target, Verify, run};
use tollgate_rustls_server::{Config, Running, Signer};
use tollgate_server::{Certificate, KeyKind};

/// Performs a short run. Other tests run at the same time, so its steadiness is not judged.
fn outcome(running: &Running, protocol: Protocol, exchange: Exchange) -> Outcome {
    let plan = Plan {
        connections: 4,
        warm_up_ms: 50,
        sustain_ms: 200,
        verify: Verify::Always,
        exchange,
        limits: Limits::of_counts(),
        ..Plan::new(protocol)
    };
    let target = Target::new(running.addr()).unwrap();
    let mut server = Server::new("rustls", target)
        .with_referee(running.referee())
        .with_cpu(|| Ok(running.cpu()));
    run(&plan, &mut server, &|| false, &mut |_, _| {}).unwrap()
}

/// Returns the handshakes that the server counted, and the signatures that the engine counted.
fn counted(signer: Signer) -> (u64, Option<u64>) {
    let certificate = Certificate::default();
    let config = Config { certificate, cores: vec![], signer, threads: 4 };
    let running = Running::start(&config).unwrap();
    let mut handshakes = 0;
    for (protocol, exchange) in [
        (Protocol::Tls12X25519, Exchange::bytes(70_000)), // longer than one piece
        (Protocol::Tls13, Exchange::HandshakeOnly),
    ] {
        let outcome = outcome(&running, protocol, exchange);
        let (whole, seen) = (&outcome.whole, outcome.seen.unwrap());
        assert!(whole.transactions > 0, "{outcome}");
        assert_eq!(whole.confirmed, seen.handshakes, "{outcome}");
        assert_eq!((whole.failed(), seen.resumed, seen.failed), (0, 0, 0), "{outcome}");
        handshakes += seen.handshakes;
    }
    assert!(running.cpu() > Duration::ZERO);
    (handshakes, running.engine().map(|engine| engine.stats().unwrap().done))
}

#[test]
fn every_session_is_counted_with_aws_lc() {
    let (handshakes, signed) = counted(Signer::AwsLc);
    assert!(handshakes > 0);
    assert_eq!(signed, None);
}

#[test]
fn every_session_is_counted_with_the_engine() {
    let (handshakes, signed) = counted(Signer::Engine);
    assert_eq!(signed, Some(handshakes));
}

#[test]
fn invalid_configurations_are_refused_in_one_line() {
    let refused = |change: fn(&mut Config)| {
        let certificate = Certificate::SelfSigned(KeyKind::EcdsaP384);
        let mut config = Config { certificate, cores: vec![], signer: Signer::Engine, threads: 1 };
        change(&mut config);
        let text = Running::start(&config).unwrap_err().to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    };
    assert!(refused(|_| ()).contains("not an RSA key"));
    assert!(refused(|config| config.threads = 0).contains("threads"));
    let other = refused(|config| {
        config.certificate = Certificate::default();
        config.cores = vec![100_000];
    });
    assert!(other.contains("no such core"), "{other}");
}
