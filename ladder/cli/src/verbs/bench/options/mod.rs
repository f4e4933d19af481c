//! The options of `tollgate bench` and its sub-verbs.

pub(crate) mod clients;
pub(crate) mod given;
pub(crate) mod kinds;
pub(crate) mod session;
pub(crate) mod signer;
pub(crate) mod sub_verbs;

use core::slice;
use core::str::FromStr as _;
use core::time::Duration;
use std::path::PathBuf;

use clap::builder::ArgPredicate;
use clap::{Args, Subcommand};
use tollgate_curves::p256::P256;
use tollgate_load::{Close, Freshness, Objective, Plan, Protocol, Sizes, Verify};
use tollgate_server::{Engine, KeyKind};
use tollgate_session::SessionPlan;
use tollgate_tls_client::Group;

use crate::hybrid::noted_group;
use crate::options::values::{Written, one_of, seconds, share};
use crate::run::Notes;
use crate::verbs::bench::suites;
use clients::{Clients, Mix, Pace};
use given::Given;
pub(crate) use kinds::ServerKind;
use signer::Signer;
use sub_verbs::{Experiment, ResponseCurve};

/// `tollgate bench` with its sub-verbs.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BenchCommand {
    #[command(flatten)]
    given: Given,

    #[command(flatten)]
    rounds: Bench,

    #[command(flatten)]
    pace: Pace,

    #[command(flatten)]
    mix: Mix,

    #[command(subcommand)]
    pub(crate) verb: Option<SubVerb>,
}

/// Questions that need many loads.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubVerb {
    /// Measure servers with one change each in turn: an experiment of this program, or a file
    Experiment(Experiment),
    /// Predict the response times at shares of the capacity, then measure them in an open loop
    Response {
        #[command(flatten)]
        curve: ResponseCurve,

        #[command(flatten)]
        bench: Box<Bench>,
    },
    /// Find the highest rate at which a quantile of the response times stays within a limit
    Search {
        /// Quantile and its limit, as in p99=20ms
        #[arg(long, value_name = "OBJECTIVE")]
        slo: Objective,

        #[command(flatten)]
        given: Box<Given>,

        #[command(flatten)]
        bench: Box<Bench>,

        #[command(flatten)]
        mix: Mix,
    },
    /// Measure the rate of a signer with all connections busy, and its response times at shares of
    /// this rate
    Signer(Box<Signer>),
}

/// The kind of result that a run of `tollgate bench` gives.
#[derive(Clone, Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Rounds,
    /// Rounds whose servers are sampled, for other verbs.
    Profile,
    Response(ResponseCurve),
    /// The highest rate that meets an objective.
    Search(Objective),
}

impl BenchCommand {
    /// Returns the options and the kind of result, before the checks of `request`.
    pub(super) fn unchecked(&self) -> Bench {
        match &self.verb {
            Some(SubVerb::Response { curve, bench }) => {
                Bench { mode: Mode::Response(curve.clone()), ..(**bench).clone() }
            }
            Some(SubVerb::Search { slo, given, bench, mix }) => {
                let clients = Clients { mix: mix.clone(), ..bench.clients.clone() };
                let mode = Mode::Search(*slo);
                Bench { mode, given: (**given).clone(), clients, ..(**bench).clone() }
            }
            // the others make their own loads
            _ => {
                let (pace, mix) = (self.pace.clone(), self.mix.clone());
                let clients = Clients { pace, mix, ..self.rounds.clients.clone() };
                Bench { given: self.given.clone(), clients, ..self.rounds.clone() }
            }
        }
    }
}

/// The options of a load that rounds, search and response have.
#[derive(Args, Clone, Debug)]
pub(crate) struct Bench {
    #[arg(skip)]
    pub(crate) mode: Mode,

    #[command(flatten)]
    pub(crate) load: Load,

    /// Seconds of the measured part of each run, also as in 10s or 2m; before it, a warm-up runs
    /// for half this time
    #[arg(short = 'z', long, value_name = "S", default_value = "2", value_parser = run_seconds)]
    #[arg(default_value_if("requests", ArgPredicate::IsPresent, "600"), help_heading = LOAD)]
    pub(crate) seconds: f64,

