//! Servers that sign through a signer on a Unix socket, and have only the stub of the key.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tollgate_keyless::{Message, RESPONSE, Ski, Split, Stub, split};
use tollgate_load::{Protocol, Server, Target, run};
use tollgate_server::Certificate;
use tollgate_signer::{Config, Running as Signing, Signer};
use tollgate_stock_servers::{Product, Running, Settings};

use crate::rig::{
    PROTOCOLS, becomes, certificate, confirmed, counted, ecdsa_plans, eventually, load,
    load_without_referee, plan, settle, start, with_ecdsa, with_provider,
};

/// The longest time that an operation waits for the signer, in milliseconds.
const LIMIT_MS: u64 = 2000;

/// The folder of a signer, removed when dropped, and the key of its client.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    key: &'static str,
}

impl Place {
    pub(crate) fn new(key: &'static str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-stock-signer-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        // Workers that are not root may enter it.
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        Self { folder, key }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    pub(crate) fn key_file(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/keys").join(self.key)
    }

    /// Returns settings whose clients are root, nobody and this user, who may do this.
    fn config(&self, allow: &str) -> Config {
        let key = self.key_file().canonicalize().unwrap();
        self.config_of(&format!("[[key]]\nname = \"key\"\nfile = {key:?}\n"), allow)
    }

    /// Returns settings with these tables.
    pub(crate) fn config_of(&self, tables: &str, allow: &str) -> Config {
        let mut users = vec![0, 65_534, rustix::process::geteuid().as_raw()];
        users.sort_unstable();
        users.dedup();
        let clients: String = users
            .iter()
            .map(|uid| {
                format!(
                    "[[client]]\nname = \"{uid}\"\nuid = {uid}\nkeys = [\"key\"]\nallow = {allow}\n"
                )
            })
            .collect();
        let text =
            format!("unix = \"socket\"\nunix_mode = \"0666\"\nworkers = 2\n{tables}{clients}");
        let file = self.folder.join("signer.toml");
        fs::write(&file, text).unwrap();
        Config::from_file(&file).unwrap()
    }

    pub(crate) fn start(&self) -> Signing {
        Signer::start(self.config(r#"["sign", "decrypt"]"#), |line| panic!("{line}")).unwrap()
    }

    /// Returns the settings of a server with the stub in place of the key.
    pub(crate) fn settings(&self, base: Settings) -> Settings {
        let certificate = certificate(self.key);
        let Certificate::Pem { key, .. } = &certificate else { panic!() };
        let stub = Some(stub_of(key));
        let mut provider = base.provider.clone();
        provider.insert("remote".into(), format!("unix:{}", self.socket().display()));
        provider.insert("remote_limit_ms".into(), LIMIT_MS.to_string());
        Settings { certificate, stub, provider, ..base }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the stub of a private key in PEM.
pub(crate) fn stub_of(pem: &[u8]) -> String {
    Stub::new(openssl_public(pem)).unwrap().to_pem()
}

/// Returns the `SubjectPublicKeyInfo` of a private key in PEM.
fn openssl_public(pem: &[u8]) -> Vec<u8> {
    let mut child = std::process::Command::new("openssl")
        .args(["pkey", "-pubout", "-outform", "DER"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(pem).unwrap();
    child.wait_with_output().unwrap().stdout
}

/// Two workers, or two threads.
pub(crate) fn two_workers(base: Settings) -> Settings {
    Settings { cores: vec![0, 0], ..base }
}

/// Checks that all operations of these servers are the signer's.
#[track_caller]
fn works(product: Product, base: Settings) {
    let place = Place::new("rsa-2048.pem");
    let signing = place.start();
    let Some(running) = start(product, &place.settings(base)) else { return };
    let mut sessions = 0;
    for protocol in PROTOCOLS {
        sessions += confirmed(&load(&running, &plan(protocol, 200)));
    }
    settle(&running);
    becomes(&sessions, || counted(&running, "remote_operations"));
    let counts = signing.counts();
    assert_eq!(
        counts.requests_of("sign", "done") + counts.requests_of("decrypt", "done"),
        sessions
    );
    assert!(counts.requests_of("decrypt", "done") > 3, "{counts:?}");
}

#[test]
fn nginx_signs_through_a_signer() {
    works(Product::Nginx, two_workers(with_provider()));
}

#[test]
fn haproxy_signs_through_a_signer() {
    works(Product::Haproxy, two_workers(with_provider()));
}

#[test]
fn haproxy_with_jobs_signs_through_a_signer() {
    works(Product::Haproxy, Settings { asynchronous: true, ..two_workers(with_provider()) });
}

/// HAProxy changes its root folder, as in Debian's package. It reads the stub before, and looks for
/// the socket below the new root folder.
#[test]
fn haproxy_with_chroot_signs_through_a_signer() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tested: only root can change the root folder");
        return;
    }
    let place = Place::new("rsa-2048.pem");
    let signing = place.start();
    let mut settings = place.settings(two_workers(with_provider()));
    settings.directives.insert("global.chroot".into(), place.folder.display().to_string());
    settings.provider.insert("remote".into(), "unix:/socket".into());
    let Some(running) = start(Product::Haproxy, &settings) else { return };
    let sessions: u64 = PROTOCOLS
        .iter()
        .map(|&protocol| confirmed(&load_without_referee(&running, &plan(protocol, 200))))
        .sum();
    let counts = signing.counts();
    assert_eq!(
        counts.requests_of("sign", "done") + counts.requests_of("decrypt", "done"),
        sessions
    );
}

#[test]
fn nginx_signs_with_ecdsa_through_a_signer() {
    let place = Place::new("ec-p256.pem");
    let signing = place.start();
    let Some(running) = start(Product::Nginx, &place.settings(with_ecdsa(Product::Nginx))) else {
        return;
    };
    let sessions: u64 = ecdsa_plans(200).iter().map(|plan| confirmed(&load(&running, plan))).sum();
    assert_eq!(signing.counts().requests_of("sign", "done"), sessions);
}

/// The number of handshakes that must fail.
const FAILURES: u32 = 6;

/// Returns whether a first handshake succeeds.
fn succeeds(running: &Running) -> bool {
    let mut server = Server::new("nginx", Target::new(running.address()).unwrap());
    // A run begins with a handshake, and does not go on if it fails.
    run(&plan(Protocol::Tls13, 200), &mut server, &|| false, &mut |_, _| {}).is_ok()
}

/// Checks that some handshakes fail, and returns the time that they took together.
#[track_caller]
pub(crate) fn all_fail(running: &Running, why: &str) -> Duration {
    let begin = Instant::now();
    for _ in 0..FAILURES {
        assert!(!succeeds(running), "{why}");
    }
    begin.elapsed()
}

/// Checks that some handshakes fail without a wait for the signer.
#[track_caller]
pub(crate) fn all_fail_at_once(running: &Running, why: &str) {
    let took = all_fail(running, why);
    assert!(took < Duration::from_millis(LIMIT_MS), "{why}: {took:?}");
}

#[track_caller]
pub(crate) fn all_succeed(running: &Running, why: &str) {
    let outcome = load_without_referee(running, &plan(Protocol::Tls13, 200));
    assert!(outcome.whole.confirmed > 3 && outcome.whole.failed() == 0, "{why}: {outcome}");
}

/// A signer that ends and starts again, and one that revokes.
#[test]
fn a_signer_that_is_gone_costs_no_time() {
    let place = Place::new("rsa-2048.pem");
    let signing = place.start();
    let Some(running) = start(Product::Nginx, &place.settings(with_provider())) else { return };
    all_succeed(&running, "at first");
    drop(signing);
    let signing = place.start();
    // The worker's connection has ended, and it has not noticed yet.
    all_succeed(&running, "started again between two handshakes");
    drop(signing);
    all_fail_at_once(&running, "no signer");
    becomes(&u64::from(FAILURES), || counted(&running, "remote_failures"));
    let signing = place.start();
    all_succeed(&running, "after it has started again");

    signing.reload(&place.config(r#"["decrypt"]"#)).unwrap();
    all_fail_at_once(&running, "signatures are not allowed");
    signing.reload(&place.config(r#"["sign"]"#)).unwrap();
    all_succeed(&running, "allowed again");
}

/// A signer that accepts and says nothing: one handshake of many waits for it.
#[test]
fn a_silent_signer_costs_the_time_of_one_operation() {
    let place = Place::new("rsa-2048.pem");
    let signing = place.start();
    let Some(running) = start(Product::Nginx, &place.settings(with_provider())) else { return };
    all_succeed(&running, "at first");
    drop(signing);
    let silent = UnixListener::bind(place.socket()).unwrap();
    fs::set_permissions(place.socket(), Permissions::from_mode(0o666)).unwrap();
    let took = all_fail(&running, "a silent signer");
    let limit = Duration::from_millis(LIMIT_MS);
    assert!((limit..2 * limit).contains(&took), "{took:?}");
    silent.set_nonblocking(true).unwrap();
    let asked = core::iter::from_fn(|| silent.accept().ok()).count();
    assert_eq!(asked, 1, "{FAILURES} handshakes");
    drop(silent);
    fs::remove_file(place.socket()).unwrap();
    let _signing = place.start();
    eventually("handshakes succeed after the silence", || succeeds(&running));
    all_succeed(&running, "after the silence");
}

/// Answers that are no frames, of other requests, cut off, or signatures of something else.
#[test]
fn wrong_answers_never_leave_the_server() {
    let place = Place::new("rsa-2048.pem");
    let Some(running) = start(Product::Nginx, &place.settings(with_provider())) else { return };
    let socket = UnixListener::bind(place.socket()).unwrap();
    fs::set_permissions(place.socket(), Permissions::from_mode(0o666)).unwrap();
    let state = Arc::new((AtomicU64::new(0), AtomicBool::new(false)));
    let of_signer = Arc::clone(&state);
    thread::spawn(move || {
        for stream in socket.incoming() {
            let (mut stream, state) = (stream.unwrap(), Arc::clone(&of_signer));
            thread::spawn(move || {
                let (answered, is_over) = &*state;
                let mut request = vec![0; 1024];
                while stream.read_exact(&mut request).is_ok() && !is_over.load(Ordering::Relaxed) {
                    let number = answered.fetch_add(1, Ordering::Relaxed);
                    if stream.write_all(&wrong(&request, number)).is_err() {
                        break;
                    }
                    if number % 5 == 4 {
                        break; // the answer is cut off
                    }
                }
            });
        }
    });
    for _ in 0..3 {
        all_fail_at_once(&running, "wrong answers");
    }
    let (answered, is_over) = &*state;
    let answered = answered.load(Ordering::Relaxed);
    assert_eq!(answered, 3 * u64::from(FAILURES), "one for each handshake");
    // The provider has refused each of them: none has come to the server, nor to a client.
    becomes(&answered, || counted(&running, "remote_failures"));
    assert_eq!(counted(&running, "remote_operations"), 0);
    is_over.store(true, Ordering::Relaxed);
    fs::remove_file(place.socket()).unwrap();
    let _signing = place.start();
    all_succeed(&running, "with right answers");
    assert_eq!(counted(&running, "remote_failures"), answered);
}

fn wrong(request: &[u8], number: u64) -> Vec<u8> {
    let Split::Frame { frame, .. } = split(request, 4096) else { panic!() };
    let id = frame.id;
    let name = Some(Ski::new([1; 20]));
    let mut bytes = Vec::new();
    match number % 5 {
        0 => return vec![0xff; 1024],
        // a signature, but of nothing
        1 => Message { id, opcode: RESPONSE, ski: None, payload: &[3; 256] }.write(&mut bytes),
        2 => Message { id: id ^ 1, opcode: RESPONSE, ski: name, payload: &[3; 256] }
            .write(&mut bytes),
        3 => Message { id, opcode: 0xf2, ski: None, payload: &[] }.write(&mut bytes),
        _ => {
            Message { id, opcode: RESPONSE, ski: None, payload: &[3; 256] }.write(&mut bytes);
            bytes.truncate(100);
        }
    }
    bytes
}
