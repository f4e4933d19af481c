//! The configuration of a server and its load, as values that changes edit.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// A server's configuration, and the load for it. Absent fields have their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setup {
    /// An installed server (`nginx`, `haproxy`, `apache`, `lighttpd`), the embedded one
    /// (`openssl`), `command`, or the URL of a server that runs.
    pub server: String,
    /// The shell command of the server `command`.
    pub command: Option<String>,
    /// The access log of the server at a URL.
    pub log: Option<PathBuf>,
    /// The processes of the server at a URL.
    pub pid: Vec<u32>,
    /// The number of the server's cores.
    pub cores: Option<u32>,
    /// The type of the server's key, such as `rsa-3072`.
    pub key: String,
    /// `true` if the server signs with the provider, or with the engine.
    pub provider: bool,
    /// Settings of the provider by name.
    pub settings: BTreeMap<String, String>,
    /// `true` if the server pauses handshakes while the provider works.
    #[serde(rename = "async")]
    pub asynchronous: bool,
    /// `true` if the server passes requests on to nginx on the client's core.
    pub backend: bool,
    /// How the server keeps sessions, if not as `resume_by` needs it: `ticket` or `session-id`.
    pub sessions: Option<String>,
    /// The place of the server's files.
    pub storage: Storage,
    /// Directives of the configuration file by `CONTEXT.NAME`.
    pub directives: BTreeMap<String, String>,
    /// Variables of the server's environment.
    pub environment: BTreeMap<String, String>,
    /// A shell command that loads the server in place of the load generator, once for each
    /// connection.
    pub client: Option<String>,
    /// The number of connections in flight.
    pub connections: Option<u32>,
    /// The bytes of a response.
    pub bytes: Option<u64>,
    /// The number of requests on a connection.
    pub requests: u32,
    /// The share of connections without TLS.
    pub plain: f64,
    /// Version and key exchange, such as `tls12-rsa`.
    pub protocol: String,
    /// The suite of the sessions.
    pub suite: Option<String>,
    /// The group of the key exchange.
    pub group: Option<String>,
    /// The share of sessions that resume an earlier one.
    pub resumed: f64,
    /// The mechanism of resumption.
    pub resume_by: Option<String>,
    /// The signatures that the client verifies: `never`, `always`, or one in N.
    pub verify: String,
    /// `true` if the client has one key share for all handshakes.
    pub reuse_key_share: bool,
    /// The largest TCP segment of the connections.
    pub segment_bytes: Option<u32>,
    /// What the machine allows, which no change edits.
    #[serde(skip)]
    pub host: Host,
}

/// The place of a server's files and logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// The folder for temporary files.
    #[default]
    Any,
    /// A folder on a disk.
    Disk,
    /// A folder in memory.
    Memory,
}

/// What a machine allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The number of the server's cores.
    pub cores: usize,
    /// `true` if the kernel can encrypt records.
    pub kernel_tls: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            server: "nginx".to_owned(),
            command: None,
            log: None,
            pid: Vec::new(),
            cores: None,
            key: "rsa-2048".to_owned(),
            provider: false,
            settings: BTreeMap::new(),
            asynchronous: false,
            backend: false,
            sessions: None,
            storage: Storage::Any,
            directives: BTreeMap::new(),
            environment: BTreeMap::new(),
            client: None,
            connections: None,
            bytes: None,
            requests: 1,
            plain: 0.0,
            protocol: "tls13".to_owned(),
            suite: None,
            group: None,
            resumed: 0.0,
            resume_by: None,
            verify: "never".to_owned(),
            reuse_key_share: false,
            segment_bytes: None,
            host: Host::default(),
        }
    }
}

impl Setup {
    /// Returns the setup after a change: a table of fields. Entries of `directives`, `environment`
    /// and `settings` are added, or replace those of the same name.
    ///
    /// # Errors
    ///
    /// The change has an unknown field, or a value of the wrong type.
    pub fn edited(&self, edit: &Table) -> Result<Self, String> {
        let wrong = |error: toml::de::Error| error.message().replace('\n', " ");
        let mut fields = Table::try_from(self).map_err(|error| error.to_string())?;
        for (name, value) in edit {
            match (fields.get_mut(name), value) {
                (Some(Value::Table(known)), Value::Table(more)) => known.extend(more.clone()),
                _ => _ = fields.insert(name.clone(), value.clone()),
            }
        }
        let next: Self = fields.try_into().map_err(wrong)?;
        Ok(Self { host: self.host, ..next })
    }
}