    /// Rounds, in each of which every server runs once; an even number if engines are compared;
    /// with six or more, the intervals of ratios have 95 % confidence
    #[arg(long, value_name = "N", default_value = "6", help_heading = LOAD)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Workload by name or file (see 'tollgate workload show'), instead of key type, protocol,
    /// bytes, requests on a connection and arrivals
    #[arg(long, value_name = "NAME|FILE", help_heading = LOAD)]
    #[arg(conflicts_with_all = ["key-type", "protocol", "bytes", "handshake_only", "suites"])]
    #[arg(conflicts_with_all = ["group", "arrivals"])]
    pub(crate) workload: Option<String>,

    #[command(flatten)]
    pub(crate) clients: Clients,

    /// Protocol versions and key exchanges, separated by commas: tls12-rsa, tls12-x25519,
    /// tls12-p256, tls13 [default: tls13; for a URL, the best that the server supports]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    #[arg(help_heading = SESSION)]
    pub(crate) protocol: Vec<Protocol>,

    /// Cipher suites by their IANA names, separated by commas, instead of --protocol; each is
    /// measured alone; "all" takes every suite that the servers accept [default: AES-128-GCM]
    #[arg(long, value_name = "LIST", value_delimiter = ',', alias = "suite")]
    #[arg(conflicts_with = "protocol", help_heading = SESSION)]
    pub(crate) suites: Vec<String>,

    /// Key agreement groups by their IANA names, separated by commas; each is measured alone
    /// [default: with tls13 X25519MLKEM768, or x25519 if OpenSSL is older than 3.5; otherwise that
    /// of --protocol]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = SESSION)]
    pub(crate) group: Vec<String>,

    /// Bytes of the body that each request transfers
    #[arg(long, value_name = "N", default_value = "14336", help_heading = SESSION)]
    #[arg(conflicts_with = "handshake_only")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=tollgate_server::BODY_BYTES_MAX))]
    pub(crate) bytes: u64,

    /// Handshakes only, without a request
    #[arg(long, help_heading = SESSION)]
    pub(crate) handshake_only: bool,

    /// End of a connection after its last response: a TCP reset, which leaves no port in TIME-WAIT,
    /// or a TLS close alert and FIN, which the server answers [default: rst; with early data fin]
    #[arg(long, value_name = "HOW", value_parser = one_of(session::CLOSE), help_heading = SESSION)]
    pub(crate) close: Option<Close>,

    /// Key shares of the client: a fresh one for each handshake, or one for each thread
    #[arg(long, value_name = "HOW", default_value = "fresh", help_heading = SESSION)]
    #[arg(value_parser = one_of(session::KEY_SHARE))]
    pub(crate) key_share: Freshness,

    /// Handshakes whose server signature the client verifies: never, always, or one in N
    #[arg(long, value_name = "never|always|N", default_value = "never", value_parser = verify)]
    #[arg(help_heading = SESSION)]
    pub(crate) verify: Verify,

    /// Sizes of bodies, which a workload sets instead of --bytes.
    #[arg(skip)]
    pub(crate) sizes: Option<Sizes>,

    /// The group of TLS 1.3 if --group names none; `None` for that of the protocol.
    #[arg(skip)]
    pub(crate) default_group: Option<Group>,

    /// Kinds of servers, separated by commas, each without and with Tollgate: embedded ones with
    /// OpenSSL (openssl), one worker on each core; or the installed apache, haproxy, lighttpd or
    /// nginx, without and with the provider. Only one server is gnutls, the installed gnutls-serv,
    /// which has the insecure suites with RC4 and 3DES of old papers
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "openssl")]
    #[arg(help_heading = SERVERS)]
    pub(crate) server: Vec<ServerKind>,

    /// Logical cores of each server's workers, one worker on each [default: the last, if there are
    /// two or more]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help_heading = SERVERS)]
    pub(crate) server_cores: Vec<u32>,

    /// Engines for the private-key operations, separated by commas: openssl and tollgate [default:
    /// both, in turn]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help_heading = SERVERS, value_parser = Engine::from_str)]
    pub(crate) engine: Vec<Engine>,

    /// Types of the servers' keys, separated by commas: ecdsa-p256, rsa-2048, rsa-3072, rsa-4096,
    /// and rsa-1024 (insecure, as in old papers) [default: ecdsa-p256,rsa-2048]
    #[arg(id = "key-type", long, value_name = "LIST", value_delimiter = ',')]
    #[arg(value_parser = server_key, help_heading = SERVERS)]
    pub(crate) key: Vec<KeyKind>,

    /// Provider module for installed servers [default: the one built with this program]
    #[arg(long, value_name = "FILE", help_heading = SERVERS)]
    pub(crate) module: Option<PathBuf>,

    /// Let HAProxy with the provider pause handshakes during signatures
    #[arg(long = "async", help_heading = SERVERS)]
    pub(crate) asynchronous: bool,

    /// Of a server at a URL.
    #[arg(skip)]
    pub(crate) given: Given,

    /// Write outcome.json and report.html to this folder, replacing files of these names
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) written: Written,
}

