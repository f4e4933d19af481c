//! The server as a proxy: requests, bodies and upgrades pass, and faults of back ends are answered.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use tollgate_server::{Config, End, HealthCheck, Misuse, Proxy, Server};

use crate::rig::{Rig, TIMEOUT, bytes, connect, curl, eventually, fetch, head, notices, response};

/// A back end: a thread for each connection, which runs `serve` with it.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Backend {
    pub(crate) fn start(serve: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, serve) = (Arc::clone(&connections), Arc::new(serve));
        // The thread ends with the test program.
        thread::spawn(move || {
            for socket in listener.incoming() {
                let mut socket = socket.unwrap();
                socket.set_read_timeout(Some(TIMEOUT)).unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(&mut socket));
            }
        });
        Self { address, connections }
    }

    /// Answers each request with this response, until the client closes.
    pub(crate) fn answering(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |socket| {
            while request(socket).is_some() {
                socket.write_all(&response).unwrap();
            }
        })
    }

    /// Answers each request with its head and body.
    pub(crate) fn echoing() -> Self {
        Self::start(|socket| {
            while let Some((head, body)) = request(socket) {
                let length = head.len() + body.len();
                write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{head}")
                    .unwrap();
                socket.write_all(&body).unwrap();
            }
        })
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads a request with its body; `None` if the connection closes before one.
pub(crate) fn request(socket: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut first = [0];
    if socket.read(&mut first).unwrap_or(0) == 0 {
        return None;
    }
    let head = format!("{}{}", char::from(first[0]), head(socket));
    let field = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let mut body = Vec::new();
    if let Some(length) = field("Content-Length:") {
        body.resize(length.parse().unwrap(), 0);
        socket.read_exact(&mut body).unwrap();
    } else if field("Transfer-Encoding:").is_some() {
        let mut byte = [0];
        let has_last = |body: &[u8]| {
            body.starts_with(b"0\r\n") || body.windows(5).any(|five| five == b"\r\n0\r\n")
        };
        while !(body.ends_with(b"\r\n\r\n") && has_last(&body)) {
            socket.read_exact(&mut byte).unwrap();
            body.push(byte[0]);
        }
    }
    Some((head, body))
}

pub(crate) fn proxy_to(backends: &[&Backend]) -> Proxy {
    Proxy::to(backends.iter().map(|backend| backend.address).collect())
}

fn start(proxy: Proxy) -> Rig {
    Rig::start(Config { proxy: Some(proxy), ..Config::default() })
}

/// An address on which nothing listens.
fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Sends a request with these fields; returns the response's head and body.
fn ask(rig: &Rig, text: &str) -> (String, Vec<u8>) {
    let mut client = connect(rig.running.addr());
    client.write_all(text.as_bytes()).unwrap();
    response(&mut client)
}

#[test]
fn requests_and_bodies_of_all_kinds_pass() {
    let backend = Backend::echoing();
    let rig = start(proxy_to(&[&backend]));
    let echo = String::from_utf8(fetch(&[&rig.url("/a?b=c"), "-H", "X-Forwarded-For: 6.6.6.6"]));
    let echo = echo.unwrap();
    assert!(echo.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{echo}");
    assert!(echo.contains("X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n"), "{echo}");
    assert!(!echo.contains("6.6.6.6"), "{echo}");

    // 300 kB in both directions, with a length and in chunks
    let body = rig.folder.path("body");
    std::fs::write(&body, bytes(300_000)).unwrap();
    let data = format!("@{}", body.display());
    for more in [&["-X", "PUT"][..], &["-H", "Transfer-Encoding: chunked"], &["-H", "Expect:"]] {
        let url = rig.url("/up");
        let echo = fetch(&[&[&*url, "--http1.1", "--data-binary", &data], more].concat());
        let end = echo.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let found = &echo[end..];
        if more[1].contains("chunked") {
            assert!(found.ends_with(b"0\r\n\r\n") && found.len() > 300_000, "{}", found.len());
        } else {
            assert!(found == bytes(300_000), "{more:?}: {} bytes", found.len());
        }
    }
    assert_eq!(
        curl(&["--head", &rig.url("/")]).stdout.windows(15).next().unwrap(),
        b"HTTP/1.1 200 OK"
    );
    let (old, _) = ask(&rig, "GET / HTTP/1.0\r\n\r\n");
    assert!(old.contains("Connection: close\r\n"), "{old}");
    rig.until_closed();
    let counts = rig.running.counters();
    assert_eq!((counts.backends[0].requests, counts.backends[0].active), (6, 0));
    assert_eq!((counts.requests, counts.requests_cut), (6, 0));
    assert!(backend.connections() <= 2, "connections to the back end are used again");
    let log = rig.finish();
    assert_eq!(log.requests().len(), 6);
    assert!(log.requests().iter().all(|line| line.status == 200 && line.complete));
}

/// A chunked body.
const CHUNKS: &[u8; 13] = b"3\r\nabc\r\n0\r\n\r\n";

#[test]
fn responses_of_all_kinds_pass() {
    let cases: [(&str, &str, &[u8]); 4] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello", "X-A: b\r\n", b"hello"),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 404 No\r\n",
            b"no",
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n", b""),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\
             Trailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: t\r\nContent-Length: 7\r\n\r\n",
            "Transfer-Encoding: chunked\r\n",
            b"",
        ),
    ];
    for (answer, field, body) in cases {
        let backend = Backend::answering(answer);
        let rig = start(proxy_to(&[&backend]));
        for _ in 0..2 {
            let mut client = connect(rig.running.addr());
            client
                .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
                .unwrap();
            for _ in 0..2 {
                if answer.starts_with("HTTP/1.1 100") {
                    assert_eq!(head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
                }
                let (found, found_body) = response(&mut client);
                assert!(found.contains(field), "{found}");
                assert!(!found.contains("Connection:") && !found.contains("Trailer:"), "{found}");
                assert_eq!(found_body, body);
                if field.starts_with("Transfer") {
                    let mut chunks = [0; CHUNKS.len()];
                    client.read_exact(&mut chunks).unwrap();
                    assert_eq!(chunks, *CHUNKS);
                }
            }
        }
        assert_eq!(backend.connections(), 1, "{answer:?}");
    }
}

/// A client cannot hide fields behind the body, in whatever pieces they come, and its next request
/// is read from the right place.
#[test]
fn trailer_sections_of_requests_are_left_out() {
    let rig = start(proxy_to(&[&Backend::echoing()]));
    let text = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n\
                3;x\r\nabc\r\n0\r\nX-T: t\r\nX-Forwarded-For: 6.6.6.6\r\nContent-Length: 9\r\n\r\n\
                GET /b HTTP/1.1\r\nHost: a\r\n\r\n";
    for piece in [1, 50, text.len()] {
        let mut client = connect(rig.running.addr());
        for bytes in text.as_bytes().chunks(piece) {
            client.write_all(bytes).unwrap();
        }
        let echo = String::from_utf8(response(&mut client).1).unwrap();
        assert!(echo.ends_with("\r\n\r\n3;x\r\nabc\r\n0\r\n\r\n"), "{echo}");
        assert!(!echo.contains("6.6.6.6") && !echo.contains("Trailer"), "{echo}");
        let echo = String::from_utf8(response(&mut client).1).unwrap();
        assert!(echo.starts_with("GET /b HTTP/1.1\r\n"), "{echo}");
    }
    let mut client = connect(rig.running.addr());
    let endless = text.replace("X-T: t", &"X-T: t\r\n".repeat(2000));
    client.write_all(endless.as_bytes()).unwrap();
    let (head, _) = response(&mut client);
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let backend = Backend::start(|socket| {
        request(socket).unwrap();
        socket.write_all(b"HTTP/1.0 200 OK\r\n\r\n").unwrap();
        socket.write_all(&bytes(100_000)).unwrap();
    });
    let rig = start(proxy_to(&[&backend]));
    for _ in 0..2 {
        assert!(fetch(&[&rig.url("/")]) == bytes(100_000));
    }
    rig.until_closed();
    assert_eq!(backend.connections(), 2);
    assert_eq!(rig.running.counters().requests, 2);
}

#[test]
fn upgraded_connections_become_tunnels() {
    let backend = Backend::start(|socket| {
        let (head, _) = request(socket).unwrap();
        assert!(head.contains("Connection: upgrade\r\n") && head.contains("Upgrade: echo\r\n"));
        let answer = "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhi!";
        socket.write_all(answer.as_bytes()).unwrap();
        let mut word = [0; 4];
        while socket.read_exact(&mut word).is_ok() {
            socket.write_all(&word).unwrap();
        }
    });
    let rig = start(proxy_to(&[&backend]));
    let mut client = connect(rig.running.addr());
    let ask = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    client.write_all(ask.as_bytes()).unwrap();
    let found = head(&mut client);
    assert!(found.starts_with("HTTP/1.1 101 ") && found.contains("Upgrade: echo\r\n"), "{found}");
    let mut three = [0; 3];
    client.read_exact(&mut three).unwrap();
    assert_eq!(&three, b"hi!");
    for word in [b"ping", b"pong"] {
        client.write_all(word).unwrap();
        let mut found = [0; 4];
        client.read_exact(&mut found).unwrap();
        assert_eq!(&found, word);
    }
    client.shutdown().unwrap();
    drop(client);
    rig.until_closed();
    assert_eq!(rig.finish().requests()[0].status, 101);
}

#[test]
fn faults_before_a_response_are_answered() {
    let quiet = Duration::from_millis(300);
    let answers = |backend: &Backend, text: &str| {
        let rig = start(Proxy { response: quiet, ..proxy_to(&[backend]) });
        let (head, _) = ask(&rig, text);
        let failures = rig.running.counters().backends[0].failures;
        assert_eq!(failures, 1, "{head}");
        head
    };
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let silent = Backend::start(|socket| {
        request(socket);
        thread::sleep(TIMEOUT);
    });
    assert!(answers(&silent, get).starts_with("HTTP/1.1 504 "));
    let dying = Backend::start(|socket| {
        request(socket);
    });
    assert!(answers(&dying, get).starts_with("HTTP/1.1 502 "));
    for nonsense in ["SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"] {
        assert!(answers(&Backend::answering(nonsense), get).starts_with("HTTP/1.1 502 "));
    }
    let upgrading = Backend::answering("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n");
    assert!(answers(&upgrading, get).starts_with("HTTP/1.1 502 "), "nobody asked for it");

    // A client's malformed body is its own fault, and ends the connection.
    let rig = start(proxy_to(&[&Backend::echoing()]));
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
    let (head, _) = ask(&rig, chunked);
    assert!(head.starts_with("HTTP/1.1 400 ") && head.contains("Connection: close"), "{head}");
}

/// A client that closes its connection before the response frees the back end.
#[test]
fn a_client_that_has_closed_is_not_waited_for() {
    let silent = Backend::start(|socket| {
        request(socket);
        thread::sleep(TIMEOUT);
    });
    let rig = start(proxy_to(&[&silent]));
    let mut client = connect(rig.running.addr());
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let active = || rig.running.counters().backends[0].active;
    eventually("it has begun", || active() == 1);
    drop(client);
    rig.until_closed();
    assert_eq!(active(), 0);
    assert_eq!(rig.running.counters().backends[0].failures, 0);
    assert_eq!(rig.running.counters().ended(End::Reset), 1);
}

/// A client must not take half a body for a whole one.
#[test]
fn a_response_that_is_cut_is_not_ended_in_order() {
    let halves: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX",
    ];
    for half in halves {
        let backend = Backend::start(move |socket| {
            request(socket);
            socket.write_all(half).unwrap();
        });
        let rig = start(proxy_to(&[&backend]));
        let output = curl(&["--http1.1", &rig.url("/")]);
        assert!(!output.status.success(), "{:?}", String::from_utf8_lossy(half));
        rig.until_closed();
        let counts = rig.running.counters();
        assert_eq!((counts.requests, counts.requests_cut, counts.ended(End::Backend)), (0, 1, 1));
        let log = rig.finish();
        assert!(!log.requests()[0].complete);
    }
}

