//! NATS servers and agents for tests.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::program::{self, Scratch, scratch, tollgate};

/// A limit for waits that end by themselves much earlier.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Returns whether nats-server is installed; CI has it.
pub(crate) fn has_nats() -> bool {
    let found = Command::new("nats-server").arg("--version").output().is_ok();
    if !found {
        assert!(std::env::var_os("CI").is_none(), "nats-server is missing");
        println!("skipped: nats-server is not installed (apt-get install nats-server)");
    }
    found
}

/// Waits until the function returns something.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A folder with two authorities, and certificates for each side.
pub(crate) fn certificates(name: &str) -> Scratch {
    let folder = scratch(name);
    fs::create_dir_all(&folder).unwrap();
    program::certificates(
        &folder,
        &["server", "agent", "controller"].map(|name| (name, "IP:127.0.0.1")),
    );
    folder
}

/// The subjects that each side may use, as docs/agent.md has them.
const AGENT: &str = "{ publish: 'tollgate.lab.controller.>', subscribe: 'tollgate.lab.agent.>' }";
const CONTROLLER: &str =
    "{ publish: 'tollgate.lab.agent.>', subscribe: 'tollgate.lab.controller.>' }";

/// A NATS server on free ports of loopback; killed when dropped.
pub(crate) struct NatsServer {
    pub(crate) child: Child,
    pub(crate) url: String,
    cluster: Option<String>,
}

impl NatsServer {
    /// Starts a server with TLS and these further lines, in a folder of certificates.
    pub(crate) fn start(folder: &Path, name: &str, more: &str) -> Self {
        let tls = format!(
            "tls {{ cert_file: '{folder}/server.pem', key_file: '{folder}/server.key', \
             ca_file: '{folder}/ca.pem', timeout: 30 {more}",
            folder = folder.display(),
        );
        Self::with(folder, name, "tls", &tls)
    }

    /// Starts a server without TLS and without users.
    pub(crate) fn plain(folder: &Path) -> Self {
        Self::with(folder, "plain", "nats", "")
    }

    fn with(folder: &Path, name: &str, scheme: &str, more: &str) -> Self {
        let config = format!(
            "server_name: {name}\nlisten: '127.0.0.1:-1'\nports_file_dir: '{folder}'\n\
             log_file: '{folder}/{name}.log'\n{more}",
            folder = folder.display(),
        );
        let path = folder.join(format!("{name}.conf"));
        fs::write(&path, config).unwrap();
        let mut command = Command::new("nats-server");
        command.arg("-c").arg(path).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let ports = folder.join(format!("nats-server_{}.ports", child.id()));
        let (url, cluster) = eventually("nats-server starts", || {
            let text = fs::read_to_string(&ports).ok()?;
            let ports: serde_json::Value = serde_json::from_str(&text).ok()?;
            let address =
                |kind: &str| Some(ports[kind][0].as_str()?.rsplit_once('/')?.1.to_owned());
            Some((format!("{scheme}://{}", address("nats")?), address("cluster")))
        });
        Self { child, url, cluster }
    }

    /// Returns a server with passwords, which are in the files `agent` and `controller`.
    pub(crate) fn with_passwords(folder: &Path) -> Self {
        let user = |name: &str, permissions: &str| {
            fs::write(folder.join(name), format!("{name}:secret-{name}\n")).unwrap();
            format!("{{ user: {name}, password: secret-{name}, permissions: {permissions} }}\n")
        };
        let users = user("agent", AGENT) + &user("controller", CONTROLLER);
        Self::start(folder, "alone", &format!("}}\nauthorization {{ users: [\n{users}] }}\n"))
    }

    /// Returns a cluster of three, which maps the names in certificates to users.
    pub(crate) fn cluster(folder: &Path) -> [Self; 3] {
        let user = |name: &str, permissions: &str| {
            format!("{{ user: 'CN={name}', permissions: {permissions} }}\n")
        };
        let users = user("agent", AGENT) + &user("controller", CONTROLLER);
        let start = |name: &str, routes: String| {
            let more = format!(
                ", verify_and_map: true }}\nauthorization {{ users: [\n{users}] }}\n\
                 cluster {{ name: lab, listen: '127.0.0.1:-1', routes: [{routes}] }}\n"
            );
            Self::start(folder, name, &more)
        };
        let first = start("a", String::new());
        let route = format!("'nats://{}'", first.cluster.as_ref().unwrap());
        let servers = [start("b", route.clone()), start("c", route)];
        let [second, third] = servers;
        let all = [first, second, third];
        // clients learn from a server the others that it knows when they connect
        for server in &all {
            eventually("the cluster is complete", || {
                let stream = TcpStream::connect(server.address()).unwrap();
                let mut info = String::new();
                BufReader::new(stream).read_line(&mut info).unwrap();
                all.iter().all(|other| info.contains(other.address())).then_some(())
            });
        }
        all
    }

    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Flags of a side that shows its password.
pub(crate) fn password(server: &NatsServer, folder: &Path, side: &str) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    let flags = [("--nats", server.url.clone()), ("--nats-ca", file("ca.pem"))];
    let flags = flags.into_iter().chain([("--nats-password", file(side))]);
    flags.flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}

/// Flags of a side that shows its certificate.
pub(crate) fn certificate(server: &NatsServer, folder: &Path, side: &str) -> Vec<String> {
    let file = |end: &str| folder.join(format!("{side}{end}")).display().to_string();
    let mut flags = password(server, folder, side);
    flags.truncate(4);
    flags.extend(["--nats-cert", &file(".pem"), "--nats-key", &file(".key")].map(str::to_owned));
    flags
}

/// A running agent; killed when dropped.
pub(crate) struct Agent {
    pub(crate) child: Child,
    pub(crate) name: String,
}

impl Agent {
    /// Starts an agent, and waits until it is connected.
    pub(crate) fn start(flags: &[String]) -> Self {
        Self::spawn(tollgate(), flags)
    }

    pub(crate) fn spawn(mut command: Command, flags: &[String]) -> Self {
        command.args(["agent", "--fleet", "lab"]).args(flags).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        let name = said.strip_prefix("tollgate: ").and_then(|said| said.split_once(" waits for"));
        let name = name.unwrap_or_else(|| panic!("{said}")).0.to_owned();
        thread::spawn(move || stderr.lines().count()); // a full pipe would stop it
        Self { child, name }
    }

    pub(crate) fn several(count: usize, flags: &[String]) -> Vec<Self> {
        (0..count).map(|_| Self::start(flags)).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