/// The options of every load, whoever chooses its rounds and servers.
#[derive(Args, Clone, Debug)]
pub(crate) struct Load {
    /// Connections in flight; each is replaced when its session is done
    #[arg(short, long, value_name = "C", default_value = "16", help_heading = LOAD)]
    pub(crate) connections: u32,

    /// Maximum repetitions of a run that is invalid only because its rate drifted or stalled
    #[arg(long, value_name = "N", default_value = "3", help_heading = LOAD)]
    pub(crate) repeats: u32,

    /// Maximum drift of the rate, as a share; a run above it is invalid
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    #[arg(help_heading = LOAD)]
    pub(crate) drift_max: f64,

    /// Logical cores of the client's threads, one thread on each [default: the first, if there are
    /// two or more]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = SERVERS)]
    pub(crate) client_cores: Vec<u32>,
}

pub(in crate::verbs) const LOAD: &str = "Load";
pub(in crate::verbs) const SERVERS: &str = "Client and servers";
pub(super) const SESSION: &str = "Session";

impl Bench {
    pub(crate) const fn objective(&self) -> Option<Objective> {
        match self.mode {
            Mode::Search(objective) => Some(objective),
            Mode::Rounds | Mode::Profile | Mode::Response(_) => None,
        }
    }

    /// Returns the largest number of connections in flight. Those of a response curve are limited
    /// by the server alone.
    pub(crate) fn in_flight(&self) -> u32 {
        let least = if matches!(self.mode, Mode::Response(_)) { 4096 } else { 0 };
        self.load.connections.max(least)
    }

    /// Returns how the run chooses the rates of an open loop, if not by an option.
    pub(crate) const fn chosen_rate(&self) -> Option<&'static str> {
        match self.mode {
            Mode::Search(_) => Some("searched for"),
            Mode::Response(_) => Some("at shares of the capacity"),
            Mode::Rounds | Mode::Profile => None,
        }
    }

    /// Returns the types of keys to measure in turn; a server at a URL has its own key.
    pub(crate) fn keys(&self) -> &[KeyKind] {
        let [_, rsa] = &SessionPlan::KEYS;
        match &*self.key {
            _ if self.given.target.is_some() => slice::from_ref(rsa),
            // the engine leaves P-256 to OpenSSL
            [] if self.has(Engine::Tollgate) && !signs_with_p256() => slice::from_ref(rsa),
            [] => &SessionPlan::KEYS,
            asked => asked,
        }
    }

    /// Returns the protocols to measure.
    pub(crate) fn protocols(&self) -> &[Protocol] {
        if self.protocol.is_empty() { &[Protocol::Tls13] } else { &self.protocol }
    }

    /// Returns the request with the group that TLS 1.3 has by default: the hybrid, unless a server
    /// at a URL lacks it, or OpenSSL does, which is noted.
    pub(in crate::verbs) fn with_default_group(&self, notes: &mut Notes) -> Self {
        let is_tls13 = match &*self.suites {
            [] => self.protocols().contains(&Protocol::Tls13),
            suites => suites::is_all(suites) || suites.iter().any(|name| !name.contains("_WITH_")),
        };
        let default_group = match &self.given.probed {
            _ if !is_tls13 || !self.group.is_empty() => None,
            Some(probed) => probed.hybrid(),
            None if self.kind() == ServerKind::Gnutls => None,
            None => noted_group(notes),
        };
        Self { default_group, ..self.clone() }
    }

    /// Returns the kind of server; the first one, if there are several.
    pub(crate) fn kind(&self) -> ServerKind {
        self.server[0]
    }

    /// Returns the request for the servers of each kind, with those options that the kind has.
    pub(crate) fn by_kind(&self) -> Vec<Self> {
        let [_, _, ..] = &*self.server else { return vec![self.clone()] };
        let of_kind = |&kind: &ServerKind| {
            let mut request = Self { server: vec![kind], ..self.clone() };
            request.engine.retain(|engine| kind.engines().contains(engine));
            request.asynchronous &= kind == ServerKind::Haproxy;
            request.module = request.module.filter(|_| kind.stock().is_some());
            (request.engine.is_empty() == self.engine.is_empty()).then_some(request)
        };
        self.server.iter().filter_map(of_kind).collect()
    }

    /// Returns whether a server of the only kind with this engine takes part.
    pub(crate) fn has(&self, engine: Engine) -> bool {
        let is_asked = self.engine.is_empty() || self.engine.contains(&engine);
        is_asked && self.kind().engines().contains(&engine)
    }

    /// Returns the number of servers that take turns.
    pub(crate) fn servers(&self) -> u32 {
        if self.given.target.is_some() {
            return 1;
        }
        let of_kind = |request: &Self| {
            request.kind().engines().iter().filter(|engine| request.has(**engine)).count()
        };
        let all: usize = self.by_kind().iter().map(of_kind).sum();
        u32::try_from(all.max(1)).unwrap_or(u32::MAX)
    }
}

