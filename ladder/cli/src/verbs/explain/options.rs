//! The options of `tollgate explain`, and the sessions that they select.

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;
use tollgate_load::Protocol;
use tollgate_probe::Url;
use tollgate_server::{Engine, KeyKind};
use tollgate_session::{Handshake, SHORT_BYTES, Session, SessionPlan};
use tollgate_tls_client::{Group, Suite};

use crate::error::CliError;
use crate::options::ServerKind;
use crate::options::values::{Written, seconds};
use crate::verbs::bench::options::{protocol, signs_with_p256};

/// The word for every suite that the server speaks.
const ALL: &str = "all";

#[derive(Args, Clone, Debug)]
pub(crate) struct Explain {
    /// Server on this machine whose processes are sampled under load
    #[arg(value_name = "URL", requires_all = ["pid", "log"], conflicts_with = "server")]
    pub(crate) target: Option<Url>,

    /// Sizes of the response in bytes, separated by commas [default: 14336; without any list also
    /// four sizes from 0 to 143360, only for RSA-2048]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "target")]
    pub(crate) bytes: Vec<u64>,

    /// Number of connections in flight, from 1 to 1024; Tollgate runs the operations of several as
    /// one batch
    #[arg(short = 'c', long, value_name = "N", default_value = "16")]
    pub(crate) connections: u32,

    /// Groups of the key agreement by their IANA names, separated by commas, such as secp384r1 and
    /// X25519MLKEM768 [default: with tls13 X25519MLKEM768, or x25519 if OpenSSL is older than 3.5;
    /// otherwise that of --protocol]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) group: Vec<String>,

    /// Handshakes, separated by commas: full; ticket, which resumes a session by a ticket;
    /// session-id, which resumes a session from the server's cache (TLS 1.2) [default: full]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = handshake)]
    pub(crate) handshake: Vec<Handshake>,

    /// Types of the server's key, separated by commas: rsa-1024 (insecure, as in old papers),
    /// rsa-2048, rsa-3072, rsa-4096, ecdsa-p256, ecdsa-p384, ed25519 [default:
    /// ecdsa-p256,rsa-2048]
    #[arg(id = "key-type", long, value_name = "LIST", value_delimiter = ',', value_parser = key)]
    #[arg(conflicts_with = "target")]
    pub(crate) key: Vec<KeyKind>,

    /// Access log of the server at the URL, which confirms its sessions
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) log: Option<PathBuf>,

    /// Process IDs of the server at the URL, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "target")]
    pub(crate) pid: Vec<u32>,

    /// Protocol versions and key exchanges, separated by commas: tls12-rsa, tls12-x25519,
    /// tls12-p256, tls13 [default: tls13; for a URL, the best that the server supports]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    /// Seconds for the prediction; each of the eight runs of sampled servers takes a tenth of it
    #[arg(short = 'z', long, value_name = "S", default_value = "25", value_parser = seconds)]
    pub(crate) seconds: f64,

    /// Server to start and to sample with perf under load, without Tollgate and with it: openssl
    /// (embedded), nginx, haproxy, apache or lighttpd [default: predict the embedded one only]
    #[arg(long, value_name = "KIND")]
    pub(crate) server: Option<ServerKind>,

    /// Cipher suites by their IANA names, separated by commas, instead of --protocol; "all" takes
    /// every suite that OpenSSL speaks [default: AES-128-GCM]
    #[arg(long, value_name = "LIST", value_delimiter = ',', alias = "suite")]
    #[arg(conflicts_with = "protocol")]
    pub(crate) suites: Vec<String>,

    #[command(flatten)]
    pub(crate) written: Written,
}

impl Explain {
    /// Returns whether a server runs, besides the prediction.
    pub(super) const fn is_live(&self) -> bool {
        self.target.is_some() || self.server.is_some()
    }

    /// Returns whether sessions can have the default group. The server at a URL has groups of its
    /// own.
    pub(super) const fn has_default_group(&self) -> bool {
        self.group.is_empty() && self.target.is_none()
    }

    /// The sessions to predict: every combination of the lists that exists. Without a named group,
    /// TLS 1.3 has the default one.
    pub(super) fn plan(&self, default_group: Option<Group>) -> Result<SessionPlan, CliError> {
        let total = Duration::from_secs_f64(self.seconds);
        // Installed servers do not pause handshakes.
        let pauses = self.server.is_none_or(|server| server.stock().is_none());
        let Self { key, protocol, suites, group, bytes, handshake, connections, .. } = self;
        let lists = [key.len(), protocol.len(), suites.len(), group.len(), bytes.len()];
        if lists == [0; 5] && handshake.is_empty() && !self.is_live() {
            return Ok(SessionPlan { connections: *connections, ..ladder(default_group, total) });
        }
        let suites = self.named_suites()?;
        let offers: Vec<(Protocol, Option<Suite>)> = match (&*suites, &**protocol) {
            ([], []) => vec![(Protocol::Tls13, None)],
            ([], protocols) => protocols.iter().map(|&protocol| (protocol, None)).collect(),
            // The suite determines version and key exchange.
            (suites, _) => suites.iter().map(|&suite| (Protocol::Tls13, Some(suite))).collect(),
        };
        let keys = if key.is_empty() { &SessionPlan::KEYS } else { &**key };
        let handshakes = if handshake.is_empty() { &[Handshake::Full] } else { &**handshake };
        let sizes = if bytes.is_empty() { &[SHORT_BYTES] } else { &**bytes };
        let groups = self.named_groups()?;
        let mut sessions = Vec::new();
        for &key in keys {
            for &(protocol, suite) in &offers {
                for &group in &groups {
                    for &handshake in handshakes {
                        for &engine in engines(key) {
                            let of = |&bytes| {
                                let usual = Session::new(key, protocol, engine, bytes);
                                let usual = Session { suite, handshake, ..usual };
                                let default = default_group.filter(|_| usual.is_tls13());
                                Session { group: group.or(default), ..usual }
                            };
                            sessions.extend(sizes.iter().map(of).filter(Session::is_possible));
                        }
                    }
                }
            }
        }
        if sessions.is_empty() {
            bail!(
                "no session has a value of each list: give --key-type, --protocol, --suites, \
                 --group and --handshake that fit each other"
            );
        }
        let plan =
            SessionPlan { connections: *connections, pauses, ..SessionPlan::new(sessions, total) };
        plan.check()?;
        Ok(plan)
    }

