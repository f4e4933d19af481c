//! The settings of a server in a TOML file.

use core::net::SocketAddr;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;

use crate::certificate::{Certificate, read};
use crate::config::{Config, Limits, Resumption};
use crate::error::{Error, Misuse};
use crate::kinds::Engine;
use crate::listener::Listen;
use crate::log::LogFormat;
use crate::proxy::{HealthCheck, Proxy};
use crate::sessions::{Redis, Sessions};
use crate::settings::{Named, Seconds, SettingsFile, read as read_settings};
use crate::spill::Spill;
use crate::suite::{Group, Protocol, Suite};

impl Config {
    /// Reads the settings from a TOML file. Paths in it start from the file's folder. Settings that
    /// are not in the file have the defaults of [`Config`], except for four: one worker for each
    /// core of this process, Tollgate's engine, HTTP/2, and the filter of system calls.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a setting is missing, unknown, or out of range. The message has
    /// the line. Certificates and keys are not read yet.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let SettingsFile { settings, text } = read_settings::<Site>(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config =
            settings.into_config(folder).map_err(|why| text.refuse("", why.to_string()))?;
        config.check().map_err(|why| text.refuse(&why.setting(), why.to_string()))?;
        Ok(config)
    }
}

/// The tables and keys of a file. The documentation of `tollgate serve` describes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Site {
    address: Named<Listen>,
    access_log: Option<PathBuf>,
    #[serde(default)]
    allow_rsa_kx: bool,
    certificate: Vec<Files>,
    client_roots: Option<PathBuf>,
    cores: Option<Vec<usize>>,
    engine: Option<Named<Engine>>,
    groups: Option<Vec<Named<Group>>>,
    http2: Option<bool>,
    #[serde(default)]
    kernel_tls: bool,
    limits: Option<SiteLimits>,
    log_format: Option<Named<LogFormat>>,
    metrics: Option<Named<Listen>>,
    protocols: Option<Vec<Named<Protocol>>>,
    proxy: Option<SiteProxy>,
    #[serde(default)]
    proxy_protocol: bool,
    redirect: Option<Named<Listen>>,
    resumption: Option<Named<Resumption>>,
    root: Option<PathBuf>,
    seccomp: Option<bool>,
    sessions: Option<SiteSessions>,
    #[serde(default)]
    shared_port: bool,
    spill: Option<SiteSpill>,
    #[serde(default)]
    suites: Vec<Named<Suite>>,
    ticket_keys: Option<PathBuf>,
    workers: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    chain: PathBuf,
    key: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteLimits {
    handshake: Option<Seconds>,
    idle: Option<Seconds>,
    request: Option<Seconds>,
    write: Option<Seconds>,
    request_bytes_max: Option<usize>,
    connections_max: Option<usize>,
    connections_per_address: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteProxy {
    backends: Vec<SocketAddr>,
    connect: Option<Seconds>,
    health: Option<SiteHealth>,
    idle: Option<Seconds>,
    idle_max: Option<usize>,
    response: Option<Seconds>,
    tunnel: Option<Seconds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteHealth {
    target: String,
    interval: Option<Seconds>,
    limit: Option<Seconds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteSessions {
    sessions_max: Option<usize>,
    redis: Option<SiteRedis>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteRedis {
    address: SocketAddr,
    limit: Option<Seconds>,
    password: Option<PathBuf>,
    user: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteSpill {
    to: Option<SocketAddr>,
    handshakes: Option<usize>,
    connections: Option<usize>,
    turn: Option<Seconds>,
    connect: Option<Seconds>,
    idle: Option<Seconds>,
    spilled_max: Option<usize>,
}

fn names<T>(values: Vec<Named<T>>) -> Vec<T> {
    values.into_iter().map(|Named(value)| value).collect()
}

fn or(seconds: Option<Seconds>, default: Duration) -> Duration {
    seconds.map_or(default, |Seconds(time)| time)
}

impl Site {
    fn into_config(self, folder: &Path) -> Result<Config, Error> {
        let base = Config::default();
        let mut certificates = self.certificate.into_iter().map(|Files { chain, key }| {
            Certificate::Files { chain: folder.join(chain), key: folder.join(key) }
        });
        let certificate = certificates.next().ok_or(Misuse::NoCertificate)?;
        let roots = self.client_roots.map(|path| {
            read("the trust anchors of clients", &folder.join(path)).map(|pem| pem.to_vec())
        });
        Ok(Config {
            address: self.address.0,
            shared_port: self.shared_port,
            workers: self.workers.unwrap_or_else(cores),
            pin: self.cores,
            engine: self.engine.map_or(Engine::Tollgate, |Named(engine)| engine),
            certificate,
            more_certificates: certificates.collect(),
            client_roots: roots.transpose()?,
            protocols: self.protocols.map_or(base.protocols, names),
            suites: names(self.suites),
            groups: self.groups.map_or(base.groups, names),
            http2: self.http2.unwrap_or(true),
            allow_rsa_kx: self.allow_rsa_kx,
            proxy_protocol: self.proxy_protocol,
            resumption: self.resumption.map_or(base.resumption, |Named(resumption)| resumption),
            sessions: self.sessions.map_or(base.sessions, |it| it.into_sessions(folder)),
            ticket_keys: self.ticket_keys.map(|path| folder.join(path)),
            root: self.root.map(|path| folder.join(path)),
            kernel_tls: self.kernel_tls,
            proxy: self.proxy.map(SiteProxy::into_proxy),
            access_log: self.access_log.map(|path| folder.join(path)),
            log_format: self.log_format.map_or(base.log_format, |Named(format)| format),
            metrics: self.metrics.map(|Named(listen)| listen),
            redirect: self.redirect.map(|Named(listen)| listen),
            seccomp: self.seccomp.unwrap_or(true),
            spill: self.spill.map(SiteSpill::into_spill),
            limits: self.limits.map_or(base.limits, SiteLimits::into_limits),
            ..base
        })
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

impl SiteLimits {
    fn into_limits(self) -> Limits {
        let base = Limits::default();
        Limits {
            handshake: or(self.handshake, base.handshake),
            idle: or(self.idle, base.idle),
            request: or(self.request, base.request),
            write: or(self.write, base.write),
            request_bytes_max: self.request_bytes_max.unwrap_or(base.request_bytes_max),
            connections_max: self.connections_max.unwrap_or(base.connections_max),
            connections_per_address: self.connections_per_address,
        }
    }
}

impl SiteSessions {
    fn into_sessions(self, folder: &Path) -> Sessions {
        let redis = |redis: SiteRedis| {
            let base = Redis::at(redis.address);
            Redis {
                user: redis.user,
                password: redis.password.map(|path| folder.join(path)),
                limit: or(redis.limit, base.limit),
                ..base
            }
        };
        let sessions_max = self.sessions_max.unwrap_or(Sessions::default().sessions_max);
        Sessions { sessions_max, redis: self.redis.map(redis) }
    }
}

impl SiteSpill {
    fn into_spill(self) -> Spill {
        let base = Spill::default();
        Spill {
            to: self.to,
            handshakes: self.handshakes,
            connections: self.connections,
            turn: self.turn.map(|Seconds(time)| time),
            connect: or(self.connect, base.connect),
            idle: or(self.idle, base.idle),
            spilled_max: self.spilled_max.unwrap_or(base.spilled_max),
        }
    }
}

impl SiteProxy {
    fn into_proxy(self) -> Proxy {
        let base = Proxy::to(self.backends);
        let health = |health: SiteHealth| HealthCheck {
            target: health.target,
            interval: or(health.interval, Duration::from_secs(2)),
            limit: or(health.limit, Duration::from_secs(1)),
        };
        Proxy {
            connect: or(self.connect, base.connect),
            health: self.health.map(health),
            idle: or(self.idle, base.idle),
            idle_max: self.idle_max.unwrap_or(base.idle_max),
            response: or(self.response, base.response),
            tunnel: or(self.tunnel, base.tunnel),
            ..base
        }
    }
}
