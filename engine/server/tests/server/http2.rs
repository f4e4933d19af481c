//! HTTP/2 towards clients: requests and bodies pass, and the access log counts as they do.

use core::time::Duration;
use std::io::Write as _;
use std::thread;

use tollgate_server::{Config, Limits, Proxy};

use crate::frames::{END_HEADERS, GOAWAY, HEADERS, Peer, RST_STREAM, frame, head};
use crate::proxy::{Backend, proxy_to, request};
use crate::rig::{Rig, TIMEOUT, bytes, curl, eventually, fetch, run};

pub(crate) fn start(proxy: Option<Proxy>, limits: Limits) -> Rig {
    Rig::start(Config { http2: true, proxy, limits, ..Config::default() })
}

fn start_proxy(backend: &Backend) -> Rig {
    start(Some(proxy_to(&[backend])), Limits::default())
}

#[test]
fn requests_and_bodies_of_all_kinds_pass() {
    let backend = Backend::echoing();
    let rig = start_proxy(&backend);
    let url = rig.url("/a?b=c");
    let echo =
        fetch(&[&url, "--http2", "-H", "X-Forwarded-For: 6.6.6.6", "-b", "a=1", "-b", "b=2"]);
    let echo = String::from_utf8(echo).unwrap();
    let port = rig.running.addr().port();
    let start = format!(
        "GET /a?b=c HTTP/1.1\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n\
         Host: 127.0.0.1:{port}\r\n"
    );
    assert!(echo.starts_with(&start), "{echo}");
    assert!(!echo.contains("6.6.6.6") && echo.contains("\r\ncookie: "), "{echo}");

    // 300 kB in both directions, with a length and without
    let file = rig.folder.path("body");
    std::fs::write(&file, bytes(300_000)).unwrap();
    let data = format!("@{}", file.display());
    for method in ["PUT", "POST"] {
        let echo = fetch(&[&rig.url("/up"), "--http2", "-X", method, "--data-binary", &data]);
        let end = echo.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert!(String::from_utf8_lossy(&echo[..end]).contains("Content-Length: 300000\r\n"));
        assert!(echo[end..] == bytes(300_000), "{method}");
    }
    let script = format!("curl -sk --http2 -T - {} < {}", rig.url("/up"), file.display());
    let echo = run("sh", &["-c", &script], b"").stdout;
    assert!(echo.len() > 300_000 && echo.ends_with(b"0\r\n\r\n"), "{}", echo.len());
    let empty = fetch(&[&rig.url("/"), "--http2", "-X", "POST"]);
    assert!(String::from_utf8_lossy(&empty).contains("Content-Length: 0\r\n"));
    let head = curl(&["--http2", "--head", &rig.url("/")]).stdout;
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/2 200 \r\ncontent-length: "), "{head}");
    rig.until_closed();
    let counts = rig.running.counters();
    assert_eq!((counts.backends[0].requests, counts.backends[0].active), (6, 0));
    assert_eq!((counts.requests, counts.requests_cut, counts.http2_connections), (6, 0, 6));
    assert_eq!(backend.connections(), 1, "connections to the back end are used again");
    let log = rig.finish();
    assert!(log.requests().iter().all(|line| line.status == 200 && line.complete));
}

#[test]
fn responses_of_all_kinds_pass() {
    let cases: [(&str, &str, &str); 6] = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\nConnection: close, X-Hop\r\n\
             X-Hop: 1\r\nKeep-Alive: 5\r\n\r\nhello",
            "HTTP/2 200 \r\ncontent-length: 5\r\nx-a: b\r\n\r\n",
            "hello",
        ),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/2 103 \r\nlink: x\r\n\r\nHTTP/2 404 \r\ncontent-length: 2\r\n\r\n",
            "no",
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", "HTTP/2 204 \r\n\r\n", ""),
        (
            "HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n",
            "HTTP/2 304 \r\ncontent-length: 9\r\n\r\n",
            "",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n2\r\nde\r\n\
             0\r\nX-T: t\r\nContent-Length: 7\r\n\r\n",
            "HTTP/2 200 \r\n\r\n",
            "abcde",
        ),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", "HTTP/2 200 \r\n\r\n", "until the end"),
    ];
    for (answer, expected, body) in cases {
        let ends = answer.starts_with("HTTP/1.0");
        let backend = Backend::start(move |socket| {
            while request(socket).is_some() {
                socket.write_all(answer.as_bytes()).unwrap();
                if ends {
                    return;
                }
            }
        });
        let rig = start_proxy(&backend);
        for _ in 0..2 {
            let found = fetch(&["--http2", "--include", &rig.url("/")]);
            let found = String::from_utf8(found).unwrap();
            assert_eq!(found, format!("{expected}{body}"));
        }
        rig.until_closed();
        assert_eq!(rig.running.counters().requests, 2);
    }
}

