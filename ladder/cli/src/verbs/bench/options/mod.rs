//! The flags of `tollgate bench`.

pub(crate) mod clients;
pub(crate) mod close;
pub(crate) mod given;
pub(crate) mod outputs;
pub(crate) mod resume;

use core::time::Duration;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tollgate_load::{Plan, Protocol, Sizes};
use tollgate_probe::Url;
use tollgate_rivals::Client;
use tollgate_server::KeyKind;
use tollgate_stock_servers::Product;

use crate::options::{Written, seconds};
use clients::Clients;
use close::Closing;
use given::Given;
use outputs::Outputs;
use resume::Resumed;

#[derive(Args, Clone, Debug)]
pub(crate) struct Bench {
    /// A server that runs already, in place of the two: it is looked at, asked for the path, and
    /// then put under load; on this machine or in a private network, or see --i-may-test
    #[arg(value_name = "URL")]
    pub(crate) target: Option<Url>,

    /// With --server haproxy: the one with the provider pauses handshakes while it works
    #[arg(long = "async", conflicts_with = "target")]
    pub(crate) asynchronous: bool,

    /// Bytes of the body that each session transfers
    #[arg(long, value_name = "N", default_value = "14336")]
    #[arg(conflicts_with_all = ["handshake_only", "target"])]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=tollgate_server::BODY_BYTES_MAX))]
    pub(crate) bytes: u64,

    /// Clients, separated by commas, each in turn on the same servers: minimal, the load generator;
    /// rustls, as many blocking threads as connections; curl and `s_time`, as many processes
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "minimal")]
    #[arg(value_parser = client)]
    #[arg(conflicts_with_all = ["handshake_only", "slo", "sweep_cores", "out", "metrics"])]
    pub(crate) client: Vec<Client>,

    /// Logical cores of the client's threads, one thread each [default: the first one, if there are
    /// two or more]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) client_cores: Vec<u32>,

    #[command(flatten)]
    pub(crate) clients: Clients,

    #[command(flatten)]
    pub(crate) closing: Closing,

    /// Connections in flight; each is replaced when its session is done
    #[arg(long, value_name = "C", default_value = "16")]
    pub(crate) connections: u32,

    /// The engines, separated by commas: openssl (with --server rustls: aws-lc) and tollgate
    /// [default: both, in turn]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "target")]
    pub(crate) engine: Vec<EngineKind>,

    /// From which drift of the rate on a run is not valid, as a share
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    pub(crate) drift_max: f64,

    /// Groups of the key agreement by their registered names, separated by commas; each is measured
    /// alone [default: x25519, or what --protocol says]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) group: Vec<String>,

    #[command(flatten)]
    pub(crate) given: Given,

    /// No transfer: handshakes and nothing else
    #[arg(long)]
    pub(crate) handshake_only: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Kinds of the servers' keys, separated by commas: rsa-2048, rsa-3072, rsa-4096; and rsa-1024,
    /// which is insecure, as papers have it
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "rsa-2048")]
    #[arg(value_parser = server_key, conflicts_with = "target")]
    pub(crate) key: Vec<KeyKind>,

    /// Whether the client makes a key share for each handshake, or one for all
    #[arg(long, value_name = "HOW", default_value = "fresh")]
    pub(crate) key_share: KeyShare,

    /// The provider's module for stock servers [default: the one that was built with this program]
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    pub(crate) module: Option<PathBuf>,

    /// Protocol versions and key exchanges, separated by commas: tls12-rsa, tls12-x25519,
    /// tls12-p256, tls13 [default: tls12-x25519,tls13; of a URL the best that the server has]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    #[command(flatten)]
    pub(crate) resumed: Resumed,

    /// Bodies of many sizes, which a workload asks for in place of --bytes.
    #[arg(skip)]
    pub(crate) sizes: Option<Sizes>,

    /// How often a round is repeated that is not valid because the rate drifted or stood still, and
    /// for no other reason
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) repeats: u32,

    /// Rounds; in each, every server has its turn; an even number where the engines are compared,
    /// and from six on the intervals of ratios are worth 95 %
    #[arg(long, value_name = "N", default_value = "6")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Seconds of a run that count; before them it warms up for half as long
    #[arg(long, value_name = "S", default_value = "2", value_parser = run_seconds)]
    pub(crate) seconds: f64,

    /// The two servers: embedded ones on openssl, with its own RSA and with ours, a worker on each
    /// core; on rustls, with aws-lc-rs and with the engine, a thread for each connection; or stock
    /// ones as they are installed, without and with the provider: apache, haproxy, nginx
    #[arg(long, value_name = "KIND", default_value = "openssl", conflicts_with = "target")]
    pub(crate) server: ServerKind,

    /// Logical cores of each server's workers, one worker each [default: the last one, if there are
    /// two or more]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "target")]
    pub(crate) server_cores: Vec<u32>,

    /// Cipher suites by their registered names, separated by commas, in place of --protocol, each
    /// measured alone; or all, which are those that the servers take [default: AES-128-GCM]
    #[arg(long, value_name = "LIST", value_delimiter = ',', alias = "suite")]
    #[arg(conflicts_with = "protocol")]
    pub(crate) suites: Vec<String>,

    /// The servers on more and more cores, from the first number to the last: 1..8, or 1..n for all
    /// but the client's
    #[arg(long, value_name = "A..B", value_parser = core_span)]
    #[arg(conflicts_with_all = ["server_cores", "slo", "target"])]
    pub(crate) sweep_cores: Option<CoreSpan>,

    /// Which handshakes verify the server's signature: never, always, or one in N
    #[arg(long, value_name = "never|always|N", default_value = "never", value_parser = verify)]
    pub(crate) verify: tollgate_load::Verify,

    /// A workload by name or file, as tollgate workload show has it, in place of key, protocol,
    /// bytes, requests of a connection and arrivals
    #[arg(long, value_name = "NAME|FILE")]
    #[arg(conflicts_with_all = ["key", "protocol", "bytes", "handshake_only", "suites", "group"])]
    #[arg(conflicts_with_all = ["requests_per_connection", "rate", "arrivals", "think", "resume"])]
    pub(crate) workload: Option<String>,
}

