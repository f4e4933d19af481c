//! The settings of a signer in a TOML file.

use core::net::SocketAddr;
use core::str::FromStr;
use core::time::Duration;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;

use crate::config::{
    Allowed, ClientSettings, Config, KeySettings, KeySource, Limits, RelaySettings, TlsSettings,
    TokenSettings, UnitKind, UpstreamSettings,
};
use crate::error::Error;
use crate::settings_file::{Named, Seconds, find, read};
use crate::token::KeyUri;

impl Config {
    /// Reads the settings from a TOML file. Paths in it start from the file's folder.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a setting is missing, unknown, or out of range. The message has
    /// the line. Keys and certificates are not read yet.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let file = read::<Site>(path)?;
        if file.settings.relay.is_none() && !file.settings.upstream.is_empty() {
            let why =
                "`upstream`: there is no [relay]: add it, with the certificate of this signer";
            return Err(file.text.refuse("upstream", why.to_owned()));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = file.settings.into_config(folder);
        config.and_then(|config| config.check().map(|()| config)).map_err(|error| match error {
            Error::Setting { setting, why } => {
                file.text.refuse(&setting, format!("`{setting}`: {why}"))
            }
            error => error,
        })
    }
}

/// The tables and keys of a file. The documentation of `tollgate signer` describes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Site {
    unix: Option<PathBuf>,
    unix_mode: Option<Named<Mode>>,
    audit_log: Option<PathBuf>,
    metrics: Option<SocketAddr>,
    workers: Option<usize>,
    unit: Option<Named<UnitKind>>,
    seccomp: Option<bool>,
    tls: Option<SiteTls>,
    relay: Option<SiteRelay>,
    #[serde(default)]
    upstream: Vec<SiteUpstream>,
    pkcs11: Option<SiteTokens>,
    #[serde(default)]
    key: Vec<SiteKey>,
    #[serde(default)]
    client: Vec<SiteClient>,
    limits: Option<SiteLimits>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteTls {
    address: SocketAddr,
    chain: PathBuf,
    key: PathBuf,
    client_roots: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteRelay {
    chain: PathBuf,
    key: PathBuf,
    roots: PathBuf,
    limit: Option<Seconds>,
    hedge_after: Option<Seconds>,
    hedge_percent_max: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteUpstream {
    name: String,
    address: SocketAddr,
    certificate: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteKey {
    name: String,
    file: Option<PathBuf>,
    fallback: Option<PathBuf>,
    pkcs11: Option<Named<KeyUri>>,
    #[serde(default)]
    raw: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteTokens {
    module: PathBuf,
    pin_file: Option<PathBuf>,
    sessions: Option<usize>,
    limit: Option<Seconds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteClient {
    name: String,
    uid: Option<u32>,
    certificate: Option<String>,
    keys: Vec<String>,
    allow: Option<Vec<Named<Allowed>>>,
    rate: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteLimits {
    connections_max: Option<usize>,
    requests_max: Option<usize>,
    frame_bytes_max: Option<usize>,
    handshake: Option<Seconds>,
    idle: Option<Seconds>,
    write: Option<Seconds>,
}

/// Permissions as octal digits.
struct Mode(u32);

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|digit| digit < b'8');
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
        mode.map(Self).ok_or("these are no permissions: give three octal digits, such as \"0660\"")
    }
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find("operation", name, &Self::ALL)
    }
}

impl FromStr for UnitKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find("unit", name, &Self::ALL)
    }
}

impl Site {
    fn into_config(self, folder: &Path) -> Result<Config, Error> {
        let keys = self.key.into_iter().map(|key| key.into_settings(folder));
        let allow = |allow: Option<Vec<Named<Allowed>>>| match allow {
            Some(allow) => allow.into_iter().map(|Named(it)| it).collect(),
            None => BTreeSet::from([Allowed::Sign]),
        };
        let clients = self.client.into_iter().map(|client| ClientSettings {
            name: client.name,
            uid: client.uid,
            certificate: client.certificate,
            keys: client.keys,
            allow: allow(client.allow),
            rate: client.rate,
        });
        Ok(Config {
            unix: self.unix.map(|path| folder.join(path)),
            unix_mode: self.unix_mode.map_or(0o660, |Named(Mode(mode))| mode),
            tls: self.tls.map(|tls| tls.into_settings(folder)),
            relay: self.relay.map(|relay| relay.into_settings(folder, self.upstream)),
            tokens: self.pkcs11.map(|tokens| tokens.into_settings(folder)),
            audit_log: self.audit_log.map(|path| folder.join(path)),
            metrics: self.metrics,
            workers: self.workers.unwrap_or_else(cores),
            unit: self.unit.map_or(UnitKind::Lanes, |Named(unit)| unit),
            seccomp: self.seccomp.unwrap_or(true),
            keys: keys.collect::<Result<_, _>>()?,
            clients: clients.collect(),
            limits: self.limits.map_or(Limits::default(), SiteLimits::into_limits),
        })
    }
}

impl SiteKey {
    fn into_settings(self, folder: &Path) -> Result<KeySettings, Error> {
        let Self { name, file, fallback, pkcs11, raw } = self;
        let fallback = fallback.map(|file| folder.join(file));
        let source = match (file, pkcs11, fallback) {
            (Some(file), None, fallback) => KeySource::File { file: folder.join(file), fallback },
            (None, Some(Named(uri)), None) => KeySource::Token(uri),
            _ => {
                let why = "give each key `file`, or `pkcs11` without `fallback`";
                return Err(Error::setting("key.name", format!("{name:?}: {why}")));
            }
        };
        Ok(KeySettings { name, source, raw })
    }
}

impl SiteTokens {
    fn into_settings(self, folder: &Path) -> TokenSettings {
        TokenSettings {
            module: folder.join(self.module),
            pin_file: self.pin_file.map(|file| folder.join(file)),
            sessions: self.sessions.unwrap_or(4),
            limit: self.limit.map_or(Duration::from_millis(500), |Seconds(time)| time),
        }
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

impl SiteTls {
    fn into_settings(self, folder: &Path) -> TlsSettings {
        TlsSettings {
            address: self.address,
            chain: folder.join(self.chain),
            key: folder.join(self.key),
            client_roots: folder.join(self.client_roots),
        }
    }
}

impl SiteRelay {
    fn into_settings(self, folder: &Path, upstreams: Vec<SiteUpstream>) -> RelaySettings {
        let upstreams = upstreams.into_iter().map(|SiteUpstream { name, address, certificate }| {
            UpstreamSettings { name, address, certificate }
        });
        RelaySettings {
            chain: folder.join(self.chain),
            key: folder.join(self.key),
            roots: folder.join(self.roots),
            limit: self.limit.map_or(Duration::from_millis(500), |Seconds(time)| time),
            hedge_after: self.hedge_after.map(|Seconds(time)| time),
            hedge_percent_max: self.hedge_percent_max.unwrap_or(5),
            upstreams: upstreams.collect(),
        }
    }
}

impl SiteLimits {
    fn into_limits(self) -> Limits {
        let base = Limits::default();
        Limits {
            connections_max: self.connections_max.unwrap_or(base.connections_max),
            requests_max: self.requests_max.unwrap_or(base.requests_max),
            frame_bytes_max: self.frame_bytes_max.unwrap_or(base.frame_bytes_max),
            handshake: self.handshake.map_or(base.handshake, |Seconds(time)| time),
            idle: self.idle.map_or(base.idle, |Seconds(time)| time),
            write: self.write.map_or(base.write, |Seconds(time)| time),
        }
    }
}