/// Requests and responses cross on one connection; own bodies do too.
#[test]
fn the_log_counts_as_the_client_does() {
    let backend = Backend::echoing();
    let proxy = start_proxy(&backend);
    let own = start(None, Limits::default());
    for (rig, path) in [(proxy, "/x"), (own, "/bytes/40000")] {
        let url = rig.url(path);
        let output = run("h2load", &["-n", "2000", "-c", "4", "-m", "40", &url], b"");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("2000 total, 2000 started, 2000 done, 2000 succeeded"), "{text}");
        rig.until_closed();
        let counts = rig.running.counters();
        assert_eq!((counts.requests, counts.requests_cut, counts.connections), (2000, 0, 4));
        let log = rig.finish();
        assert_eq!(log.requests().len(), 2000);
        assert!(log.requests().iter().all(|line| line.complete && line.status == 200));
        let numbers = |connection| {
            let lines = log.requests();
            let of_it = lines.iter().filter(|line| line.connection == connection);
            let mut numbers: Vec<u64> = of_it.map(|line| line.request).collect();
            numbers.sort_unstable();
            numbers
        };
        for line in log.handshakes() {
            assert_eq!(numbers(line.connection), (1..=500).collect::<Vec<_>>());
        }
    }
}

#[test]
fn own_bodies_and_files() {
    let rig = start(None, Limits::default());
    assert!(fetch(&["--http2", &rig.url("/bytes/1000000")]) == bytes(1_000_000));
    let found = fetch(&["--http2", "--include", &rig.url("/bytes/x")]);
    assert!(found.starts_with(b"HTTP/2 400 \r\ndate: "));
    let found = curl(&["--http2", "--head", &rig.url("/bytes/70")]).stdout;
    assert!(String::from_utf8_lossy(&found).contains("\r\ncontent-length: 70\r\n"));
    let found = fetch(&["--http2", "--include", "-d", "a body", &rig.url("/bytes/70")]);
    assert!(String::from_utf8_lossy(&found).contains("\r\nallow: GET, HEAD\r\n"));
}

/// A client must not take half a body for a whole one.
#[test]
fn a_response_that_is_cut_ends_with_a_reset() {
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
        let rig = start_proxy(&backend);
        let mut peer = Peer::new(rig.running.addr(), b"");
        peer.get(1, "/");
        let reset = peer.until(&[RST_STREAM, GOAWAY]).unwrap();
        assert_eq!((reset.kind, reset.stream, reset.code()), (RST_STREAM, 1, 2));
        let counts = rig.running.counters();
        assert_eq!((counts.requests, counts.requests_cut), (0, 1));
        assert_eq!((counts.backends[0].failures, counts.backends[0].active), (1, 0));
        // other streams go on
        peer.get(3, "/");
        assert_eq!(peer.until(&[RST_STREAM, GOAWAY]).unwrap().stream, 3);
        drop(peer);
        rig.until_closed();
        assert!(rig.finish().requests().iter().all(|line| !line.complete && line.status == 200));
    }
}

#[test]
fn faults_of_back_ends_are_answered() {
    let status = |backend: &Backend| {
        let proxy = Proxy { response: Duration::from_millis(300), ..proxy_to(&[backend]) };
        let rig = start(Some(proxy), Limits::default());
        let found = fetch(&["--http2", "--include", &rig.url("/")]);
        String::from_utf8(found[..10].to_vec()).unwrap()
    };
    let silent = Backend::start(|socket| {
        request(socket);
        thread::sleep(TIMEOUT);
    });
    assert_eq!(status(&silent), "HTTP/2 504");
    assert_eq!(status(&Backend::answering("SSH-2.0-x\r\n\r\n")), "HTTP/2 502");
    let upgrade = "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    assert_eq!(status(&Backend::answering(upgrade)), "HTTP/2 502");
}

/// A response that comes before the end of the request ends both.
#[test]
fn early_responses() {
    let backend = Backend::start(|socket| {
        let _ = crate::rig::head(socket);
        socket.write_all(b"HTTP/1.1 413 Long\r\nContent-Length: 2\r\n\r\nno").unwrap();
        thread::sleep(Duration::from_millis(200));
    });
    let rig = start_proxy(&backend);
    let mut peer = Peer::new(rig.running.addr(), b"");
    let head = head("POST", "/", &[("content-length", "1000000")]);
    peer.send(&frame(HEADERS, END_HEADERS, 1, &head));
    assert_eq!(peer.body(1).unwrap(), b"no");
    let reset = peer.until(&[RST_STREAM]).unwrap();
    assert_eq!((reset.stream, reset.code()), (1, 0), "no error");
    eventually("logged", || rig.running.counters().requests == 1);
}

/// A client that abandons its request frees the back end.
#[test]
fn abandoned_requests() {
    let backend = Backend::start(|socket| {
        request(socket);
        thread::sleep(TIMEOUT);
    });
    let rig = start_proxy(&backend);
    let mut peer = Peer::new(rig.running.addr(), b"");
    peer.get(1, "/");
    let active = || rig.running.counters().backends[0].active;
    eventually("it has begun", || active() == 1);
    peer.send(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]));
    eventually("it has ended", || active() == 0);
}

#[test]
fn a_server_that_stops_completes_its_requests() {
    let backend = Backend::start(|socket| {
        while request(socket).is_some() {
            thread::sleep(Duration::from_millis(300));
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        }
    });
    let rig = start_proxy(&backend);
    let mut peer = Peer::new(rig.running.addr(), b"");
    peer.get(1, "/");
    eventually("it has begun", || rig.running.counters().backends[0].active == 1);
    let idle = Peer::new(rig.running.addr(), b"");
    let client = thread::spawn(move || {
        assert_eq!(peer.until(&[GOAWAY]).unwrap().code(), 0);
        assert_eq!(peer.body(1).unwrap(), b"ok");
        idle
    });
    let log = rig.finish();
    client.join().unwrap();
    assert!(log.requests().len() == 1 && log.requests()[0].complete, "{log:?}");
}
