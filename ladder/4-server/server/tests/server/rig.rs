//! Shared by the tests: servers that always stop, and clients with timeouts.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Instant;

use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVerifyMode};
use tollgate_server::log::{HandshakeLine, Line, RequestLine};
use tollgate_server::{Certificate, Config, KeyKind, Running, Server};

/// Timeout of every wait in the tests.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A folder that is removed when the test ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "tollgate-server-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server with an access log in a separate folder.
pub(crate) struct Rig {
    pub(crate) running: Running,
    pub(crate) folder: Folder,
}

impl Rig {
    /// Starts a server with a key of `vectors/keys` instead of a generated one: generating an RSA
    /// key takes longer than most tests.
    pub(crate) fn start(config: Config) -> Self {
        let folder = Folder::new();
        let certificate = match config.certificate {
            Certificate::SelfSigned(kind @ KeyKind::Rsa { .. }) => {
                let key = keys().join(format!("{kind}.pem"));
                pem(&certify(&folder, &key), &key)
            }
            other => other,
        };
        Self::within(folder, Config { certificate, ..config })
    }

    /// Starts a server that generates its key if `config` says so.
    pub(crate) fn with_own_key(config: Config) -> Self {
        Self::within(Folder::new(), config)
    }

    fn within(folder: Folder, config: Config) -> Self {
        let config = Config { access_log: Some(folder.path("access.log")), ..config };
        Self { running: Server::start(config).unwrap(), folder }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.running.addr())
    }

    /// Waits until no connection is open.
    pub(crate) fn until_closed(&self) {
        eventually("no open connections", || self.running.counters().connections_open == 0);
    }

    /// Stops the server and reads its log, which must be complete.
    pub(crate) fn finish(self) -> Log {
        let report = self.running.stop();
        assert_eq!(report.connections_cut, 0);
        assert_eq!(report.workers_lost, 0);
        assert!(report.log_complete);
        Log::new(&self.folder)
    }
}

pub(crate) fn keys() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/keys")
}

/// Reads a certificate and its key.
pub(crate) fn pem(chain: &Path, key: &Path) -> Certificate {
    let key = fs::read(key).unwrap().into();
    Certificate::Pem { chain: fs::read(chain).unwrap(), key }
}

/// Creates a certificate for a test key, with Debian's `openssl`.
pub(crate) fn certify(folder: &Folder, key: &Path) -> PathBuf {
    let chain = folder.path("chain.pem");
    let (key, out) = (key.to_str().unwrap(), chain.to_str().unwrap());
    let names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    let args = [&["req", "-x509", "-new", "-key", key, "-out", out], &names[..]].concat();
    let output = run("openssl", &args, b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    chain
}

/// The log lines of a run.
#[derive(Debug)]
pub(crate) struct Log(pub(crate) Vec<Line>);

impl Log {
    /// Reads the log in the folder of a server that has stopped.
    pub(crate) fn new(folder: &Folder) -> Self {
        let text = fs::read_to_string(folder.path("access.log")).unwrap();
        Self(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    pub(crate) fn handshakes(&self) -> Vec<&HandshakeLine> {
        let lines = self.0.iter().filter_map(|line| match line {
            Line::Handshake(line) => Some(line),
            _ => None,
        });
        lines.collect()
    }

    pub(crate) fn requests(&self) -> Vec<&RequestLine> {
        let lines = self.0.iter().filter_map(|line| match line {
            Line::Request(line) => Some(line),
            _ => None,
        });
        lines.collect()
    }
}

/// Returns the body of `/bytes/N` as documented.
pub(crate) fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| u8::try_from(i % 251).unwrap()).collect()
}

/// Runs a program with this input; kills it after [`TIMEOUT`].
pub(crate) fn run(program: &str, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new("timeout")
        .arg(TIMEOUT.as_secs().to_string())
        .arg(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The program may end before it has read all input.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    match output.status.code() {
        Some(124) => panic!("{program} {args:?} did not end"),
        Some(127) => panic!("{program} is missing: install it (apt-get install {program})"),
        _ => output,
    }
}

/// Runs curl, which writes the body to standard output; the certificate is self-signed.
pub(crate) fn curl(args: &[&str]) -> Output {
    let mut all = vec!["--silent", "--show-error", "--insecure", "--max-time", "15"];
    all.extend(args);
    run("curl", &all, b"")
}

/// Returns the body that curl receives.
pub(crate) fn fetch(args: &[&str]) -> Vec<u8> {
    let output = curl(args);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl {args:?}: {words}");
    output.stdout
}

/// Runs `openssl s_client` against this address with one request; returns its output.
pub(crate) fn s_client(address: SocketAddr, args: &[&str], request: &str) -> (bool, String) {
    let address = address.to_string();
    let mut all = vec!["s_client", "-connect", &address, "-ign_eof"];
    all.extend(args);
    let output = run("openssl", &all, request.as_bytes());
    let words = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&words).into_owned())
}

/// A request after which the server closes the connection.
pub(crate) const ONE_REQUEST: &str =
    "GET /bytes/10 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Returns a TLS client in this process; reads and writes time out after [`TIMEOUT`].
pub(crate) fn connect(address: SocketAddr) -> SslStream<TcpStream> {
    let mut stream = client(tcp(address));
    stream.connect().unwrap();
    stream
}

/// Returns a TLS client on this socket, before its handshake. It trusts every certificate.
pub(crate) fn client<S: Read + Write>(socket: S) -> SslStream<S> {
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_verify(SslVerifyMode::NONE);
    SslStream::new(Ssl::new(&context.build()).unwrap(), socket).unwrap()
}

/// Returns a record with a TLS 1.2 `ClientHello` of these suites for curve secp256r1. The other
/// extensions follow those of the curve.
pub(crate) fn client_hello(suites: &[[u8; 2]], extensions: &[u8]) -> Vec<u8> {
    let curve = [
        0, 10, 0, 4, 0, 2, 0, 23, // supported_groups: secp256r1
        0, 11, 0, 2, 1, 0, // ec_point_formats: uncompressed
    ];
    let short = |length: usize| u8::try_from(length).unwrap();
    let (suites, extensions) = (suites.concat(), [&curve, extensions].concat());
    let mut hello = [&[3, 3][..], &[7; 32], &[0, 0, short(suites.len())], &suites].concat();
    hello.extend([1, 0, 0, short(extensions.len())]);
    hello.extend(extensions);
    handshake_record(1, &hello)
}

/// Returns a record with one handshake message of TLS 1.2.
pub(crate) fn handshake_record(kind: u8, message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(message.len()).unwrap();
    [&[22, 3, 3, 0, length + 4, kind, 0, 0, length][..], message].concat()
}

/// Returns a TCP connection with the same timeouts.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect_timeout(&address, TIMEOUT).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.set_write_timeout(Some(TIMEOUT)).unwrap();
    socket
}

/// Reads a response: the head as text, the body by its Content-Length.
pub(crate) fn response(stream: &mut impl Read) -> (String, Vec<u8>) {
    let head = head(stream);
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

/// Reads a response's head, including its empty line.
pub(crate) fn head(stream: &mut impl Read) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Waits until `check` returns true.
pub(crate) fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !check() {
        assert!(begun.elapsed() < TIMEOUT, "{what}: not within {TIMEOUT:?}");
        thread::sleep(Duration::from_millis(5));
    }
}
