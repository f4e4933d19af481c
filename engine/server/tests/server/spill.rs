//! Connections that are passed on to another server, or closed, while the load is high.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use tollgate_server::{
    Config, Counters, Engine, KeyKind, Limits, Listen, Misuse, Notice, Server, Spill,
};

use crate::rig::{ONE_REQUEST, Rig, TIMEOUT, bytes, connect, eventually, fetch, notices, tcp};

fn at(to: Option<SocketAddr>) -> Spill {
    Spill { to, ..Spill::default() }
}

/// A server that one handshake fills.
fn narrow(to: Option<SocketAddr>) -> Config {
    Config { spill: Some(Spill { handshakes: Some(1), ..at(to) }), ..Config::default() }
}

/// Returns a client that begins no handshake, once the server has accepted it.
fn silent(server: &Rig) -> TcpStream {
    let before = server.running.counters().connections;
    let socket = tcp(server.running.addr());
    eventually("a connection", || server.running.counters().connections > before);
    socket
}

/// Fetches a body, and returns the number of responses of each server.
fn served(first: &Rig, second: &Rig) -> [u64; 2] {
    assert_eq!(fetch(&[&first.url("/bytes/1000000")]), bytes(1_000_000));
    for server in [first, second] {
        eventually("quiet", || {
            let Counters { requests, connections_open, .. } = server.running.counters();
            requests > 0 || connections_open < 2
        });
    }
    [first, second].map(|server| server.running.counters().requests)
}

#[test]
fn connections_are_passed_on_while_too_many_handshakes_are_open() {
    let second = Rig::start(Config::default());
    let (said, notify) = notices();
    let config = Config { notify, ..narrow(Some(second.running.addr())) };
    let first = Rig::start(config);
    assert_eq!(served(&first, &second), [1, 0]);
    let holds = silent(&first);
    assert_eq!(served(&first, &second), [1, 1]);
    assert_eq!(served(&first, &second), [1, 2]);
    drop(holds);
    eventually("no handshake", || first.running.counters().connections_open == 0);
    assert_eq!(served(&first, &second), [2, 2]);
    let counters = first.running.counters();
    assert_eq!((counters.spilled, counters.spill_failures, counters.refused), (2, 0, 0));
    let to = Some(second.running.addr());
    assert_eq!(*said.lock().unwrap(), [Notice::Spill { to }], "once");
    let metrics = String::from_utf8(fetch(&[&first.url("/metrics")])).unwrap();
    assert!(metrics.contains("tollgate_spilled_total{kind=\"passed_on\"} 2"), "{metrics}");
    first.until_closed();
    second.until_closed();
    first.finish();
    assert_eq!(second.finish().requests().len(), 2);
}

#[test]
fn both_directions_pass_whole_and_end_one_after_the_other() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = Rig::start(narrow(Some(target.local_addr().unwrap())));
    let holds = silent(&first);
    let mut client = tcp(first.running.addr());
    let (mut server, _) = target.accept().unwrap();
    let sent = bytes(3_000_000);
    let expected = sent.clone();
    let writes = thread::spawn(move || {
        client.write_all(&sent).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut back = Vec::new();
        client.read_to_end(&mut back).unwrap();
        back
    });
    thread::sleep(Duration::from_millis(100)); // the buffers of the kernel are full by then
    let mut received = Vec::new();
    server.read_to_end(&mut received).unwrap();
    assert_eq!(received, expected);
    server.write_all(&expected[..2_000_000]).unwrap();
    drop(server);
    assert_eq!(writes.join().unwrap(), expected[..2_000_000]);
    drop(holds);
    first.until_closed();
    first.finish();
}

#[test]
fn without_an_address_or_with_a_dead_one_connections_are_closed() {
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (to, expected) in [(None, (0, 0, 2)), (Some(dead), (2, 2, 0))] {
        let first = Rig::start(narrow(to));
        let holds = silent(&first);
        for _ in 0..2 {
            let mut client = tcp(first.running.addr());
            assert_eq!(client.read(&mut [0]).unwrap_or(0), 0, "closed");
        }
        let counted = || {
            let counters = first.running.counters();
            (counters.spilled, counters.spill_failures, counters.refused)
        };
        eventually("counts", || counted() == expected);
        drop(holds);
        first.until_closed();
        first.finish();
    }
}

