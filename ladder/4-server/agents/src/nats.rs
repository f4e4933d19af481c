//! The connection of agents and controllers to NATS.
//!
//! | subject | from | to |
//! |---|---|---|
//! | `tollgate.FLEET.agent.all.CONTROLLER` | a controller | all agents of the fleet |
//! | `tollgate.FLEET.agent.AGENT.CONTROLLER` | a controller | an agent |
//! | `tollgate.FLEET.controller.CONTROLLER.>` | an agent | the controller that asked |

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::fs;
use std::path::PathBuf;

use async_nats::{Client, ConnectOptions, Event, ServerAddr, ServerError};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, channel};

/// A NATS server that does not answer for two or three of these intervals is left.
const PING_INTERVAL: Duration = Duration::from_secs(1);

/// Longest wait for a connection to one server, which may be busy with many others.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// The name of an agent in requests to all.
pub(crate) const ALL: &str = "all";

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
            .connection_timeout(CONNECT_MAX);
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
    /// The subject of messages to a member of this role from one of the other.
    pub(crate) fn subject(self, fleet: &FleetName, to: &str, from: &str) -> String {
        let role = match self {
            Self::Agent => "agent",
            Self::Controller => "controller",
        };
        format!("tollgate.{fleet}.{role}.{to}.{from}")
    }
}

/// A connection to NATS as a member of a fleet.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) name: String,
    /// The reason why the server does not allow what the member needs.
    pub(crate) failure: Receiver<String>,
    pub(crate) runtime: Runtime,
}

impl Connection {
    pub(crate) fn new(nats: &Nats, fleet: &FleetName, role: Role) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("no connection to NATS: {error}");
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().map_err(failed)?;
        let name = match role {
            Role::Agent => format!("{}-{}", host_name(), random::<3>()?),
            Role::Controller => random::<16>()?,
        };
        let (tell, failure) = channel(1);
        let options = nats.options()?.custom_inbox_prefix(role.subject(fleet, &name, "answers"));
        let options = options.event_callback(move |event| {
            if let Event::ServerError(ServerError::Other(why)) = event
                && why.contains("ermissions")
            {
                let why = format!("the NATS server answers {why:?}: allow it there");
                let _ = tell.try_send(why); // one is enough
            }
            core::future::ready(())
        });
        let servers: Vec<ServerAddr> = nats.servers.iter().map(|server| server.0.clone()).collect();
        let client = runtime.block_on(options.connect(servers)).map_err(|error| {
            let all = nats.servers.iter().map(NatsServer::to_string).collect::<Vec<_>>();
            format!(
                "no connection to NATS at {} ({error}): check its address, certificates and \
                 credentials",
                all.join(", ")
            )
        })?;
        Ok(Self { client, name, failure, runtime })
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
