//! Servers that sign through a relay on a Unix socket, whose upstream signers have the key, over TLS and
//! through a network that is slow, stops or ends.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use tollgate_signer::{Config, Running as Signing, Signer};
use tollgate_stock_servers::{Product, Settings};

use crate::rig::{
    PROTOCOLS, becomes, confirmed, counted, eventually, load, load_without_referee, plan, settle,
    start, with_provider,
};
use crate::signer::{Place, all_fail, all_fail_at_once, all_succeed, stub_of, two_workers};

/// A way to a signer.
struct Network {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    delay_us: AtomicU64,
    /// Bytes get no further.
    is_stopped: AtomicBool,
    is_cut: AtomicBool,
}

impl Network {
    fn to(signer: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let of_thread = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                let far = TcpStream::connect(signer);
                let Some(far) = far.ok().filter(|_| !of_thread.is_cut.load(SeqCst)) else {
                    continue;
                };
                let ends = (near.try_clone().unwrap(), far.try_clone().unwrap());
                for (from, to) in [(near, far), (ends.1, ends.0)] {
                    let state = Arc::clone(&of_thread);
                    thread::spawn(move || pass_on(from, to, &state));
                }
            }
        });
        Self { address, state }
    }

    fn stop(&self, is_stopped: bool) {
        self.state.is_stopped.store(is_stopped, SeqCst);
    }

    /// Ends all connections, and those to come.
    fn cut(&self, is_cut: bool) {
        self.state.is_cut.store(is_cut, SeqCst);
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let tick = Duration::from_millis(1);
    from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut bytes = [0; 16 * 1024];
    while !state.is_cut.load(SeqCst) {
        let count = match from.read(&mut bytes) {
            Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => continue,
            Ok(count) if count > 0 => count,
            _ => break,
        };
        thread::sleep(Duration::from_micros(state.delay_us.load(SeqCst)));
        while state.is_stopped.load(SeqCst) && !state.is_cut.load(SeqCst) {
            thread::sleep(tick);
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A relay with two upstream signers.
struct Site {
    place: Place,
    upstreams: [Signing; 2],
    networks: [Network; 2],
    relay: Signing,
}

/// The time that the relay has for an operation, in seconds; the provider has two.
const LIMIT: f64 = 1.2;

impl Site {
    fn start(lines: &str) -> Self {
        let place = Place::new("rsa-2048.pem");
        certificates(&place.folder);
        let upstreams = [(); 2]
            .map(|()| Signer::start(upstream(&place, ALL), |line| panic!("{line}")).unwrap());
        let networks = upstreams.each_ref().map(|it| Network::to(it.addr().unwrap()));
        let key = fs::read(place.key_file()).unwrap();
        fs::write(place.folder.join("stub.pem"), stub_of(&key)).unwrap();
        let mut tables = format!(
            "[relay]\nchain = \"front.pem\"\nkey = \"front.key\"\nroots = \"ca.pem\"\n\
             limit = {LIMIT}\n{lines}\n[[key]]\nname = \"key\"\nfile = \"stub.pem\"\n"
        );
        for (number, Network { address, .. }) in networks.iter().enumerate() {
            tables += &format!(
                "[[upstream]]\nname = \"{number}\"\naddress = \"{address}\"\n\
                 certificate = \"signer\"\n"
            );
        }
        let relay =
            Signer::start(place.config_of(&tables, ALL), |line| eprintln!("{line}")).unwrap();
        let site = Self { place, upstreams, networks, relay };
        site.connected();
        site
    }

    /// Waits until both workers of the relay have a connection to both signers.
    #[track_caller]
    fn connected(&self) {
        let is = || self.relay.counts().upstreams.iter().all(|it| it.connected == 2);
        eventually("connected", is);
    }

    fn done(&self) -> [u64; 2] {
        ["0", "1"].map(|name| self.relay.counts().upstream(name).unwrap().done)
    }
}

const ALL: &str = r#"["sign", "decrypt"]"#;

/// Settings of an upstream signer.
fn upstream(place: &Place, allow: &str) -> Config {
    let text = format!(
        "workers = 1\n[tls]\naddress = \"127.0.0.1:0\"\nchain = \"signer.pem\"\nkey = \"signer.key\"\n\
         client_roots = \"ca.pem\"\n[[key]]\nname = \"key\"\nfile = {:?}\n\
         [[client]]\nname = \"front\"\ncertificate = \"front\"\nkeys = [\"key\"]\nallow = {allow}\n",
        place.key_file().canonicalize().unwrap()
    );
    let file = place.folder.join("upstream.toml");
    fs::write(&file, text).unwrap();
    Config::from_file(&file).unwrap()
}

fn certificates(folder: &Path) {
    let make = |name: &str, more: &[&str]| {
        let args = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2";
        let (key, chain) = (format!("{name}.key"), format!("{name}.pem"));
        let mut command = Command::new("openssl");
        command.args(args.split(' ')).args(["-subj", &format!("/CN={name}")]).args(more);
        command.args(["-keyout", &key, "-out", &chain]).current_dir(folder);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    make("ca", &["-addext", "basicConstraints=critical,CA:TRUE"]);
    for name in ["signer", "front"] {
        let more = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=CA:FALSE"];
        make(name, &more);
    }
}

/// All operations are those of an upstream signer, with a network that takes 2 ms in each direction.
#[track_caller]
fn works(product: Product, settings: Settings) {
    let site = Site::start("");
    site.networks.iter().for_each(|network| network.state.delay_us.store(2000, SeqCst));
    let Some(running) = start(product, &site.place.settings(settings)) else { return };
    let mut sessions = 0;
    for protocol in PROTOCOLS {
        sessions += confirmed(&load(&running, &plan(protocol, 300)));
    }
    settle(&running);
    becomes(&sessions, || counted(&running, "remote_operations"));
    let counts = site.relay.counts();
    assert_eq!(
        counts.requests_of("sign", "done") + counts.requests_of("decrypt", "done"),
        sessions
    );
    assert!(counts.requests_of("decrypt", "done") > 3, "{counts:?}");
    assert_eq!((site.done().iter().sum::<u64>(), counts.fallbacks), (sessions, 0));
}

#[test]
fn nginx_signs_through_a_relay() {
    works(Product::Nginx, two_workers(with_provider()));
}

#[test]
fn haproxy_with_jobs_signs_through_a_relay() {
    works(Product::Haproxy, Settings { asynchronous: true, ..two_workers(with_provider()) });
}

/// The connection to the first signer ends under load, comes back, and the other one ends.
#[test]
fn connections_that_end_under_load_fail_no_handshake() {
    let site = Site::start("");
    let settings = Settings { asynchronous: true, ..with_provider() };
    let Some(running) = start(Product::Haproxy, &site.place.settings(settings)) else { return };
    let sessions = thread::scope(|scope| {
        scope.spawn(|| {
            let [first, second] = &site.networks;
            eventually("the first one signs", || site.done()[0] > 20);
            first.cut(true);
            eventually("the second one signs", || site.done()[1] > 20);
            first.cut(false);
            site.connected();
            second.cut(true);
        });
        confirmed(&load_without_referee(&running, &plan(PROTOCOLS[2], 3000)))
    });
    let [first, second] = site.done();
    assert!(first > 20 && second > 20 && first + second >= sessions, "{first}, {second}");
}

/// The network to the first signer stops, and no packet says so. No handshake fails, and no worker is
/// stuck.
#[test]
fn a_network_that_stops_fails_no_handshake() {
    let site = Site::start("");
    let settings = site.place.settings(with_provider());
    let Some(running) = start(Product::Nginx, &settings) else { return };
    all_succeed(&running, "at first");
    let [before, _] = site.done();
    site.networks[0].stop(true);
    all_succeed(&running, "it has stopped");
    let [first, second] = site.done();
    assert!(first == before && second > 3, "{first}, {second}");
    // Late answers are none: their connection is gone.
    site.networks[0].stop(false);
    site.connected();
    all_succeed(&running, "it goes on");
    assert!(site.done()[0] > before);
    site.networks.iter().for_each(|network| network.stop(true));
    all_fail(&running, "both have stopped");
    site.networks.iter().for_each(|network| network.stop(false));
    site.connected();
    all_succeed(&running, "both go on");
}

/// The upstream signers revoke the permission of the relay.
#[test]
fn a_revoked_relay_gets_no_signature() {
    let site = Site::start("");
    let Some(running) = start(Product::Nginx, &site.place.settings(with_provider())) else {
        return;
    };
    all_succeed(&running, "at first");
    let allow = |allow| {
        site.upstreams.iter().for_each(|it| it.reload(&upstream(&site.place, allow)).unwrap());
    };
    allow(r#"["decrypt"]"#);
    let done = site.done();
    all_fail_at_once(&running, "signatures are not allowed");
    assert_eq!(site.done(), done);
    allow(ALL);
    all_succeed(&running, "allowed again");
}
