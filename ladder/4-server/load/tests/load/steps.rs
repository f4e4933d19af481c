//! A server delays each step by a known time. Every measured time has exactly the delays that
//! belong to its definition.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustls::{HandshakeKind, ProtocolVersion, ServerConfig, ServerConnection, StreamOwned};
use socket2::{Domain, Socket, Type};
use tollgate_load::{
    Context, Exchange, Latency, Mechanism, Naming, Outcome, Plan, Protocol, Resume, Server, Target,
    records, run,
};
use tollgate_record::Machine;

use crate::tls_config::config;
use crate::{plan, until};

/// Linux repeats a SYN after this time if the first one was dropped.
const CONNECT: Duration = Duration::from_secs(1);
/// The server's delay from the `ClientHello` to the `ServerHello`.
const HELLO: Duration = Duration::from_millis(220);
/// The server's delay from the client's last handshake message to the first byte that confirms the
/// handshake.
const CONFIRM: Duration = Duration::from_millis(350);
/// The server's delay from the first to the last byte of the body.
const BODY: Duration = Duration::from_millis(140);

/// A time may exceed its delays by this much, which is less than any of the delays.
const EXCESS_MAX: Duration = Duration::from_millis(100);

const BYTES: usize = 1000;

/// A server that handles one connection at a time.
struct Delaying {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Delaying {
    /// Starts a server. With `delays_connect`, it drops the first SYN of each connection.
    fn start(delays_connect: bool) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.listen(0).unwrap(); // the queue holds one connection
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let tls = Arc::new(config(false));
        // While this connection fills the queue, the system drops every SYN.
        let fill = move || delays_connect.then(|| TcpStream::connect(address).unwrap());
        let mut filler = fill();
        let acceptor = thread::spawn(move || {
            loop {
                if let Some(filler) = filler.take() {
                    thread::sleep(CONNECT / 2);
                    drop((filler, listener.accept()));
                }
                let (stream, _) = listener.accept().unwrap();
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                filler = fill();
                let _ = serve(stream, &tls);
            }
        });
        Self { address, stop, acceptor: Some(acceptor) }
    }
}

impl Drop for Delaying {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        let _ = self.acceptor.take().map(JoinHandle::join);
    }
}

fn serve(mut stream: TcpStream, config: &Arc<ServerConfig>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut tls = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut delay = HELLO;
    while tls.is_handshaking() {
        if tls.read_tls(&mut stream)? == 0 {
            return Ok(());
        }
        tls.process_new_packets().map_err(io::Error::other)?;
        // In a full handshake of TLS 1.2, the server's Finished confirms the handshake. The tickets
        // of TLS 1.3 confirm nothing.
        let is_tls12 = tls.protocol_version() == Some(ProtocolVersion::TLSv1_2);
        let is_resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        if !tls.is_handshaking() {
            delay = if is_tls12 && !is_resumed { CONFIRM } else { Duration::ZERO };
        }
        if tls.wants_write() {
            thread::sleep(core::mem::take(&mut delay));
        }
        while tls.wants_write() {
            tls.write_tls(&mut stream)?;
        }
    }
    let is_confirmed = tls.protocol_version() == Some(ProtocolVersion::TLSv1_2)
        && tls.handshake_kind() == Some(HandshakeKind::Full);
    let mut stream = StreamOwned::new(tls, stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    thread::sleep(if is_confirmed { Duration::ZERO } else { CONFIRM });
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n")?;
    stream.write_all(&[b'x'; BYTES / 2])?;
    stream.flush()?;
    thread::sleep(BODY);
    stream.write_all(&[b'x'; BYTES / 2])?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// Returns whether a time has the expected delays and no other delay.
fn has(times: &Latency, delays: Duration) -> bool {
    times.quantile_ns(0.5).is_some_and(|ns| {
        let time = Duration::from_nanos(ns) + Duration::from_millis(2); // records have three digits
        time >= delays && time < delays + EXCESS_MAX
    })
}

/// Runs the plan until the times are `as_expected`: on a busy machine a step takes longer.
fn outcome(plan: &Plan, delays_connect: bool, as_expected: impl Fn(&Outcome) -> bool) -> Outcome {
    until(plan, as_expected, |plan| {
        let server = Delaying::start(delays_connect);
        let mut side = Server::new("delaying", Target::new(server.address).unwrap());
        let outcome = run(plan, &mut side, &|| false, &mut |_, _| {}).unwrap();
        let times = [outcome.connect(), outcome.handshake(), outcome.transaction()];
        eprintln!("{:?}: {:?}", plan.protocol, times.map(|times| times?.quantile_ns(0.5)));
        outcome
    })
}

#[test]
fn each_time_has_the_delays_of_its_definition() {
    for protocol in [Protocol::Tls13, Protocol::Tls12X25519] {
        let plan = Plan {
            connections: 1,
            warm_up_ms: 0,
            sustain_ms: 2500,
            exchange: Exchange::bytes(BYTES as u64),
            ..plan(protocol)
        };
        let whole = CONNECT + HELLO + CONFIRM + BODY;
        let outcome = outcome(&plan, true, |outcome| {
            outcome.connect().is_some_and(|times| has(times, CONNECT))
                && has(outcome.handshake().unwrap(), HELLO + CONFIRM)
                && has(outcome.transaction().unwrap(), whole)
        });
        let context = Context {
            machine: Machine::unknown("Some Processor 9000"),
            versions: BTreeMap::new(),
            commit: None,
            conditions: BTreeMap::new(),
        };
        let naming = Naming::new("rsa-2048", "delaying");
        let records = records(&[outcome], &naming, &context).unwrap();
        for (quantity, delays) in [
            ("connect_ns_p50", CONNECT),
            ("handshake_ns_p50", HELLO + CONFIRM),
            ("transaction_ns_p50", whole),
        ] {
            let found = records.iter().find(|record| record.quantity.as_str() == quantity).unwrap();
            let time = Duration::from_secs_f64(found.estimate.point() / 1e9);
            assert!(time.abs_diff(delays) < EXCESS_MAX, "{quantity}: {time:?}");
        }
    }
}

#[test]
fn a_resumed_tls12_handshake_ends_with_the_first_byte_after_the_clients_finished() {
    let plan = Plan {
        connections: 1,
        warm_up_ms: 1000, // the first connection has no session to offer
        sustain_ms: 1500,
        exchange: Exchange::bytes(BYTES as u64),
        resume: Some(Resume { share: 1.0, by: Mechanism::SessionId }),
        ..plan(Protocol::Tls12X25519)
    };
    outcome(&plan, false, |outcome| {
        outcome.by_resumption().is_some_and(|sessions| {
            sessions.resumed.transactions > 0 && has(&sessions.resumed.handshake, HELLO + CONFIRM)
        })
    });
}
