//! Agents and controllers that meet on NATS: subjects, enrolment, and the connection.
//!
//! | subject | from | to |
//! |---|---|---|
//! | `tollgate.FLEET.agent.all.CONTROLLER` | a controller that wants agents | all agents of the fleet |
//! | `tollgate.FLEET.controller.CONTROLLER.AGENT` | an agent | a controller |
//! | `tollgate.FLEET.agent.AGENT.CONTROLLER` | a controller | an agent |
//!
//! A controller calls until enough agents have answered. It accepts the first ones, and has a
//! stream of bytes with each. An agent has one controller at a time.

mod line;
mod stream;

use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, ServerAddr, ServerError, Subject};
use futures_util::StreamExt as _;
use futures_util::stream::{SelectAll, select_all};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{interval, sleep, timeout};

use self::line::{Kind, Message};
use self::stream::{LINGER, Stream};
pub(crate) use self::stream::{Reader, Writer};

/// A NATS server that does not answer for two or three of these intervals is left.
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// Longest wait for a connection to one server, which may be busy with many others.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Interval of a controller's calls for agents.
const CALL_INTERVAL: Duration = Duration::from_millis(200);

/// Messages that wait for the connection, while it is made again: those of all agents in 10 s.
const WAITING_MAX: usize = 1 << 14;

/// The name of an agent in calls to all.
const ALL: &str = "all";

/// The address of a NATS server: `tls://HOST:PORT`, or `nats://HOST:PORT` on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsServer(ServerAddr);

impl FromStr for NatsServer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = "give tls://HOST:PORT, or nats://127.0.0.1:PORT for a server without TLS";
        if text.split_once('[').is_some_and(|(_, ip)| ip.contains('%')) {
            return Err("an address of NATS has no zone: give another address of the server");
        }
        let (scheme, _) = text.split_once("://").ok_or(wanted)?;
        let address: ServerAddr = text.parse().map_err(|_| wanted)?;
        if address.has_user_pass() || address.password().is_some() {
            return Err("other users can read it there: give user and password in a file");
        }
        let host = address.host();
        let is_here = host.parse().is_ok_and(|ip: core::net::IpAddr| ip.is_loopback());
        match scheme {
            _ if host.is_empty() => Err(wanted),
            "tls" => Ok(Self(address)),
            "nats" if is_here || matches!(host, "localhost" | "localhost.") => Ok(Self(address)),
            "nats" => Err("without TLS it must be a loopback address: give tls://HOST:PORT"),
            _ => Err(wanted),
        }
    }
}

impl fmt::Display for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_url_str())
    }
}

/// A name for agents that serve the same controllers: 1 to 64 letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetName(String);

impl FromStr for FleetName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (1..=64).contains(&text.len()) && token(text) == text {
            true => Ok(Self(text.to_owned())),
            false => Err("give a name of 1 to 64 letters, digits, - and _"),
        }
    }
}

impl fmt::Display for FleetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Replaces the characters that cannot be in a token of a subject.
fn token(text: &str) -> String {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.chars().map(|c| if is_fit(c) { c } else { '_' }).collect()
}

/// The connection to NATS, and its credentials.
#[derive(Clone, Debug)]
pub struct Nats {
    /// Servers of one cluster; others are learned from them.
    pub servers: Vec<NatsServer>,
    /// Certificates of the authorities to trust, in PEM, instead of the system's.
    pub authorities: Option<PathBuf>,
    /// Certificate chain and private key of this client, in PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// A file with one line, `USER:PASSWORD`.
    pub password: Option<PathBuf>,
}

impl Nats {
    fn options(&self) -> Result<ConnectOptions, String> {
        let mut options = ConnectOptions::new()
            .name("tollgate")
            .ping_interval(PING_INTERVAL)
            .connection_timeout(CONNECT_MAX)
            .client_capacity(WAITING_MAX);
        options = match self.servers.iter().any(|server| server.0.tls_required()) {
            true => options.require_tls(true),
            // only loopback addresses go without TLS, and others may be learned
            false => options.ignore_discovered_servers(),
        };
        if let Some(path) = &self.authorities {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((chain, key)) = &self.certificate {
            options = options.add_client_certificate(chain.clone(), key.clone());
        }
        if let Some(path) = &self.password {
            let text = fs::read_to_string(path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            let (user, password) = text.trim_end().split_once(':').ok_or_else(|| {
                format!("{}: the file must have one line, USER:PASSWORD", path.display())
            })?;
            options = options.user_and_password(user.to_owned(), password.to_owned());
        }
        Ok(options)
    }
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Agent,
    Controller,
}

impl Role {
    const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Controller => "controller",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Agent => Self::Controller,
            Self::Controller => Self::Agent,
        }
    }
}

