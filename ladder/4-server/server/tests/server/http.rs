//! Requests and responses: exact bodies, files, refusals, pipelining.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;

use crate::rig::{self, Folder, Rig, bytes, connect, curl, fetch, response};
use openssl::ssl::ShutdownState;
use tollgate_server::Config;

#[test]
fn bodies_are_exact() {
    let rig = Rig::start(Config::default());
    for length in [0, 1, 14_336, 16_384, 1 << 20] {
        for version in ["--tlsv1.3", "--tls-max"] {
            let url = rig.url(&format!("/bytes/{length}"));
            let args = if version == "--tls-max" {
                vec![version, "1.2", &url]
            } else {
                vec![version, &url]
            };
            assert!(fetch(&args) == bytes(length), "{length} bytes, {args:?}");
        }
    }
    rig.until_closed();
    let counters = rig.running.counters();
    assert_eq!(counters.body_bytes, 2 * (1 + 14_336 + 16_384 + (1 << 20)));
    assert_eq!(rig.finish().requests().len(), 10);
}

#[test]
fn a_connection_is_kept_alive() {
    let rig = Rig::start(Config::default());
    let urls: Vec<_> = (1..=5).map(|n| rig.url(&format!("/bytes/{n}"))).collect();
    let urls: Vec<_> = urls.iter().map(String::as_str).collect();
    let body = fetch(&urls);
    assert_eq!(body, (1..=5).flat_map(bytes).collect::<Vec<_>>());
    let log = rig.finish();
    assert_eq!(log.handshakes().len(), 1);
    let numbers: Vec<_> =
        log.requests().iter().map(|line| (line.connection, line.request)).collect();
    assert_eq!(numbers, [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5)]);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let rig = Rig::start(Config::default());
    let mut client = connect(rig.running.addr());
    // More requests than steps per turn.
    let mut text = String::new();
    for n in 0..100 {
        text += &format!("GET /bytes/{n} HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    client.write_all(text.as_bytes()).unwrap();
    for n in 0..100 {
        let (head, body) = response(&mut client);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && body == bytes(n), "{n}: {head}");
    }
    drop(client);
    assert_eq!(rig.finish().requests().len(), 100);
}

#[test]
fn files_and_nothing_outside_the_root() {
    let outside = Folder::new();
    fs::write(outside.path("secret"), "secret").unwrap();
    let root = outside.path("root");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(root.join("index.html"), "<p>hello</p>").unwrap();
    fs::write(root.join("sub/a.bin"), bytes(100_000)).unwrap();
    symlink("../secret", root.join("escape")).unwrap();
    symlink(outside.path("secret"), root.join("absolute")).unwrap();
    symlink("sub/a.bin", root.join("inside")).unwrap();
    let pipe = root.join("pipe");
    assert!(rig::run("mkfifo", &[pipe.to_str().unwrap()], b"").status.success());

    let rig = Rig::start(Config { root: Some(root), ..Config::default() });
    assert_eq!(fetch(&[&rig.url("/index.html")]), b"<p>hello</p>");
    assert!(fetch(&[&rig.url("/sub/a.bin")]) == bytes(100_000));
    assert!(fetch(&[&rig.url("/inside?query")]) == bytes(100_000));
    let status = |path: &str| {
        let url = rig.url(path);
        let args = ["--path-as-is", "-o", "/dev/null", "-w", "%{http_code} %{content_type}", &url];
        String::from_utf8(fetch(&args)).unwrap()
    };
    assert_eq!(status("/index.html"), "200 application/octet-stream");
    for path in [
        "/../secret",
        "/sub/../../secret",
        "/%2e%2e/secret",
        "//secret",
        "/escape",
        "/absolute",
        "/sub",
        "/sub/",
        "/",
        "/missing",
        "/pipe",
        "/index.html/x",
    ] {
        assert!(status(path).starts_with("404 "), "{path}: {}", status(path));
    }
    rig.finish();
}

/// The length of a sparse file: more than the buffers of both sockets can hold.
const LENGTH: u64 = 1 << 30;

/// Makes the file `large` of a server shorter while a client gets it. Returns what the client got.
fn truncate_while_sent(rig: &Rig, root: &Folder) -> Vec<u8> {
    let path = root.path("large");
    fs::File::create(&path).unwrap().set_len(LENGTH).unwrap();
    let mut client = connect(rig.running.addr());
    client.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let head = rig::head(&mut client);
    assert!(head.contains(&format!("Content-Length: {LENGTH}\r\n")), "{head}");
    fs::File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let mut rest = Vec::new();
    // The connection ends without close_notify, so the client detects the truncation.
    let _ = client.read_to_end(&mut rest);
    assert!(!client.get_shutdown().contains(ShutdownState::RECEIVED));
    assert!((rest.len() as u64) < LENGTH);
    rig.until_closed();
    rest
}

#[test]
fn a_truncated_file_ends_its_response() {
    let root = Folder::new();
    let rig = Rig::start(Config { root: Some(root.0.clone()), ..Config::default() });
    let rest = truncate_while_sent(&rig, &root);
    let log = rig.finish();
    assert!(!log.requests()[0].complete && log.requests()[0].bytes >= rest.len() as u64);
}

#[test]
fn refusals() {
    let rig = Rig::start(Config::default());
    let cases = [
        ("GET /bytes/1073741825 HTTP/1.1\r\nHost: a\r\n\r\n", 404, true),
        ("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 404, true),
        ("HEAD /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n", 405, true),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 405, true),
        ("GET /nothing HTTP/1.0\r\n\r\n", 404, false),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16385\r\n\r\n", 400, false),
        ("GET /bytes/1 HTTP/1.1\r\n\r\n", 400, false),
        ("\0\0\0\0\r\n\r\n", 400, false),
    ];
    for (request, status, stays) in cases {
        let mut client = connect(rig.running.addr());
        client.write_all(request.as_bytes()).unwrap();
        let (head, body) = response(&mut client);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {head}");
        assert_eq!(head.contains("Connection: close"), !stays, "{request:?}: {head}");
        assert!(body.is_empty());
        if stays {
            client.write_all(rig::ONE_REQUEST.as_bytes()).unwrap();
            assert_eq!(response(&mut client).1, bytes(10), "after {request:?}");
        }
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "after {request:?}");
    }
    let too_long = rig.url(&format!("/{}", "x".repeat(17_000)));
    let output = curl(&["-o", "/dev/null", "-w", "%{http_code}", &too_long]);
    assert_eq!(output.stdout, b"400");
    let log = rig.finish();
    let whole = log.requests().iter().filter(|line| line.status == 200).count();
    assert_eq!((whole, log.requests().len()), (4, 13));
}
