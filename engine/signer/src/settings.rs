//! The settings of a signer in a TOML file.

use core::net::SocketAddr;
use core::str::FromStr;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;

use crate::config::{Allowed, ClientSettings, Config, KeySettings, Limits, TlsSettings, UnitKind};
use crate::error::Error;
use crate::settings_file::{Named, Seconds, find, read};

impl Config {
    /// Reads the settings from a TOML file. Paths in it start from the file's folder.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a setting is missing, unknown, or out of range. The message has
    /// the line. Keys and certificates are not read yet.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let file = read::<Site>(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = file.settings.into_config(folder);
        config.check().map(|()| config).map_err(|error| match error {
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
struct SiteKey {
    name: String,
    file: PathBuf,
    #[serde(default)]
    raw: bool,
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
    fn into_config(self, folder: &Path) -> Config {
        let keys = self.key.into_iter().map(|SiteKey { name, file, raw }| {
            let file = folder.join(file);
            KeySettings { name, file, raw }
        });
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
        Config {
            unix: self.unix.map(|path| folder.join(path)),
            unix_mode: self.unix_mode.map_or(0o660, |Named(Mode(mode))| mode),
            tls: self.tls.map(|tls| tls.into_settings(folder)),
            audit_log: self.audit_log.map(|path| folder.join(path)),
            metrics: self.metrics,
            workers: self.workers.unwrap_or_else(cores),
            unit: self.unit.map_or(UnitKind::Lanes, |Named(unit)| unit),
            seccomp: self.seccomp.unwrap_or(true),
            keys: keys.collect(),
            clients: clients.collect(),
            limits: self.limits.map_or(Limits::default(), SiteLimits::into_limits),
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