/// A connection to NATS, with streams to peers of the other role.
pub(crate) struct Bus {
    node: Arc<Node>,
    /// New streams, or the reason why no more come.
    news: Receiver<Result<Opened, String>>,
    runtime: Runtime,
}

/// A stream, with the name of its peer.
pub(crate) struct Opened {
    pub(crate) peer: String,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

struct Node {
    client: Client,
    fleet: FleetName,
    role: Role,
    name: String,
    /// The inboxes of the streams.
    peers: Mutex<HashMap<String, Sender<Message>>>,
    /// The number of peers to accept.
    wanted: AtomicUsize,
}

impl Bus {
    /// Connects to NATS as a member of a fleet.
    pub(crate) fn connect(nats: &Nats, fleet: &FleetName, role: Role) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("no connection to NATS: {error}");
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().map_err(failed)?;
        let name = match role {
            Role::Agent => format!("{}-{}", host_name(), random::<3>()?),
            Role::Controller => random::<16>()?,
        };
        let (tell, news) = channel(crate::AGENTS_MAX + 1);
        let options = nats.options()?.event_callback({
            let tell = tell.clone();
            move |event| {
                if let Event::ServerError(ServerError::Other(why)) = event
                    && why.contains("ermissions")
                {
                    let why = format!("the NATS server answers {why:?}: allow it there");
                    let _ = tell.try_send(Err(why)); // one is enough
                }
                core::future::ready(())
            }
        });
        let servers: Vec<ServerAddr> = nats.servers.iter().map(|server| server.0.clone()).collect();
        let node = runtime.block_on(async {
            let client = options.connect(servers).await.map_err(|error| {
                let all = nats.servers.iter().map(NatsServer::to_string).collect::<Vec<_>>();
                format!(
                    "no connection to NATS at {} ({error}): check its address, certificates and \
                     credentials",
                    all.join(", ")
                )
            })?;
            let (peers, wanted) = (Mutex::default(), AtomicUsize::new(0));
            let fleet = fleet.clone();
            let node = Arc::new(Node { client, fleet, role, name, peers, wanted });
            let mut inboxes = Vec::new();
            let all = (role == Role::Agent).then_some(ALL);
            for name in [node.name.as_str()].into_iter().chain(all) {
                let subject = node.subject(role, name, "*");
                let inbox = node.client.subscribe(subject).await;
                inboxes.push(inbox.map_err(|error| error.to_string())?);
            }
            tokio::spawn(Arc::clone(&node).deliver(select_all(inboxes), tell));
            Ok::<_, String>(node)
        })?;
        Ok(Self { node, news, runtime })
    }

    pub(crate) fn name(&self) -> &str {
        &self.node.name
    }

    /// Waits for the next controller.
    pub(crate) fn next(&mut self) -> Result<Opened, String> {
        self.node.wanted.store(1, Ordering::Relaxed);
        let next = self.news.blocking_recv();
        next.unwrap_or_else(|| Err("the connection to NATS is closed".to_owned()))
    }