    fn named_suites(&self) -> Result<Vec<Suite>, CliError> {
        let is_spoken = |suite: &Suite| suite.name().parse::<tollgate_server::Suite>().is_ok();
        if self.suites == [ALL] {
            return Ok(Suite::ALL.into_iter().filter(is_spoken).collect());
        }
        let named = |name: &String| match Suite::from_name(name) {
            Some(suite) if is_spoken(&suite) => Ok(suite),
            Some(_) => Err(error!(
                "--suites: OpenSSL does not speak {name}: leave it out, or measure it with \
                 `tollgate bench --server gnutls --handshake-only --suites {name}`"
            )),
            None => Err(error!(
                "--suites: no suite is called {name}: give IANA names, such as {}, or all",
                Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
            )),
        };
        self.suites.iter().map(named).collect()
    }

    /// The groups; one without a name if none is given.
    fn named_groups(&self) -> Result<Vec<Option<Group>>, CliError> {
        if self.group.is_empty() {
            return Ok(vec![None]);
        }
        let named = |name: &String| match Group::ALL.iter().find(|group| group.name() == name) {
            Some(group) => Ok(Some(*group)),
            None => Err(error!(
                "--group: no group is called {name}: give some of {}",
                Group::ALL.map(Group::name).join(", ")
            )),
        };
        self.group.iter().map(named).collect()
    }
}

/// The sessions of the ladder, without those that an engine leaves to OpenSSL on this processor.
pub(crate) fn ladder(group: Option<Group>, total: Duration) -> SessionPlan {
    let mut plan = SessionPlan::ladder(group, total);
    plan.sessions.retain(|session| engines(session.key).contains(&session.engine));
    plan
}

/// The engines to measure with a key. Tollgate leaves other curves to OpenSSL, and P-256 on
/// processors on which it has no kernels.
pub(super) fn engines(key: KeyKind) -> &'static [Engine] {
    let is_ours = match key {
        KeyKind::EcdsaP256 => signs_with_p256(),
        other => other.is_rsa(),
    };
    if is_ours { &[Engine::OpenSsl, Engine::Tollgate] } else { &[Engine::OpenSsl] }
}

fn handshake(text: &str) -> Result<Handshake, String> {
    let found = Handshake::ALL.into_iter().find(|handshake| handshake.word() == text);
    found.ok_or_else(|| format!("give some of {}", Handshake::ALL.map(Handshake::word).join(", ")))
}

/// A type of key that the server takes.
pub(crate) fn key(text: &str) -> Result<KeyKind, String> {
    let known = [KeyKind::OF_2001].into_iter().chain(KeyKind::SELF_SIGNED);
    let found = known.clone().find(|kind| kind.to_string() == text);
    found.ok_or_else(|| {
        let names: Vec<String> = known.map(|kind| kind.to_string()).collect();
        format!("give some of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use crate::options::Verb;
    use crate::options::tests::verb;

    #[test]
    fn lists_select_sessions() {
        for (flags, expected) in [
            ("", 2 * (2 + 4)),
            ("--bytes 0,1024 --key-type rsa-4096", 2 * 2),
            // the engine tollgate has no Ed25519
            (
                "--protocol tls12-x25519,tls13 --key-type rsa-2048,ed25519 --group secp384r1",
                2 * (2 + 1),
            ),
            // RSA and ECDHE without RC4 and 3DES, and TLS 1.3
            ("--key-type rsa-2048 --suites all", (6 + 7 + 3) * 2),
            (
                "--protocol tls12-x25519,tls13 --key-type rsa-2048 --handshake \
                 full,ticket,session-id",
                (2 + 2 + 1) * 2,
            ),
            ("--server nginx", 4),
        ] {
            let Verb::Explain(options) = verb(&format!("explain {flags}")) else { unreachable!() };
            let plan = options.plan(None).unwrap();
            assert_eq!(plan.sessions.len(), expected, "{flags}");
            assert_eq!(plan.pauses, !flags.contains("nginx"));
        }
    }

    #[test]
    fn lists_that_do_not_fit_are_refused() {
        for (flags, part) in [
            ("--suites TLS_NULL", "no suite is called TLS_NULL"),
            ("--suites TLS_RSA_WITH_RC4_128_SHA", "--server gnutls"),
            ("--suites TLS_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256", "twice"),
            ("--suites TLS_RSA_WITH_AES_128_GCM_SHA256 --key-type ed25519", "no session"),
            ("--suites TLS_RSA_WITH_AES_128_CBC_SHA --group x25519", "no session"),
            ("--group x448", "secp384r1"),
            ("--bytes 0,0", "twice"),
            ("--bytes 99999999", "1048576"),
            ("--handshake session-id --protocol tls13", "no session"),
        ] {
            let Verb::Explain(options) = verb(&format!("explain {flags}")) else { unreachable!() };
            let error = options.plan(None).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{flags}: {error}");
        }
    }
}