impl Bench {
    /// The protocols that were asked for, or the usual ones.
    pub(crate) fn protocols(&self) -> &[Protocol] {
        match &*self.protocol {
            [] => &[Protocol::Tls12X25519, Protocol::Tls13],
            asked => asked,
        }
    }

    /// Whether servers with this engine are loaded.
    pub(crate) fn has(&self, engine: EngineKind) -> bool {
        self.engine.is_empty() || self.engine.contains(&engine)
    }

    /// How many servers take turns.
    pub(crate) fn servers(&self) -> u32 {
        let without = self.has(EngineKind::Openssl) || self.has(EngineKind::AwsLc);
        let both = without && self.has(EngineKind::Tollgate);
        if both && self.target.is_none() { 2 } else { 1 }
    }
}

/// Who does the private-key operations of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineKind {
    /// aws-lc-rs, of rustls.
    AwsLc,
    /// OpenSSL's own RSA, of all others.
    Openssl,
    /// Ours.
    Tollgate,
}

/// What the two servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerKind {
    /// Apache of the system's package, without and with the provider.
    Apache,
    /// HAProxy, likewise.
    Haproxy,
    /// nginx, likewise.
    Nginx,
    /// Event loops on OpenSSL, with its default provider and with ours.
    Openssl,
    /// Blocking threads on rustls, with aws-lc-rs and with the engine.
    Rustls,
}

impl ServerKind {
    /// Whose product it is, if it is none of ours.
    pub(crate) const fn stock(self) -> Option<Product> {
        match self {
            Self::Apache => Some(Product::Apache),
            Self::Haproxy => Some(Product::Haproxy),
            Self::Nginx => Some(Product::Nginx),
            Self::Openssl | Self::Rustls => None,
        }
    }
}

/// Numbers of cores, both ends in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoreSpan {
    pub(crate) first: u32,
    /// None: as many as there are.
    pub(crate) last: Option<u32>,
}

/// Key shares of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyShare {
    /// For each handshake, as real clients do.
    Fresh,
    /// Once per thread.
    Reuse,
}

/// Seconds of a run: in fewer its verdict has nothing to look at.
fn run_seconds(text: &str) -> Result<f64, String> {
    let least = Duration::from_millis(Plan::SUSTAIN_MS_MIN).as_secs_f64();
    let enough = seconds(text).ok().filter(|seconds| *seconds >= least);
    enough.ok_or_else(|| format!("give {least} to 3600 seconds"))
}

pub(crate) fn rsa(text: &str) -> Result<KeyKind, String> {
    match text.parse() {
        Ok(kind @ KeyKind::Rsa { .. }) => Ok(kind),
        _ => Err("give rsa-2048, rsa-3072 or rsa-4096: both engines must take the key".to_owned()),
    }
}

/// What servers may have: a key of 2001 too.
fn server_key(text: &str) -> Result<KeyKind, String> {
    if text == KeyKind::OF_2001.to_string() { Ok(KeyKind::OF_2001) } else { rsa(text) }
}

fn core_span(text: &str) -> Result<CoreSpan, String> {
    let ends = text.split_once("..").and_then(|(first, last)| {
        let last = if last == "n" { None } else { Some(last.parse().ok()?) };
        Some(CoreSpan { first: first.parse().ok()?, last })
    });
    ends.filter(|span| span.first > 0 && span.last.is_none_or(|last| span.first <= last))
        .ok_or_else(|| "give numbers of cores as 1..8, or 1..n".to_owned())
}