    /// Calls for agents until as many have answered. `stop` is called every few milliseconds; `None`
    /// if it returned true.
    pub(crate) fn recruit(
        &mut self,
        count: usize,
        patience: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Opened>>, String> {
        let Self { node, news, runtime } = self;
        node.wanted.store(count, Ordering::Relaxed);
        let end = Instant::now() + patience;
        let mut found = Vec::new();
        runtime.block_on(async {
            let mut call = interval(CALL_INTERVAL);
            let mut look = interval(Duration::from_millis(10));
            while found.len() < count {
                tokio::select! {
                    next = news.recv() => match next {
                        Some(next) => found.push(next?),
                        None => return Err("the connection to NATS is closed".to_owned()),
                    },
                    _ = call.tick() => node.say(ALL, Kind::Alive).await,
                    _ = look.tick() => {
                        if stop() {
                            return Ok(None);
                        }
                        if Instant::now() > end {
                            return Err(format!(
                                "{} of {count} agents answered within {} s: start 'tollgate agent \
                                 --nats ... --fleet {}' on more machines; an agent has one \
                                 controller at a time",
                                found.len(), patience.as_secs(), node.fleet,
                            ));
                        }
                    }
                }
            }
            Ok(Some(found))
        })
    }

    /// Returns a handle on the state of the connection.
    pub(crate) fn connection(&self) -> Connection {
        Connection(self.node.client.clone())
    }
}

impl Drop for Bus {
    /// Waits until the peers know the ends of their streams.
    fn drop(&mut self) {
        let node = &self.node;
        self.runtime.block_on(async {
            let end = Instant::now() + LINGER;
            while !node.peers().is_empty() && Instant::now() < end {
                sleep(Duration::from_millis(5)).await;
            }
            let _ = timeout(LINGER, node.client.flush()).await; // the server may be gone
        });
    }
}

/// The connection of this process to NATS.
pub(crate) struct Connection(Client);

impl Connection {
    pub(crate) fn is_lost(&self) -> bool {
        self.0.connection_state() != State::Connected
    }
}

impl Node {
    /// The subject of messages from one node to another of this role.
    fn subject(&self, role: Role, to: &str, from: &str) -> Subject {
        format!("tollgate.{}.{}.{to}.{from}", self.fleet, role.word()).into()
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<String, Sender<Message>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message outside any stream.
    async fn say(&self, to: &str, kind: Kind) {
        let subject = self.subject(self.role.other(), to, &self.name);
        let _ = self.client.publish(subject, Message::first(kind)).await; // repeated or not missed
    }

    /// Hands the messages to the streams, and accepts peers while some are wanted.
    async fn deliver(
        self: Arc<Self>,
        mut inbox: SelectAll<async_nats::Subscriber>,
        news: Sender<Result<Opened, String>>,
    ) {
        while let Some(message) = inbox.next().await {
            let Some((rest, peer)) = message.subject.rsplit_once('.') else { continue };
            let is_call = rest.rsplit_once('.').is_some_and(|(_, to)| to == ALL);
            let Some(message) = Message::parse(&message.payload) else { continue };
            let inbox = self.peers().get(peer).cloned();
            if let Some(inbox) = inbox {
                let _ = inbox.try_send(message); // without room it is asked for again
            } else if is_call {
                if self.wanted.load(Ordering::Relaxed) > 0 {
                    self.say(peer, Kind::Alive).await;
                }
            } else if message.is_opening() && self.is_wanted() {
                let opened = self.open(peer.to_owned());
                let _ = news.try_send(Ok(opened)); // there is room for all that are wanted
            } else if message.kind != Kind::Reset {
                self.say(peer, Kind::Reset).await;
            }
        }
    }

    fn is_wanted(&self) -> bool {
        let less = |wanted: usize| wanted.checked_sub(1);
        self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn open(self: &Arc<Self>, peer: String) -> Opened {
        let to = self.subject(self.role.other(), &peer, &self.name);
        let (stream, reader, writer, inbox) = Stream::new(self.client.clone(), to);
        self.peers().insert(peer.clone(), inbox);
        let (node, name) = (Arc::clone(self), peer.clone());
        tokio::spawn(async move {
            stream.run().await;
            node.peers().remove(&name);
        });
        Opened { peer, reader, writer }
    }
}

fn host_name() -> String {
    token(&rustix::system::uname().nodename().to_string_lossy())
}

/// Returns random bytes in hexadecimal.
fn random<const BYTES: usize>() -> Result<String, String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_without_tls_are_on_this_machine() {
        for good in [
            "tls://nats1:4222",
            "tls://10.0.0.1",
            "nats://127.0.0.1:4222",
            "nats://[::1]",
            "nats://localhost.",
        ] {
            let server: NatsServer = good.parse().unwrap();
            assert_eq!(server.to_string(), good);
        }
        for bad in [
            "",
            "nats1:4222",
            "nats://nats1:4222",
            "tls://[fe80::1%eth0]:4222",
            "nats://10.0.0.1",
            "tls://",
            "wss://nats1",
            "tls://me:secret@nats1",
            "tls://:secret@nats1",
        ] {
            assert!(bad.parse::<NatsServer>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_of_fleets_are_tokens_of_subjects() {
        for good in ["lab", "lab-2_A", &"a".repeat(64)] {
            assert_eq!(good.parse::<FleetName>().unwrap().to_string(), good);
        }
        for bad in ["", "a.b", "*", ">", "a b", "é", &"a".repeat(65)] {
            assert!(bad.parse::<FleetName>().is_err(), "{bad:?}");
        }
    }
}
