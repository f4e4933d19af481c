//! Settings from a file, and plain HTTP beside TLS.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;

use tollgate_server::log::{Line, read};
use tollgate_server::{Config, Engine, Failure, KeyKind, Protocol, Resumption, Server};

use crate::proxy::Backend;
use crate::rig::{
    Folder, TIMEOUT, certify, client as client_of, connect, eventually, fetch, keys, response, tcp,
};

/// A folder with a certificate, its key and a file of settings, which follow after `address` and
/// before the certificate.
struct Site(Folder);

impl Site {
    fn new(settings: &str) -> Self {
        let folder = Folder::new();
        let key = keys().join("rsa-2048.pem");
        certify(&folder, &key);
        fs::copy(&key, folder.path("key.pem")).unwrap();
        let text = format!(
            "address = \"127.0.0.1:0\"\n{settings}\n[[certificate]]\nchain = \"chain.pem\"\nkey = \
             \"key.pem\"\n"
        );
        fs::write(folder.path("site.toml"), text).unwrap();
        Self(folder)
    }

    fn read(&self) -> Result<Config, String> {
        Config::from_file(&self.0.path("site.toml")).map_err(|why| why.to_string())
    }

    /// Returns the error of the file, without its folder.
    fn error(settings: &str) -> String {
        let site = Self::new(settings);
        let error = site.read().unwrap_err();
        error.replace(&format!("{}/", site.0.0.display()), "")
    }
}

#[test]
fn settings_are_read_and_serve() {
    let site = Site::new(
        "workers = 2\nprotocols = [\"tls13\"]\nresumption = \"tickets\"\naccess_log = \"access.log\"\n\
         groups = [\"secp256r1\"]\n[limits]\nidle = 1.5\nconnections_max = 7\n[proxy]\n\
         backends = [\"127.0.0.1:1\", \"[::1]:2\"]\n[proxy.health]\ntarget = \"/up\"\ninterval = 60",
    );
    let config = site.read().unwrap();
    assert_eq!((config.workers, config.engine), (2, Engine::Tollgate));
    assert_eq!(config.protocols, [Protocol::Tls13]);
    assert_eq!(config.resumption, Resumption::Tickets);
    assert_eq!(config.access_log.as_deref(), Some(&*site.0.path("access.log")));
    assert_eq!(config.limits.idle, Duration::from_millis(1500));
    assert_eq!(config.limits.connections_max, 7);
    let proxy = config.proxy.as_ref().unwrap();
    assert_eq!(proxy.backends[1], "[::1]:2".parse().unwrap());
    assert_eq!(proxy.health.as_ref().unwrap().interval, Duration::from_secs(60));

    assert_eq!(Server::check(config.clone()).unwrap(), KeyKind::Rsa { bits: 2048 });
    let running = Server::start(config).unwrap();
    let mut client = connect(running.addr());
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(response(&mut client).0.starts_with("HTTP/1.1 503 "), "no back end is there");
    assert_eq!(client.ssl().version_str(), "TLSv1.3");
    assert!(running.stop(TIMEOUT).log_complete);
}

