//! The options of `tollgate tune`.

use std::path::PathBuf;

use clap::Args;
use tollgate_load::Protocol;
use tollgate_server::{Engine, KeyKind};
use tollgate_tune::Kind;

use crate::options::values::{Written, defaults, one_of};
use crate::options::{Bench, Mode, ServerKind};
use crate::verbs::bench::options::{LOAD, Load, SERVERS, run_seconds};

/// The servers that have candidates.
const TUNED: [(&str, &str, ServerKind); 5] = [
    ("nginx", "Installed nginx, from Debian's default configuration", ServerKind::Nginx),
    ("haproxy", "Installed HAProxy, from Debian's default configuration", ServerKind::Haproxy),
    ("apache", "Installed Apache", ServerKind::Apache),
    ("lighttpd", "Installed lighttpd", ServerKind::Lighttpd),
    ("openssl", "The embedded server on OpenSSL, one worker on each core", ServerKind::Openssl),
];

const KINDS: [(&str, &str, Kind); 2] = [
    ("security", "Shorter keys, other suites", Kind::Security),
    ("clients", "What clients must be able to do, or must do", Kind::Clients),
];

#[derive(Args, Clone, Debug)]
pub(crate) struct Tune {
    /// Kinds of changes to try although clients or attackers notice them, separated by commas;
    /// without this option their expected gains are only shown
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = one_of(KINDS))]
    pub(crate) allow: Vec<Kind>,

    /// More candidates, in TOML (see docs/tune.md); one with the word of a built-in candidate takes
    /// its place
    #[arg(long, value_name = "FILE")]
    pub(crate) candidates: Option<PathBuf>,

    /// Only profile the server and show the expected gains; change nothing
    #[arg(long)]
    pub(crate) plan: bool,

    #[command(flatten)]
    pub(crate) written: Written,

    #[command(flatten)]
    pub(crate) load: Load,

    /// Seconds of the measured part of each run; before it, a warm-up runs for half this time
    #[arg(short = 'z', long, value_name = "S", default_value = "1", value_parser = run_seconds)]
    #[arg(help_heading = LOAD)]
    pub(crate) seconds: f64,

    /// Rounds of a step, in each of which the server runs without the change and with it; an even
    /// number
    #[arg(long, value_name = "N", default_value = "6", help_heading = LOAD)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) rounds: u32,

    /// Bytes of the body that each request transfers
    #[arg(long, value_name = "N", default_value = "14336", help_heading = LOAD)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=tollgate_server::BODY_BYTES_MAX))]
    pub(crate) bytes: u64,

    /// Server to tune
    #[arg(long, value_name = "KIND", default_value = "nginx", value_parser = one_of(TUNED))]
    #[arg(help_heading = SERVERS)]
    pub(crate) server: ServerKind,

    /// Shell command that starts your own server instead, with {port} for its port on 127.0.0.1,
    /// {log} for its access log (formats: docs/bench-url.md), and {folder} for a folder with
    /// chain.pem, key.pem and the bodies in www/bytes; it must answer GET /bytes/N
    #[arg(long, value_name = "CMD", conflicts_with = "server", help_heading = SERVERS)]
    pub(crate) command: Option<String>,

    /// Type of the server's key at the start: rsa-2048, rsa-3072, rsa-4096 or ecdsa-p256
    #[arg(id = "key-type", long, value_name = "TYPE", default_value = "rsa-2048")]
    #[arg(help_heading = SERVERS)]
    pub(crate) key: KeyKind,

    /// Logical cores of the server [default: the last, if there are two or more]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = SERVERS)]
    pub(crate) server_cores: Vec<u32>,

    /// Provider module [default: the one built with this program]
    #[arg(long, value_name = "FILE", help_heading = SERVERS)]
    pub(crate) module: Option<PathBuf>,
}

impl Tune {
    /// Returns the load, as a request of `tollgate bench`.
    pub(super) fn bench(&self) -> Bench {
        Bench {
            mode: Mode::Profile,
            key: vec![self.key],
            protocol: vec![Protocol::Tls13],
            bytes: self.bytes,
            load: self.load.clone(),
            seconds: self.seconds,
            rounds: self.rounds,
            server: vec![self.server],
            server_cores: self.server_cores.clone(),
            engine: vec![Engine::OpenSsl], // one server, so any number of rounds is allowed
            ..defaults()
        }
    }
}
