//! The configuration of docs/haproxy.md: HAProxy with the provider in front of two pools.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};

use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use tollgate_stock_servers::{Product, Running, Settings};

use crate::command::s_client;
use crate::rig::{counted, eventually, start, with_provider};

const CONFIGURATION: &str = include_str!("../../../../../docs/haproxy.cfg");

/// A back end that answers each request with its name. Requests for `/slow` wait for the gate.
struct Pool {
    address: SocketAddr,
    /// The number of requests that wait.
    waiting: Arc<AtomicUsize>,
}

type Gate = Arc<(Mutex<bool>, Condvar)>;

impl Pool {
    fn start(name: &'static str, gate: &Gate) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (gate, waits) = (Arc::clone(gate), Arc::clone(&waiting));
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (gate, waits) = (Arc::clone(&gate), Arc::clone(&waits));
                thread::spawn(move || serve(&socket.unwrap(), name, &gate, &waits));
            }
        });
        Self { address, waiting }
    }
}

fn serve(mut socket: &TcpStream, name: &str, gate: &Gate, waiting: &AtomicUsize) {
    let mut lines = BufReader::new(socket).lines();
    while let Some(Ok(first)) = lines.next() {
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        if first.starts_with("GET /slow") {
            waiting.fetch_add(1, Ordering::Relaxed);
            let opened = gate.1.wait_while(gate.0.lock().unwrap(), |is_open| !*is_open);
            drop(opened.unwrap());
        }
        let length = name.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
        if socket.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Starts HAProxy with the page's configuration, on loopback, and with a limit of two requests.
fn appliance(first: SocketAddr, second: SocketAddr) -> Option<Running> {
    Product::Haproxy.version().or_else(|| {
        eprintln!("not tested: HAProxy is not installed");
        assert!(std::env::var_os("CI").is_none(), "CI has every server");
        None
    })?;
    let mut text = CONFIGURATION.to_owned();
    for (from, to) in [
        ("bind :443", "bind 127.0.0.1:{port}".to_owned()),
        ("/etc/haproxy/site.pem", "{folder}/both.pem".to_owned()),
        ("be_conn(first) ge 200", "be_conn(first) ge 2".to_owned()),
        ("192.0.2.11:8080", first.to_string()),
        ("192.0.2.12:8080", first.to_string()),
        ("192.0.2.21:8080", second.to_string()),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, &to);
    }
    let concatenate = "cat {folder}/chain.pem {folder}/key.pem >{folder}/both.pem\n";
    let command = format!(
        "{concatenate}cat >{{folder}}/haproxy.cfg <<'END'\n{text}END\nexec haproxy -db -f \
         {{folder}}/haproxy.cfg >{{log}}"
    );
    start(Product::Command, &Settings { command: Some(command), ..with_provider() })
}

fn curl(running: &Running, path: &str) -> Command {
    let mut curl = Command::new("curl");
    let url = format!("https://{}{path}", running.address());
    curl.args(["--silent", "--show-error", "--insecure", "--max-time", "30", &url]);
    curl
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn haproxy_signs_in_batches_resumes_and_spills() {
    let gate = Gate::default();
    let (first, second) = (Pool::start("first", &gate), Pool::start("second", &gate));
    let Some(running) = appliance(first.address, second.address) else { return };

    // The provider signs, and the first pool answers.
    eventually("the provider has signed", || {
        assert_eq!(text(&curl(&running, "/").output().unwrap()), "first");
        counted(&running, "signatures") > 0
    });

    // Sessions resume from the cache, in both versions.
    let session = running.folder().join("session.pem");
    for version in ["-tls1_2", "-tls1_3"] {
        for (offer, resumes) in [("-sess_out", false), ("-sess_in", true)] {
            let options = format!("{version} {offer} {}", session.display());
            let [words, _] = s_client(&running, &options, "GET / HTTP/1.0\r\n\r\n");
            assert!(words.contains("200 OK"), "{words}");
            assert_eq!(words.contains("Reused, "), resumes, "{version} {offer}: {words}");
        }
    }

    // Two requests wait at the first pool: the limit. The second pool gets the next one.
    thread::scope(|scope| {
        let slow = || text(&curl(&running, "/slow").output().unwrap());
        let waiting: Vec<_> = (0..2).map(|_| scope.spawn(slow)).collect();
        eventually("two requests wait", || first.waiting.load(Ordering::Relaxed) == 2);
        assert_eq!(text(&curl(&running, "/").output().unwrap()), "second");
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        for request in waiting {
            assert_eq!(request.join().unwrap(), "first");
        }
    });
    eventually("the first pool is free again", || {
        text(&curl(&running, "/").output().unwrap()) == "first"
    });
    assert_eq!(second.waiting.load(Ordering::Relaxed), 0);
}