#[test]
fn another_back_end_gets_what_the_first_cannot() {
    let good = Backend::echoing();
    let proxy = Proxy { backends: vec![closed(), good.address], ..Proxy::to(Vec::new()) };
    let rig = start(proxy);
    for _ in 0..6 {
        let echo = fetch(&[&rig.url("/"), "--data-binary", "a body"]);
        assert!(echo.ends_with(b"a body"));
    }
    let counts = rig.running.counters();
    assert_eq!((counts.backends[1].requests, counts.backends[1].failures), (6, 0));
    assert!(counts.backends[0].failures > 0);
    drop(rig);
    let rig = start(Proxy::to(vec![closed(), closed()]));
    let (head, _) = ask(&rig, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 502 ") && !head.contains("Connection: close"), "{head}");
}

/// An idle connection that the back end closes is not an error of the next request.
#[test]
fn a_closed_idle_connection_is_replaced() {
    let backend = Backend::start(|socket| {
        request(socket);
        socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    });
    let rig = start(proxy_to(&[&backend]));
    for count in 1..=4 {
        assert_eq!(fetch(&[&rig.url("/")]), b"ok");
        assert_eq!(backend.connections(), count);
    }
    assert_eq!(rig.running.counters().backends[0].failures, 0);
}

#[test]
fn back_ends_that_fail_their_check_get_nothing() {
    let healthy = Arc::new(AtomicUsize::new(0));
    let is_healthy = Arc::clone(&healthy);
    let backend = Backend::start(move |socket| {
        while let Some((head, _)) = request(socket) {
            let is_check = head.starts_with("GET /health HTTP/1.1\r\n");
            let status = if is_check && is_healthy.load(Ordering::SeqCst) == 0 { 500 } else { 200 };
            write!(socket, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    let (said, notify) = notices();
    let moment = Duration::from_millis(20);
    let health = HealthCheck {
        target: "/health".to_owned(),
        interval: moment,
        limit: Duration::from_secs(5),
    };
    let proxy = Proxy { health: Some(health), ..proxy_to(&[&backend]) };
    let rig = Rig::start(Config { proxy: Some(proxy), notify, ..Config::default() });
    let is_up = || rig.running.counters().backends[0].is_up;
    eventually("down", || !is_up());
    let (head, _) = ask(&rig, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    healthy.store(1, Ordering::SeqCst);
    eventually("up", is_up);
    let (head, _) = ask(&rig, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let said: Vec<String> = said.lock().unwrap().iter().map(ToString::to_string).collect();
    assert!(said[0].ends_with("look at its log") && said[1].ends_with(" is up"), "{said:?}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |proxy: Proxy| {
        let config = Config { proxy: Some(proxy), ..Config::default() };
        Server::start(config).err().unwrap().to_string()
    };
    let one = Proxy::to(vec![closed()]);
    assert_eq!(refused(Proxy::to(Vec::new())), "0 back ends: give a number from 1 to 256");
    let zero = refused(Proxy { connect: Duration::ZERO, ..one.clone() });
    assert!(zero.contains("`proxy.connect`"), "{zero}");
    let health = |target: &str| {
        let second = Duration::from_secs(1);
        Some(HealthCheck { target: target.to_owned(), interval: second, limit: second })
    };
    for target in ["", "health", "/a b", "/\r\nX: y"] {
        let text = refused(Proxy { health: health(target), ..one.clone() });
        assert_eq!(text, Misuse::HealthTarget(target.to_owned()).to_string());
    }
    let both = Config { proxy: Some(one), root: Some("/".into()), ..Config::default() };
    let text = Server::start(both).err().unwrap().to_string();
    assert!(text.contains("`proxy` or `root`"), "{text}");
}