/// Parses the length of a run in seconds; shorter runs cannot be judged.
pub(in crate::verbs) fn run_seconds(text: &str) -> Result<f64, String> {
    let least = Duration::from_millis(Plan::SUSTAIN_MS_MIN).as_secs_f64();
    let enough = seconds(text).ok().filter(|seconds| *seconds >= least);
    enough.ok_or_else(|| format!("give {least} to 3600 seconds"))
}

/// Returns whether Tollgate signs with P-256, faster than OpenSSL, on this processor.
pub(in crate::verbs) fn signs_with_p256() -> bool {
    P256::best().is_ok_and(P256::beats_openssl)
}

fn server_key(text: &str) -> Result<KeyKind, String> {
    let wanted = "give rsa-2048, rsa-3072, rsa-4096 or ecdsa-p256: both engines must take the key";
    measured_key(text).ok_or_else(|| wanted.to_owned())
}

/// Reads a key type that both engines take, including the RSA-1024 of old papers.
pub(in crate::verbs) fn measured_key(text: &str) -> Option<KeyKind> {
    match text.parse() {
        Ok(kind @ (KeyKind::EcdsaP256 | KeyKind::Rsa { .. })) => Some(kind),
        _ => Some(KeyKind::OF_2001).filter(|kind| kind.to_string() == text),
    }
}

pub(crate) fn protocol(text: &str) -> Result<Protocol, String> {
    let known = || Protocol::ALL.map(Protocol::word).join(", ");
    let found = Protocol::ALL.into_iter().find(|protocol| protocol.word() == text);
    found.ok_or_else(|| format!("give some of {}", known()))
}

pub(in crate::verbs) fn verify(text: &str) -> Result<Verify, String> {
    match (text, text.parse()) {
        ("never", _) => Ok(Verify::Never),
        ("always", _) => Ok(Verify::Always),
        (_, Ok(one_in)) if one_in > 0 => Ok(Verify::Sample { one_in }),
        _ => Err("give never, always, or a number N from 1: one in N".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::bench;

    #[test]
    fn flags_become_values() {
        let options = bench("--key-type rsa-2048,rsa-3072 --protocol tls13,tls12-rsa");
        assert_eq!(options.key.len(), 2);
        assert_eq!(options.protocol, [Protocol::Tls13, Protocol::Tls12Rsa]);
        assert_eq!((options.bytes, options.verify), (14_336, Verify::Never));
        assert_eq!(bench("--key-type rsa-1024").key, [KeyKind::OF_2001]);
        assert_eq!(bench("--key-type ecdsa-p256").key, [KeyKind::EcdsaP256]);
        assert!(server_key("ecdsa-p384").is_err() && server_key("rsa-512").is_err());
        let short = bench("-c 8 -z 10s -q 5 https://127.0.0.1/");
        assert_eq!(
            (short.load.connections, short.seconds, short.clients.pace.rate),
            (8, 10.0, Some(5.0))
        );
        let number = bench("-n 500");
        assert_eq!((number.clients.pace.requests, number.seconds), (Some(500), 600.0));
        assert_eq!(bench("-n 500 -z 5s").seconds, 5.0);
        for (flags, expected) in [
            ("", Close::RstAfterConfirm),
            ("--close fin", Close::Fin),
            ("--resume 0.5 --resume-by early-data", Close::Fin),
            ("--resume 0.5 --resume-by psk", Close::RstAfterConfirm),
        ] {
            let options = bench(flags);
            assert_eq!(options.close(options.resume(true)), expected, "{flags:?}");
        }
        let one_in = bench("--verify 10").verify;
        assert_eq!(one_in, Verify::Sample { one_in: 10 });
    }
}
