//! Two signers in networks of their own, and a server that reaches them through `stunnel`, with the
//! files that docs/signer.md shows. The networks share no address but those of two pairs of
//! devices.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use tollgate_load::{
    AccessLog, Exchange, Limits, Outcome, Plan, Protocol, Server, Target, VerifySignature, run,
};
use tollgate_server::Certificate;
use tollgate_stock_servers::{Error, Product, Running, Settings, module};

use crate::program::{certificates, keys, said, scratch, signer as signer_program};

/// Pairs the network with that of the process `PEER`, as number `N`.
const PAIR: &str = "ip link set lo up && ip link add front$N type veth peer name back netns $PEER \
    && ip address add 10.0.$N.1/30 dev front$N && ip link set front$N up";

/// Waits for its end of the pair.
const BEHIND: &str = "ip link set lo up && echo made && read paired \
    && ip address add 10.0.$N.2/30 dev back && ip link set back up && exec \"$0\" signer --config \
    \"$1\"";

const IN_A_NETWORK: &str = "exec \"$0\" --exact --ignored --nocapture \
 signer_network::beside_two_signers_in_other_networks";

#[test]
fn servers_sign_through_tunnels_to_signers_in_other_networks() {
    let probe = "ip link add front type veth peer name back";
    let made = Command::new("unshare").args(["-rn", "sh", "-c", probe]).output();
    if let Some(why) = match made {
        Err(error) => Some(error.to_string()),
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
    } {
        assert!(std::env::var_os("CI").is_none(), "CI has networks and pairs of devices: {why}");
        return println!("not tested: no networks here (unshare -rn, {probe}): {why}");
    }
    let output = Command::new("unshare")
        .args(["-rn", "sh", "-c", IN_A_NETWORK])
        .arg(std::env::current_exe().unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{why}");
}

/// A process; killed when dropped.
struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Waits for a line with these words.
    fn says(&mut self, words: &str) {
        let mut text = String::new();
        while !text.contains(words) {
            assert!(self.stdout.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shell(script: &str, number: usize, peer: u32) {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("N", number.to_string()).env("PEER", peer.to_string());
    assert!(command.status().unwrap().success(), "{script}");
}

/// Returns the block of the page with these words, with its files in this folder.
fn of_page(words: &str, folder: &Path) -> String {
    let page = include_str!("../../../../docs/signer.md");
    let block = page.split("\n```").find(|block| block.contains(words)).unwrap();
    let (_language, mut text) = block.split_once('\n').map(|(a, b)| (a, b.to_owned())).unwrap();
    for place in ["/etc/tollgate", "/run/tollgate", "/var/log/tollgate-signer"] {
        text = text.replace(place, folder.to_str().unwrap());
    }
    text
}

/// Starts a signer in a network of its own, and pairs its network with this one.
fn signer(folder: &Path, number: usize) -> Process {
    let name = format!("signer-{number}");
    let text = of_page("client_roots = ", folder).replace("signer-1", &name);
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, text.replace("audit.log", &format!("{name}.log"))).unwrap();
    let mut behind = Command::new("unshare");
    behind.args(["-n", "sh", "-c", BEHIND]).arg(signer_program(&file).get_program()).arg(&file);
    let mut signer = Process::start(behind.env("N", number.to_string()));
    signer.says("made");
    shell(PAIR, number, signer.child.id());
    signer.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    signer.says("worker threads: ");
    signer
}

/// Starts the tunnels of this network, and waits for their sockets.
fn tunnels(folder: &Path, sockets: &[PathBuf]) -> Option<Process> {
    let file = folder.join("stunnel.conf");
    fs::write(&file, of_page("checkHost = ", folder)).unwrap();
    if Command::new("stunnel").arg("-version").output().is_err() {
        return None;
    }
    let tunnels = Process::start(Command::new("stunnel").arg(&file));
    let end = Instant::now() + Duration::from_secs(20);
    while !sockets.iter().all(|socket| socket.exists()) {
        assert!(Instant::now() < end, "stunnel does not start");
        sleep(Duration::from_millis(5));
    }
    Some(tunnels)
}

fn settings(folder: &Path, sockets: &[PathBuf], stub: &str) -> Settings {
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    // the servers get the stub
    let key = fs::read(keys().join("rsa-2048.pem")).unwrap().into();
    let site = Certificate::Pem { chain: read("site.pem"), key };
    let sockets: Vec<String> =
        sockets.iter().map(|socket| format!("unix:{}", socket.display())).collect();
    let provider = [("remote", &*sockets.join(" ")), ("remote_limit_ms", "6000")];
    Settings {
        stub: Some(stub.to_owned()),
        module: Some(module().unwrap()),
        provider: provider.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        bodies: vec![1000],
        ..Settings::new(site)
    }
}

fn load(running: &Running, protocol: Protocol) -> Result<Outcome, tollgate_load::Error> {
    let mut server = Server::new(running.product().word(), Target::new(running.address()).unwrap());
    server = server.with_referee(AccessLog::open(running.access_log().unwrap()).unwrap());
    let plan = Plan {
        connections: 4,
        warm_up_ms: 20,
        sustain_ms: 300,
        exchange: Exchange::bytes(1000),
        verify: VerifySignature::Always,
        limits: Limits::of_counts(),
        ..Plan::new(protocol)
    };
    run(&plan, &mut server, &|| false, &mut |_, _| {})
}

/// Signatures need PKCS#1 and PSS, and a handshake with RSA decrypts.
const PROTOCOLS: [Protocol; 3] = [Protocol::Tls12X25519, Protocol::Tls12Rsa, Protocol::Tls13];

#[test]
#[ignore = "runs in the network that the other test makes"]
fn beside_two_signers_in_other_networks() {
    let folder = scratch("signer-network");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let names = ["signer-1", "signer-2", "front-1"];
    let names = names.map(|name| (name, format!("DNS:{name}.example.com")));
    certificates(&folder, &names.each_ref().map(|(name, dns)| (*name, &**dns)));
    let key = keys().join("rsa-2048.pem");
    fs::copy(&key, folder.join("site.key")).unwrap();
    let site = ["req", "-x509", "-subj", "/CN=localhost", "-days", "2", "-out", "site.pem", "-key"];
    let mut make = Command::new("openssl");
    make.args(site).arg("site.key").current_dir(&*folder);
    assert!(make.status().unwrap().success());
    let mut stub = Command::new(signer_program(&key).get_program());
    let stub = said(&stub.args(["key", "stub"]).arg(&key).output().unwrap());

    let _signers = [1, 2].map(|number| signer(&folder, number));
    let sockets = [1, 2].map(|number| folder.join(format!("signer-{number}.sock")));
    let missing = |what: &str| {
        assert!(std::env::var_os("CI").is_none(), "CI has every server");
        println!("not tested: {what} is missing");
    };
    let Some(_tunnels) = tunnels(&folder, &sockets) else { return missing("stunnel") };
    // The worker of HAProxy ends at once in such a namespace of users.
    let running = match Product::Nginx.start(&settings(&folder, &sockets, &stub)) {
        Ok(running) => running,
        Err(Error::Missing(what)) => return missing(&what.to_string()),
        Err(error) => panic!("{error}"),
    };
    // Every session has its line in the log of a signer, and the peer is the address of the pair.
    let done = |number: usize| {
        let log = fs::read_to_string(folder.join(format!("signer-{number}.log"))).unwrap();
        let peer = format!("\"peer\":\"10.0.{number}.1:");
        let is = |line: &&str| line.contains(&peer) && line.contains(r#""outcome":"done""#);
        log.lines().filter(is).count() as u64
    };
    let mut sessions = 0;
    for protocol in PROTOCOLS {
        let outcome = load(&running, protocol).unwrap();
        assert!(outcome.whole.failed() == 0 && outcome.whole.confirmed > 3, "{outcome}");
        let all = outcome.seen.map_or(outcome.whole.confirmed, |seen| seen.handshakes);
        assert_eq!(outcome.whole.confirmed, all, "{outcome}");
        sessions += outcome.whole.confirmed;
    }
    assert!(done(1) >= sessions && done(2) == 0, "{}, {}", done(1), done(2));

    // Without the first pair, the second signer does all operations: no session fails.
    shell("ip link set front1 down", 1, 0);
    let outcome = load(&running, Protocol::Tls13).unwrap();
    assert!(outcome.whole.failed() == 0 && done(2) >= outcome.whole.confirmed, "{outcome}");
    shell("ip link set front2 down", 2, 0);
    let failed = load(&running, Protocol::Tls13).unwrap_err().to_string();
    assert!(failed.contains("the first transaction"), "{failed}");
    shell("ip link set front1 up && ip link set front2 up", 0, 0);
    let end = Instant::now() + Duration::from_secs(60);
    let back = |outcome: &Outcome| outcome.whole.failed() == 0;
    while !load(&running, Protocol::Tls13).as_ref().is_ok_and(back) {
        assert!(Instant::now() < end, "no session with both pairs");
        sleep(Duration::from_millis(200));
    }
}
