//! A signer in another network than the servers that it signs for: they have a relay, a pair of virtual
//! Ethernet devices, and no key.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use tollgate_load::{
    AccessLog, Exchange, Limits, Outcome, Plan, Protocol, Server, Target, Verify, run,
};
use tollgate_server::Certificate;
use tollgate_stock_servers::{Error, Product, Running, Settings, module};

use crate::program::{certificates, keys, line, said, scratch, signer as signer_program};

/// The addresses of both ends of the pair.
const FRONT: &str = "10.77.0.1";
const SIGNER: &str = "10.77.0.2";

/// A network has the name of its first device, `lo`. In a second one, `IT` is a process in it.
const PAIR: &str = "ip link set lo up && ip link add front type veth peer name back netns $IT \
    && ip address add 10.77.0.1/30 dev front && ip link set front up";

/// Waits for its end of the pair.
const BEHIND: &str = "ip link set lo up && echo made && read paired \
    && ip address add 10.77.0.2/30 dev back && ip link set back up && exec \"$0\" signer --config \"$1\"";

const IN_A_NETWORK: &str =
    "exec \"$0\" --exact --ignored --nocapture signer_network::beside_a_signer_in_another_network";

#[test]
fn servers_sign_through_a_signer_in_another_network() {
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

fn shell(script: &str, it: &str) {
    let done = Command::new("sh").args(["-c", script]).env("IT", it).status().unwrap();
    assert!(done.success(), "{script}");
}

/// Starts the signer in a network of its own, and pairs its network with this one.
fn signer(folder: &Path) -> Process {
    let key = keys().join("rsa-2048.pem").canonicalize().unwrap();
    let text = format!(
        "audit_log = \"signer.log\"\nworkers = 1\n\
         [tls]\naddress = \"{SIGNER}:2407\"\nchain = \"signer.pem\"\nkey = \"signer.key\"\n\
         client_roots = \"ca.pem\"\n\
         [[key]]\nname = \"site\"\nfile = {key:?}\n\
         [[client]]\nname = \"front\"\ncertificate = \"front\"\nkeys = [\"site\"]\n\
         allow = [\"sign\", \"decrypt\"]\n"
    );
    let file = folder.join("signer.toml");
    fs::write(&file, text).unwrap();
    let mut behind = Command::new("unshare");
    behind.args(["-n", "sh", "-c", BEHIND]).arg(signer_program(&file).get_program()).arg(&file);
    let mut signer = Process::start(&mut behind);
    signer.says("made");
    shell(PAIR, &signer.child.id().to_string());
    signer.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    signer.says("worker threads: 1");
    signer
}

/// Starts the relay of this network, and waits until it has a connection.
fn relay(folder: &Path) -> Process {
    // In a namespace of users this process is root, and so are all servers.
    let text = format!(
        "unix = \"socket\"\naudit_log = \"relay.log\"\nworkers = 1\n\
         [relay]\nchain = \"front.pem\"\nkey = \"front.key\"\nroots = \"ca.pem\"\nlimit = 4\n\
         [[upstream]]\nname = \"far\"\naddress = \"{SIGNER}:2407\"\ncertificate = \"signer\"\n\
         [[key]]\nname = \"site\"\nfile = \"site.stub.pem\"\n\
         [[client]]\nname = \"servers\"\nuid = 0\nkeys = [\"site\"]\nallow = [\"sign\", \"decrypt\"]\n"
    );
    let file = folder.join("relay.toml");
    fs::write(&file, text).unwrap();
    let mut relay = Process::start(&mut signer_program(&file));
    relay.says("worker threads: 1");
    relay
}

fn settings(folder: &Path, stub: &str) -> Settings {
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    // the servers get the stub
    let key = fs::read(keys().join("rsa-2048.pem")).unwrap().into();
    let site = Certificate::Pem { chain: read("site.pem"), key };
    let socket = format!("unix:{}", folder.join("socket").display());
    let provider = [("remote", &*socket), ("remote_limit_ms", "10000")];
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
        verify: Verify::Always,
        limits: Limits::of_counts(),
        ..Plan::new(protocol)
    };
    run(&plan, &mut server, &|| false, &mut |_, _| {})
}

/// Signatures need PKCS#1 and PSS, and a handshake with RSA decrypts.
const PROTOCOLS: [Protocol; 3] = [Protocol::Tls12X25519, Protocol::Tls12Rsa, Protocol::Tls13];

#[test]
#[ignore = "runs in the network that the other test makes"]
fn beside_a_signer_in_another_network() {
    let folder = scratch("signer-network");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let names = [("signer", "DNS:signer"), ("front", "DNS:front")];
    certificates(&folder, &names);
    let key = keys().join("rsa-2048.pem");
    let site = ["req", "-x509", "-subj", "/CN=localhost", "-days", "2", "-out", "site.pem", "-key"];
    let mut make = Command::new("openssl");
    make.args(site).arg(key.canonicalize().unwrap()).current_dir(&*folder);
    assert!(make.status().unwrap().success());
    let stub = said(&line("key stub", &[key.to_str().unwrap()]));
    fs::write(folder.join("site.stub.pem"), &stub).unwrap();

    let _signer = signer(&folder);
    // The networks share no address but those of the pair.
    assert!(TcpStream::connect("127.0.0.1:2407").is_err());
    let _relay = relay(&folder);
    let mut sessions = 0;
    // The worker of HAProxy ends at once in such a namespace of users.
    let running = match Product::Nginx.start(&settings(&folder, &stub)) {
        Ok(running) => running,
        Err(Error::Missing(what)) => {
            assert!(std::env::var_os("CI").is_none(), "CI has every server");
            return println!("not tested: {what} is missing");
        }
        Err(error) => panic!("{error}"),
    };
    for protocol in PROTOCOLS {
        let outcome = load(&running, protocol).unwrap();
        assert!(outcome.whole.failed() == 0 && outcome.whole.confirmed > 3, "{outcome}");
        let all = outcome.seen.map_or(outcome.whole.confirmed, |seen| seen.handshakes);
        assert_eq!(outcome.whole.confirmed, all, "{outcome}");
        sessions += outcome.whole.confirmed;
    }
    // Without the pair nobody signs; with it the relay connects again.
    shell("ip link set front down", "");
    let failed = load(&running, Protocol::Tls13).unwrap_err().to_string();
    assert!(failed.contains("the first transaction"), "{failed}");
    shell("ip link set front up", "");
    let end = Instant::now() + Duration::from_secs(60);
    sessions += loop {
        match load(&running, Protocol::Tls13) {
            Ok(outcome) if outcome.whole.failed() == 0 => break outcome.whole.confirmed,
            other => assert!(Instant::now() < end, "{other:?}"),
        }
        sleep(Duration::from_millis(200));
    };
    // Every session has its line in the log of the signer, and the peer is the relay's address.
    let log = fs::read_to_string(folder.join("signer.log")).unwrap();
    let peer = format!("\"peer\":\"{FRONT}:");
    let is = |line: &&str| line.contains(&peer) && line.contains(r#""outcome":"done""#);
    let done = log.lines().filter(is).count() as u64;
    assert!(done >= sessions, "{done} operations, {sessions} sessions");
}