fn client(text: &str) -> Result<Client, String> {
    let found = Client::ALL.into_iter().find(|client| client.word() == text);
    found.ok_or_else(|| "give some of minimal, rustls, curl, s_time".to_owned())
}

pub(crate) fn protocol(text: &str) -> Result<Protocol, String> {
    let known = || Protocol::ALL.map(Protocol::word).join(", ");
    let found = Protocol::ALL.into_iter().find(|protocol| protocol.word() == text);
    found.ok_or_else(|| format!("give some of {}", known()))
}

fn verify(text: &str) -> Result<tollgate_load::Verify, String> {
    use tollgate_load::Verify;

    match (text, text.parse()) {
        ("never", _) => Ok(Verify::Never),
        ("always", _) => Ok(Verify::Always),
        (_, Ok(one_in)) if one_in > 0 => Ok(Verify::Sample { one_in }),
        _ => Err("give never, always, or a number N from 1: one in N".to_owned()),
    }
}

pub(crate) fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("give a share from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tollgate_load::{Close, Verify};

    use super::*;
    use crate::options::tests::{assert_refused, bench};

    #[test]
    fn flags_become_values() {
        let options = bench(&["--key", "rsa-2048,rsa-3072", "--protocol", "tls13,tls12-rsa"]);
        assert_eq!(options.key.len(), 2);
        assert_eq!(options.protocol, [Protocol::Tls13, Protocol::Tls12Rsa]);
        assert_eq!((options.bytes, options.verify), (14_336, Verify::Never));
        assert_eq!(bench(&["--key", "rsa-1024"]).key, [KeyKind::OF_2001]);
        let span = bench(&["--sweep-cores", "1..n"]).sweep_cores;
        assert_eq!(span, Some(CoreSpan { first: 1, last: None }));
        assert_eq!(options.client, [Client::Minimal]);
        assert_eq!(bench(&["--client", "rustls,curl"]).client, [Client::Rustls, Client::Curl]);
        assert_eq!(bench(&["--client", "s_time"]).client, [Client::STime]);
        for (flags, expected) in [
            (&[][..], Close::RstAfterConfirm),
            (&["--close", "fin"], Close::Fin),
            (&["--resume", "0.5", "--resume-by", "early-data"], Close::Fin),
            (&["--resume", "0.5", "--resume-by", "psk"], Close::RstAfterConfirm),
        ] {
            let options = bench(flags);
            assert_eq!(options.closing.close(options.resume(true)), expected, "{flags:?}");
        }
        let one_in = bench(&["--verify", "10"]).verify;
        assert_eq!(one_in, Verify::Sample { one_in: 10 });
    }

    #[test]
    fn what_is_not_right_is_refused_in_one_line() {
        assert_refused(
            "bench",
            &[
                (&["--key", "ecdsa-p256"][..], "both engines"),
                (&["--key", "rsa-512"], "rsa-2048"),
                (&["--client", "wget"], "rustls"),
                (&["--sweep-cores", "0..2"], "1..8"),
                (&["--sweep-cores", "3..2"], "1..n"),
                (&["--sweep-cores", "1..2", "--server-cores", "1"], "--server-cores"),
                (&["--workload", "hp2001", "--bytes", "1"], "--bytes"),
                (&["--workload", "hp2001", "--rate", "1"], "--rate"),
                (&["--workload", "hp2001", "--resume", "1%"], "--resume"),
                (&["--client", "curl", "--handshake-only"], "--handshake-only"),
                (&["--client", "curl", "--slo", "p99=1ms"], "--slo"),
                (&["--client", "curl", "--out", "x"], "--out"),
                (&["--sweep-cores", "1..2", "--slo", "p99=1ms"], "--slo"),
                (&["--protocol", "tls11"], "tls12-rsa"),
                (&["--close", "never"], "--close"),
                (&["--verify", "0"], "one in N"),
                (&["--drift-max", "2"], "0 to 1"),
                (&["--rounds", "0"], "1..=1000"),
                (&["--log", "x"], "<URL>"),
                (&["--bytes", "1", "--handshake-only"], "--handshake-only"),
                (&["localhost"], "https://HOST"),
                (&["https://localhost/", "--bytes", "1"], "--bytes"),
                (&["https://localhost/", "--key", "rsa-2048"], "--key"),
                (&["https://localhost/", "--log-format", "nginx"], "--log"),
                (&["https://h/", "--log", "x", "--log-format", "iis"], "haproxy"),
                (&["--i-may-test", "h"], "<URL>"),
                (&["--server", "iis"], "nginx"),
                (&["--engine", "gnutls"], "aws-lc"),
                (&["--async", "https://127.0.0.1:1"], "--async"),
                (&["--server", "rustls", "https://127.0.0.1:1"], "--server"),
            ],
        );
    }
}
