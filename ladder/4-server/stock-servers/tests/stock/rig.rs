//! Certificates, starting, loading and counting.

use core::cell::Cell;
use core::fmt::Debug;
use core::time::Duration;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use tollgate_load::{
    AccessLog, Descriptions, Exchange, Limits, Offer, Outcome, Plan, Protocol, Server, Target,
    Verify, run,
};
use tollgate_server::Certificate;
use tollgate_stock_servers::{Error, Product, Running, Settings, module};
use zeroize::Zeroizing;

/// The length in bytes of the body that clients request.
pub(crate) const BYTES: u64 = 1000;

/// Protocols of the clients; the first signs PKCS#1, the second decrypts, the third signs PSS.
pub(crate) const PROTOCOLS: [Protocol; 3] =
    [Protocol::Tls12X25519, Protocol::Tls12Rsa, Protocol::Tls13];

/// The group with ML-KEM-768 and X25519. OpenSSL has it from 3.5 on.
pub(crate) const HYBRID: &str = "X25519MLKEM768";

/// Groups as configurations list them.
pub(crate) const GROUPS: &str = "X25519MLKEM768:X25519:P-256";

/// Returns the folders of programs, that of `TOLLGATE_STOCK` first.
pub(crate) fn program_path() -> OsString {
    let [stock, path] =
        ["TOLLGATE_STOCK", "PATH"].map(|name| env::var_os(name).unwrap_or_default());
    [&*stock, &*path, OsStr::new("/usr/local/go/bin")].join(OsStr::new(":"))
}

/// Returns whether the long tests run.
pub(crate) fn is_long() -> bool {
    env::var_os("TOLLGATE_TEST_LONG").is_some()
}

/// The products that need no command of the user, on OpenSSL.
pub(crate) fn programs() -> Vec<Product> {
    let others = [Product::Command, Product::Gnutls];
    Product::ALL.into_iter().filter(|product| !others.contains(product)).collect()
}