#[test]
fn an_error_has_the_line_and_the_remedy() {
    let cases = [
        ("adress = 1", "site.toml, line 2: unknown field `adress`, expected one of"),
        ("workers = \"two\"", "site.toml, line 2: invalid type: string \"two\", expected usize"),
        ("workers = 0", "site.toml, line 2: 0 workers: give a number from 1 to 1024"),
        (
            "groups = [\"x25519\", \"p521\"]",
            "site.toml, line 2: no group \"p521\" here: choose from",
        ),
        ("[limits]\n\nidle = 0", "site.toml, line 4: the limit `idle` is zero"),
        ("[limits]\nidle = -1", "site.toml, line 3: "),
        ("[proxy]\nbackends = []", "site.toml, line 3: 0 back ends: give a number from 1 to 256"),
        (
            "[proxy]\nbackends = [\"127.0.0.1:1\"]\nidle = 100000",
            "site.toml, line 4: the limit `proxy.idle` is longer than a day",
        ),
        ("[proxy]\nconnect = 1", "site.toml, line 2: missing field `backends`: add it"),
        ("[proxy]\nbackends = [\"localhost\"]", "site.toml, line 3: invalid socket address"),
        (
            "client_roots = \"none.pem\"",
            "site.toml: cannot read the trust anchors of clients none.pem",
        ),
        ("[sessions]\nsessions_max = 9", "site.toml: settings of [sessions] without a cache"),
        (
            "resumption = \"cache\"\n[sessions]\nsessions_max = 0",
            "site.toml, line 4: 0 sessions in memory: give a number from 1 to 10000000",
        ),
        (
            "resumption = \"cache\"\n[sessions.redis]\naddress = \"127.0.0.1:1\"",
            "site.toml, line 4: sessions in Redis are encrypted with ticket keys: add `ticket_keys`",
        ),
        (
            "resumption = \"cache\"\n[sessions.redis]\naddress = \"127.0.0.1:1\"\nlimit = 0",
            "site.toml, line 5: the limit `sessions.redis.limit` is zero",
        ),
        ("[spill]\nto = \"127.0.0.1:1\"", "site.toml: [spill] has no limit: give `handshakes`"),
        ("[spill]\nhandshakes = 0", "site.toml, line 3: the limit `spill.handshakes` is zero"),
        ("workers = ", "site.toml, line 2: "),
    ];
    for (settings, expected) in cases {
        let error = Site::error(settings);
        assert!(error.starts_with(expected), "{settings}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let site = Site::new("");
    fs::write(site.0.path("site.toml"), "# nothing\n").unwrap();
    let missing = site.read().unwrap_err();
    assert!(missing.ends_with("site.toml: missing field `address`: add it"), "{missing}");
    let missing = Config::from_file("none.toml".as_ref()).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read the settings none.toml"), "{missing}");
    let endless = Config::from_file("/dev/zero".as_ref()).unwrap_err().to_string();
    assert!(endless.ends_with("it has over 64 MiB: give a file of settings"), "{endless}");
}

#[test]
fn a_check_reads_the_key() {
    let site = Site::new("");
    fs::copy(keys().join("rsa-3072.pem"), site.0.path("key.pem")).unwrap();
    let error = Server::check(site.read().unwrap()).unwrap_err().to_string();
    assert!(error.contains("does not match the certificate"), "{error}");
}

/// Sends this to an address in plain text, and returns the response.
fn plain(address: SocketAddr, request: &str) -> (String, Vec<u8>) {
    let mut socket = tcp(address);
    socket.write_all(request.as_bytes()).unwrap();
    let answer = response(&mut socket);
    assert_eq!(socket.read(&mut [0]).unwrap(), 0, "the server closes");
    answer
}

#[test]
fn metrics_and_redirects_are_in_plain_http() {
    let site = Site::new("metrics = \"127.0.0.1:0\"\nredirect = \"127.0.0.1:0\"");
    let running = Server::start(site.read().unwrap()).unwrap();
    fetch(&[&format!("https://{}/bytes/1", running.addr())]);

    let metrics = running.metrics_addr().unwrap();
    let text = fetch(&[&format!("http://{metrics}/metrics")]);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("tollgate_handshakes_total{kind=\"full\"} 1"), "{text}");
    let (head, _) = plain(metrics, "GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");

    let redirect = running.redirect_addr().unwrap();
    let port = running.addr().port();
    let request = "POST /a?b=c HTTP/1.1\r\nHost: site.example:80\r\nContent-Length: 3\r\n\r\nabc";
    let (head, _) = plain(redirect, request);
    assert!(head.starts_with("HTTP/1.1 308 Permanent Redirect\r\n"), "{head}");
    let location = format!("\r\nLocation: https://site.example:{port}/a?b=c\r\n");
    assert!(head.contains(&location), "{head}");
    let (head, _) = plain(redirect, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    let url = format!("http://localhost:{}/bytes/3", redirect.port());
    assert_eq!(fetch(&["--location", "--ipv4", &url]), [0, 1, 2]);

    // silent clients do not keep others from being served, nor the server from stopping
    let silent: Vec<TcpStream> = (0..600).map(|_| tcp(redirect)).collect();
    fetch(&[&format!("http://{metrics}/metrics")]);
    drop(silent);
    assert_eq!(running.stop(TIMEOUT).workers_lost, 0);
    assert!(TcpStream::connect(metrics).is_err(), "nothing listens any more");
}

#[test]
fn a_load_balancer_tells_the_address_of_the_client() {
    let backend = Backend::echoing();
    let site = Site::new(&format!(
        "proxy_protocol = true\n[limits]\nhandshake = 0.2\nconnections_per_address = 1\n[proxy]\nbackends = [\"{}\"]",
        backend.address
    ));
    let running = Server::start(site.read().unwrap()).unwrap();
    let v2 = [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"[..], &[192, 0, 2, 8, 1, 2, 3, 4, 0, 1, 0, 2]];
    let headers = [b"PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n".to_vec(), v2.concat()];
    for (header, client) in headers.iter().zip(["192.0.2.7", "192.0.2.8"]) {
        let mut socket = tcp(running.addr());
        // in two segments, of which the second also has the first record
        socket.write_all(&header[..7]).unwrap();
        thread::sleep(Duration::from_millis(20));
        let mut stream = client_of(Joined { first: Some(header[7..].to_vec()), socket });
        stream.connect().unwrap();
        stream.write_all(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let body = String::from_utf8(response(&mut stream).1).unwrap();
        assert!(body.contains(&format!("X-Forwarded-For: {client}\r\n")), "{body}");
    }
    let mut without = tcp(running.addr());
    without.write_all(&[22, 3, 1, 0, 5, 1, 0, 0, 1, 3, 3]).unwrap();
    assert_eq!(without.read(&mut [0]).unwrap_or(0), 0, "closed");
    let mut silent = tcp(running.addr());
    assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0, "closed after the limit of a handshake");
    let counters = running.stop(TIMEOUT).counters;
    let failed = |why| counters.handshakes_failed.iter().find(|(it, _)| *it == why).unwrap().1;
    assert_eq!((failed(Failure::ProxyHeader), failed(Failure::Timeout)), (1, 1));
}

#[test]
fn an_address_has_a_limited_number_of_connections() {
    let site = Site::new("workers = 2\n[limits]\nconnections_per_address = 3");
    let running = Server::start(site.read().unwrap()).unwrap();
    let mut open: Vec<_> = (0..3).map(|_| connect(running.addr())).collect();
    let mut refused = tcp(running.addr());
    assert_eq!(refused.read(&mut [0]).unwrap_or(0), 0, "closed at once");
    drop(open.pop());
    eventually("an end", || running.counters().connections_open == 2);
    open.push(connect(running.addr()));
    eventually("four handshakes", || running.counters().handshakes_full == 4);
    let failed = running.counters().handshakes_failed;
    assert!(failed.contains(&(Failure::TooMany, 1)), "{failed:?}");
    let _ = running.stop(TIMEOUT);
}

/// A socket whose first write also has other bytes before it.
struct Joined {
    first: Option<Vec<u8>>,
    socket: TcpStream,
}

impl Read for Joined {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Joined {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.first.take() {
            Some(first) => {
                self.socket.write_all(&[&first, bytes].concat())?;
                Ok(bytes.len())
            }
            None => self.socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[test]
fn a_log_that_was_moved_is_opened_again() {
    let site = Site::new("access_log = \"access.log\"");
    let running = Server::start(site.read().unwrap()).unwrap();
    let (log, moved) = (site.0.path("access.log"), site.0.path("access.log.1"));
    let url = format!("https://{}/bytes/1", running.addr());
    fetch(&[&url]);
    eventually("two lines", || running.counters().log_lines == 2);
    fs::rename(&log, &moved).unwrap();
    running.reopen_log();
    eventually("a new file", || log.exists());
    fetch(&[&url]);
    assert!(running.stop(TIMEOUT).log_complete);
    let lines = |path| read(fs::read(path).unwrap().as_slice()).unwrap();
    let (old, new) = (lines(moved), lines(log));
    assert!(matches!(old[..], [Line::Start(_), Line::Handshake(_), Line::Request(_)]), "{old:?}");
    let [Line::Start(_), Line::Handshake(_), Line::Request(_), Line::Stop(stop)] = &new[..] else {
        panic!("{new:?}");
    };
    assert_eq!(stop.lines, 4, "of both files");
}
