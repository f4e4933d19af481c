//! Tests of a running thread: allocations, and the last messages of connections.

use core::sync::atomic::AtomicU64;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use openssl::pkey::PKey;
use openssl::ssl::{ErrorCode, Ssl, SslContext, SslMethod, SslStream};
use openssl::x509::X509;
use tollgate_tls_client::VerifySignature;

use super::*;
use crate::arrivals::{Arrivals, Pattern};
use crate::offer::Protocol;
use crate::plan::{Close, Exchange};
use crate::resumption::{Mechanism, Resume};
use crate::target::Target;
use crate::tls_config::identity;

/// Maximum number of allocations that do not grow with the run: histograms, queue, certificate,
/// buffers.
const ONCE_MAX: u64 = 100;

/// Allocations of each key agreement: the server's public value in the library, and the secret.
const AGREEMENT: u64 = 2;

/// Answers the requests of a connection until the last one.
fn answer(stream: &mut (impl Read + Write)) {
    let (mut head, mut count) = ([0; 1024], 0);
    loop {
        match stream.read(&mut head[count..]) {
            Ok(0) | Err(_) => return,
            Ok(more) => count += more,
        }
        if head[..count].ends_with(b"\r\n\r\n") {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
            if head[..count].windows(5).any(|part| part == b"close") {
                return;
            }
            count = 0;
        }
    }
}

/// Returns a server that gives tickets.
fn tls() -> SslContext {
    let (certificate, key) = identity();
    let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
    context.set_certificate(&X509::from_der(&certificate).unwrap()).unwrap();
    context.set_private_key(&PKey::private_key_from_der(&key).unwrap()).unwrap();
    context.set_session_id_context(b"test").unwrap();
    context.build()
}

/// Returns a connection after its handshake, if that succeeded.
fn accept(context: &SslContext, stream: TcpStream) -> Option<SslStream<TcpStream>> {
    let mut stream = SslStream::new(Ssl::new(context).unwrap(), stream).unwrap();
    stream.accept().is_ok().then_some(stream)
}

/// Runs `plan` on this thread against a server with one connection at a time; returns allocations
/// and counts of the client.
fn run(plan: &Plan, serve: impl Fn(TcpStream) + Sync) -> (u64, Tally) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                serve(stream.unwrap());
            }
        });
        let target = Target::new(address).unwrap();
        let targets = Targets::new(&target, None);
        let worker = Worker::new(plan, targets, 0).unwrap();
        let schedule = Schedule::new(plan, Instant::now());
        let mut report = None;
        let counted = allocation_counter::measure(|| {
            report = Some(worker.run(&schedule, &stop).unwrap());
        });
        ended.store(true, Ordering::Relaxed);
        TcpStream::connect(address).unwrap();
        server.join().unwrap();
        (counted.count_total, report.unwrap().tally)
    })
}

fn plan(protocol: Protocol) -> Plan {
    Plan {
        connections: 1,
        warm_up_ms: 0,
        sustain_ms: 1000,
        exchange: Exchange::bytes(3),
        ..Plan::new(protocol)
    }
}

#[test]
fn plain_transactions_do_not_allocate() {
    let open = Arrivals::open(Pattern::Poisson { per_s: 2000.0 });
    for arrivals in [Plan::new(Protocol::Tls13).arrivals, open] {
        let plan = Plan {
            arrivals,
            requests_per_connection: 2.0,
            plain_share: 1.0,
            ..plan(Protocol::Tls13)
        };
        let (count, tally) = run(&plan, |mut stream| answer(&mut stream));
        let done = tally.whole.transactions;
        assert!(done > 2 * ONCE_MAX, "{done}");
        assert!(count < ONCE_MAX, "{count} for {done}");
    }
}

#[test]
fn secure_transactions_allocate_only_for_the_key_agreement() {
    let context = tls();
    for (protocol, by) in [
        (Protocol::Tls12Rsa, Mechanism::Ticket),
        (Protocol::Tls12X25519, Mechanism::Ticket),
        (Protocol::Tls12P256, Mechanism::Ticket),
        (Protocol::Tls13, Mechanism::Psk),
    ] {
        for resume in [None, Some(Resume { share: 0.5, by })] {
            let plan = Plan { resume, verify: VerifySignature::Always, ..plan(protocol) };
            let (count, tally) = run(&plan, |stream| {
                accept(&context, stream).iter_mut().for_each(answer);
            });
            let (all, resumed) = (tally.whole.client_done, tally.whole.resumptions.accepted);
            assert!(
                all > 2 * ONCE_MAX && (resumed > all / 3) == resume.is_some(),
                "{all} {resumed}"
            );
            let agreements = match protocol {
                Protocol::Tls12Rsa => 0,
                Protocol::Tls13 => all,
                _ => all - resumed,
            };
            let rest = count.saturating_sub(AGREEMENT * agreements);
            assert!(rest < ONCE_MAX, "{protocol:?}: {rest} for {all}, {resumed} of them resumed");
        }
    }
}

#[test]
fn with_reset_close_notify_is_sent_only_to_confirm_the_handshake() {
    let context = tls();
    for (protocol, close, expected) in [
        (Protocol::Tls12Rsa, Close::RstAfterConfirm, false),
        (Protocol::Tls12Rsa, Close::Fin, true),
        (Protocol::Tls13, Close::RstAfterConfirm, true),
    ] {
        let exchange = Exchange::HandshakeOnly;
        let plan = Plan { exchange, close, sustain_ms: 200, ..plan(protocol) };
        let (goodbyes, resets) = (AtomicU64::new(0), AtomicU64::new(0));
        let (_, tally) = run(&plan, |stream| {
            let Some(mut stream) = accept(&context, stream) else { return };
            let end = stream.ssl_read(&mut [0]).unwrap_err().code();
            let ends = if end == ErrorCode::ZERO_RETURN { &goodbyes } else { &resets };
            ends.fetch_add(1, Ordering::Relaxed);
            let _ = stream.shutdown();
        });
        let all = tally.whole.confirmed;
        let found = [goodbyes.into_inner(), resets.into_inner()];
        assert_eq!(found, if expected { [all, 0] } else { [0, all] }, "{protocol:?}, {close:?}");
        assert!(all > 0);
    }
}