/// Returns a self-signed certificate for a test key.
pub(crate) fn certificate(key: &str) -> Certificate {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/keys");
    let key = folder.join(key);
    let made = Command::new("openssl")
        .args(["req", "-new", "-x509", "-subj", "/CN=localhost", "-days", "2", "-key"])
        .arg(&key)
        .output()
        .expect("the command openssl is installed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Certificate::Pem { chain: made.stdout, key: Zeroizing::new(fs::read(key).unwrap()) }
}

/// Returns settings with the provider that cargo built with this test.
pub(crate) fn with_provider() -> Settings {
    let certificate = certificate("rsa-2048.pem");
    let module = Some(module().unwrap());
    Settings { module, bodies: vec![BYTES], ..Settings::new(certificate) }
}

/// Returns settings with the provider, which signs with ECDSA on every processor, a key on P-256,
/// and [`GROUPS`].
pub(crate) fn with_ecdsa(product: Product) -> Settings {
    let provider = [("ecdsa".into(), "on".into())].into();
    let settings =
        Settings { provider, certificate: certificate("ec-p256.pem"), ..with_provider() };
    with_groups(product, GROUPS, settings)
}

/// Adds directives to settings.
pub(crate) fn with_directives(directives: &[(&str, &str)], mut settings: Settings) -> Settings {
    let owned = directives.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    settings.directives.extend(owned);
    settings
}

/// Returns settings that allow these groups, and whose provider has X25519 and the hybrid group on
/// every processor.
pub(crate) fn with_groups(product: Product, groups: &str, mut settings: Settings) -> Settings {
    for group in ["ml_kem", "x25519"] {
        settings.provider.insert(group.to_owned(), "on".to_owned());
    }
    let (directive, value) = match product {
        Product::Apache => ("server.SSLOpenSSLConfCmd", format!("Groups {groups}")),
        Product::Haproxy => ("bind.curves", groups.to_owned()),
        Product::Lighttpd => {
            ("server.ssl.openssl.ssl-conf-cmd", format!("+= ( \"Groups\" => \"{groups}\" )"))
        }
        Product::Nginx => ("http.ssl_ecdh_curve", groups.to_owned()),
        Product::Stunnel => ("service.curves", format!("= {groups}")),
        _ => ("openssl.Groups", groups.to_owned()), // for all programs
    };
    with_directives(&[(directive, &value)], settings)
}

/// Returns whether OpenSSL has the hybrid group itself.
pub(crate) fn openssl_has_the_hybrid() -> bool {
    let without = Settings { module: None, ..with_provider() };
    Product::Nginx.start(&with_groups(Product::Nginx, HYBRID, without)).is_ok()
}

/// Returns a plan of TLS 1.3 whose clients offer this group.
pub(crate) fn group_plan(group: &str, sustain_ms: u64) -> Plan {
    let offer = Offer { group: Some(group.to_owned()), ..Offer::default() };
    Plan { offer, ..plan(Protocol::Tls13, sustain_ms) }
}

/// Returns plans with each protocol for a key on P-256, and with each group.
pub(crate) fn ecdsa_plans(sustain_ms: u64) -> [Plan; 5] {
    [
        (Protocol::Tls12X25519, None),
        (Protocol::Tls12P256, None),
        (Protocol::Tls13, None),
        (Protocol::Tls13, Some("secp256r1")),
        (Protocol::Tls13, Some(HYBRID)),
    ]
    .map(|(protocol, group)| {
        let offer = Offer { curve_key: true, group: group.map(str::to_owned), suite: None };
        Plan { offer, ..plan(protocol, sustain_ms) }
    })
}

/// Starts a server; `None` if it is not installed, which is an error in CI.
pub(crate) fn start(product: Product, settings: &Settings) -> Option<Running> {
    match product.start(settings) {
        Ok(running) => Some(running),
        Err(error @ Error::Missing(_)) => {
            eprintln!("not tested: {error}");
            assert!(env::var_os("CI").is_none(), "CI has every server");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns the plan of a short run with four connections, whose verdict depends on counts only.
pub(crate) fn plan(protocol: Protocol, sustain_ms: u64) -> Plan {
    Plan {
        connections: 4,
        warm_up_ms: 20,
        sustain_ms,
        exchange: Exchange::bytes(BYTES),
        verify: Verify::Always,
        limits: Limits::of_counts(),
        ..Plan::new(protocol)
    }
}

/// Runs a plan; the server's log, if it has one, is the referee.
pub(crate) fn load(running: &Running, plan: &Plan) -> Outcome {
    let mut server = server(running);
    if let Some(log) = running.access_log() {
        server = match running.product() {
            Product::Gnutls => server.with_referee(Descriptions::open(&log).unwrap()),
            _ => server.with_referee(AccessLog::open(log).unwrap()),
        };
    }
    run(plan, &mut server, &|| false, &mut |_, _| {}).unwrap()
}

/// Runs a plan without a referee, because the log may lack lines: if several threads of HAProxy
/// write at once, one sometimes drops its line.
pub(crate) fn load_without_referee(running: &Running, plan: &Plan) -> Outcome {
    run(plan, &mut server(running), &|| false, &mut |_, _| {}).unwrap()
}

fn server(running: &Running) -> Server<'static> {
    let target = Target::new(running.address()).unwrap();
    let mut server = Server::new(running.product().word(), target);
    server.plain = running.plain_address().map(|address| Target::new(address).unwrap());
    server
}

/// Returns the number of confirmed handshakes; checks that none failed and that the log agrees.
#[track_caller]
pub(crate) fn confirmed(outcome: &Outcome) -> u64 {
    let counts = &outcome.whole;
    let (confirmed, verified) = (counts.confirmed, counts.signatures_verified);
    assert_eq!(counts.failed(), 0, "{outcome}");
    assert!(confirmed > 3, "{outcome}");
    if outcome.plan.protocol != Protocol::Tls12Rsa {
        assert!(verified >= confirmed, "{verified} of {confirmed}");
    }
    if let Some(seen) = outcome.seen {
        let logged = (seen.handshakes, seen.requests, seen.resumed, seen.failed);
        assert_eq!(logged, (confirmed, counts.responses, 0, 0), "{outcome}");
    }
    confirmed
}

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn eventually(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < end, "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the value is the expected one.
#[track_caller]
pub(crate) fn becomes<T: PartialEq + Debug>(expected: &T, ask: impl Fn() -> T) {
    let end = Instant::now() + Duration::from_secs(10);
    while ask() != *expected && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(ask(), *expected);
}

/// Makes the server write all counts. HAProxy's workers may not start a thread that writes: their
/// operations write the counts, and a worker writes its last counts when it ends.
#[track_caller]
pub(crate) fn settle(running: &Running) {
    if running.product() == Product::Haproxy {
        renew(running);
    }
}

/// Reloads the server, and waits until all old workers have ended.
#[track_caller]
pub(crate) fn renew(running: &Running) {
    let before = running.workers().unwrap();
    let asked = Cell::new(None::<Instant>);
    eventually("other workers serve", || {
        // HAProxy's master may lose a signal that arrives while it executes itself again.
        if asked.get().is_none_or(|last| last.elapsed() > Duration::from_secs(3)) {
            running.reload().unwrap();
            asked.set(Some(Instant::now()));
        }
        let now = running.workers().unwrap();
        !now.is_empty() && now.iter().all(|process| !before.contains(process))
    });
}

/// Returns the sum of a counter over all processes of the server, including ended ones. A process
/// that may start a thread writes within a second of its last count.
pub(crate) fn counted(running: &Running, counter: &str) -> u64 {
    sum_of(running, &format!("{counter}_total"))
}

/// Returns the sum of any number in the files of the provider.
pub(crate) fn sum_of(running: &Running, number: &str) -> u64 {
    let start = format!("tollgate_{number}{{");
    let of_file = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(&start))?;
        line.rsplit(' ').next()?.parse::<u64>().ok()
    };
    let files = fs::read_dir(running.metrics()).unwrap();
    files.filter_map(|entry| of_file(entry.unwrap().path())).sum()
}

/// Returns the path of the provider's module that the process has mapped.
pub(crate) fn mapped(process: u32) -> Option<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let line = maps.lines().find(|line| line.contains("tollgate_provider"))?;
    Some(line[line.find('/')?..].into())
}
