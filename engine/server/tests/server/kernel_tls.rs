//! Records that the kernel encrypts, and files that it sends. A kernel without TLS must be refused
//! when the server starts.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;

use tollgate_server::{Config, End, Protocol, Server};

use crate::http::truncate_while_sent;
use crate::rig::{self, Folder, Rig, bytes, connect, fetch, response};

/// Starts a server of files, if the kernel has TLS.
#[allow(clippy::print_stderr, reason = "a test that is not run says so")]
fn start(config: Config) -> Option<Rig> {
    let layers = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_ulp").unwrap_or_default();
    let config = Config { kernel_tls: true, ..config };
    if layers.split_whitespace().any(|name| name == "tls") {
        return Some(Rig::start(config));
    }
    let why = Server::start(config).unwrap_err().to_string();
    assert!(why.contains("`modprobe tls`"), "{why}");
    eprintln!("skipped: this kernel has no TLS; that it is refused was tested");
    None
}

#[test]
fn without_files_it_is_refused() {
    let why = Server::start(Config { kernel_tls: true, ..Config::default() }).unwrap_err();
    assert!(why.to_string().contains("set `root`"), "{why}");
}

#[test]
fn files_are_exact_with_each_suite() {
    let root = Folder::new();
    let sizes = [0, 100, 16_384, 100_000, 3_000_000];
    for size in sizes {
        fs::write(root.path(&size.to_string()), bytes(size)).unwrap();
    }
    let config = Config { root: Some(root.0.clone()), http2: true, ..Config::default() };
    let Some(rig) = start(config) else { return };
    let suites = [
        ["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"],
        ["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-AES256-GCM-SHA384"],
        ["--tls-max", "1.2", "--ciphers", "ECDHE-RSA-CHACHA20-POLY1305"],
        ["--tls-max", "1.3", "--tls13-ciphers", "TLS_AES_128_GCM_SHA256"],
        ["--tls-max", "1.3", "--tls13-ciphers", "TLS_AES_256_GCM_SHA384"],
        ["--tls-max", "1.3", "--tls13-ciphers", "TLS_CHACHA20_POLY1305_SHA256"],
    ];
    let urls: Vec<_> = sizes.iter().map(|size| rig.url(&format!("/{size}"))).collect();
    let all: Vec<u8> = sizes.iter().flat_map(|size| bytes(*size)).collect();
    for suite in suites {
        for http in ["--http1.1", "--http2"] {
            let mut args = vec![http];
            args.extend(suite);
            args.extend(urls.iter().map(String::as_str));
            assert!(fetch(&args) == all, "{args:?}");
        }
    }
    rig.until_closed();
    let counters = rig.running.counters();
    assert_eq!(counters.connections, 2 * suites.len() as u64, "each was kept");
    // a kernel may lack ChaCha20-Poly1305: then OpenSSL encrypts
    let of_aes_gcm = counters.connections / 3 * 2;
    let by_kernel = counters.kernel_tls_connections;
    assert!((of_aes_gcm..=counters.connections).contains(&by_kernel), "{by_kernel}");
    assert_eq!(counters.body_bytes, counters.connections * all.len() as u64);
    let log = rig.finish();
    assert!(log.requests().iter().all(|line| line.complete));
}

/// The length of a sparse file, larger than the buffers of both sockets.
const LENGTH: u64 = 1 << 26;

#[test]
fn slow_clients_cut_files_and_resets() {
    let root = Folder::new();
    let path = root.path("large");
    fs::write(root.path("small"), bytes(1000)).unwrap();
    for protocol in [Protocol::Tls12, Protocol::Tls13] {
        let protocols = vec![protocol];
        fs::File::create(&path).unwrap().set_len(LENGTH).unwrap();
        let config = Config { root: Some(root.0.clone()), protocols, ..Config::default() };
        let Some(rig) = start(config) else { return };

        // the client reads nothing until the server's socket is full, and then all of it
        let mut slow = connect(rig.running.addr());
        slow.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        rig::eventually("the kernel has sent something", || rig.running.counters().body_bytes > 0);
        let mut sent = 0;
        rig::eventually("the socket is full", || {
            let before = core::mem::replace(&mut sent, rig.running.counters().body_bytes);
            std::thread::sleep(core::time::Duration::from_millis(100));
            sent == before
        });
        assert!(sent < LENGTH);
        rig::head(&mut slow);
        let mut left = LENGTH;
        let mut piece = vec![0; 1 << 20];
        while left > 0 {
            let count = slow.read(&mut piece).unwrap();
            assert!(count > 0 && piece[..count].iter().all(|byte| *byte == 0));
            left -= count as u64;
        }
        slow.write_all(b"GET /small HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!(response(&mut slow).1, bytes(1000), "the connection is kept");
        drop(slow);

        truncate_while_sent(&rig, &root);

        // the client goes away while the server sends
        fs::File::create(&path).unwrap().set_len(LENGTH).unwrap();
        let mut client = connect(rig.running.addr());
        client.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        rig::head(&mut client);
        client.get_ref().shutdown(Shutdown::Both).unwrap();
        drop(client);
        rig::eventually("the reset is counted", || rig.running.counters().ended(End::Reset) == 1);
        assert_eq!(rig.running.counters().kernel_tls_connections, 3);
        rig.finish();
    }
}