#[test]
fn open_connections_and_those_passed_on_have_limits() {
    let second = Rig::start(Config::default());
    let spill = Spill {
        connections: Some(2),
        spilled_max: 1,
        idle: Duration::from_millis(500),
        ..at(Some(second.running.addr()))
    };
    let first = Rig::start(Config { spill: Some(spill), ..Config::default() });
    let open = [connect(first.running.addr()), connect(first.running.addr())];
    let mut idle = connect(first.running.addr());
    let mut closed = tcp(first.running.addr());
    assert_eq!(closed.read(&mut [0]).unwrap_or(0), 0, "closed");
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0, "closed after the limit");
    let counters = first.running.counters();
    assert_eq!((counters.spilled, counters.refused, counters.connections), (1, 1, 2));
    drop(open);
    first.until_closed();
    first.finish();
}

#[test]
fn a_stop_cuts_what_is_passed_on_at_its_limit() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = Rig::start(narrow(Some(target.local_addr().unwrap())));
    let holds = silent(&first);
    let _client = tcp(first.running.addr());
    let _server = target.accept().unwrap();
    drop(holds);
    let report = first.running.stop(Duration::from_millis(300));
    assert_eq!((report.connections_cut, report.workers_lost), (1, 0));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let own: SocketAddr = "127.0.0.1:4433".parse().unwrap();
    let one = Some(1);
    let cases = [
        (at(None), Misuse::SpillWithoutLimit),
        (Spill { handshakes: one, ..at(Some(own)) }, Misuse::SpillToItself(own)),
        (Spill { connections: Some(0), ..at(None) }, Misuse::ZeroLimit("spill.connections")),
        (Spill { turn: Some(Duration::ZERO), ..at(None) }, Misuse::ZeroLimit("spill.turn")),
    ];
    let refused = |address, spill, expected: Misuse| {
        let config = Config { address, spill: Some(spill), ..Config::default() };
        let why = Server::check(config).unwrap_err().to_string();
        assert_eq!(why, expected.to_string());
    };
    for (spill, expected) in cases {
        refused(own.into(), spill, expected);
    }
    let shared = Listen::Systemd("https".to_owned());
    refused(shared, Spill { handshakes: one, ..at(None) }, Misuse::SpillOfSystemd);
}

/// Prints the CPU time of a worker for a full handshake, for a connection that it passes on to a
/// server that makes it, and for one that it closes.
#[test]
#[allow(clippy::print_stdout, reason = "docs/serve.md says how to read them")]
fn a_connection_that_is_passed_on_costs_a_part_of_a_handshake() {
    const COUNT: u32 = 200;
    let start = |config: Config| Rig::with_own_key(Config { engine: Engine::Tollgate, ..config });
    let certificate = tollgate_server::Certificate::SelfSigned(KeyKind::Rsa { bits: 2048 });
    let certificate = certificate.to_pem().unwrap();
    let second = start(Config { certificate: certificate.clone(), ..Config::default() });
    // the silent clients stay longer than the test takes
    let limits = Limits { handshake: Duration::from_secs(600), ..Limits::default() };
    let config = Config { certificate, limits, ..narrow(Some(second.running.addr())) };
    let refusing = start(Config { spill: narrow(None).spill, ..config.clone() });
    let first = start(config);
    let cpu = |server: &Rig| server.running.counters().worker_cpu[0];
    let visit = |server: &Rig| {
        let mut client = connect(server.running.addr());
        client.write_all(ONE_REQUEST.as_bytes()).unwrap();
        client.read_to_end(&mut Vec::new()).unwrap();
    };
    let holds = [silent(&first), silent(&refusing)];
    visit(&first);
    let before = [cpu(&first), cpu(&second), cpu(&refusing)];
    for _ in 0..COUNT {
        visit(&first);
        let mut closed = tcp(refusing.running.addr());
        assert_eq!(closed.read(&mut [0]).unwrap_or(0), 0);
    }
    let spent = [cpu(&first) - before[0], cpu(&second) - before[1], cpu(&refusing) - before[2]];
    let [passed_on, full, closed] = spent.map(|spent| spent / COUNT);
    println!(
        "full handshake with one request: {full:?}; passed on: {passed_on:?}; closed: {closed:?}"
    );
    assert!(passed_on < full, "{passed_on:?} {full:?}");
    assert!(closed < passed_on, "{closed:?} {passed_on:?}");
    assert_eq!(u64::from(COUNT) + 1, first.running.counters().spilled);
    drop(holds);
    for server in [first, second, refusing] {
        let _ = server.running.stop(TIMEOUT);
    }
}
