//! The options of `tollgate bench signer`.

use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;
use std::path::{Path, PathBuf};

use clap::Args;
use tollgate_keyless::Operation;

use super::run_seconds;
use super::sub_verbs::load_share;
use crate::options::values::{Written, listens, socket_address};

/// The address of a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tls(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let tls = text.strip_prefix("tls:").and_then(socket_address);
        let unix = text.strip_prefix("unix:").filter(|path| !path.is_empty());
        let found = tls.map(Self::Tls).or_else(|| Some(Self::Unix(unix?.into())));
        found.ok_or("give unix:PATH or tls:IP:PORT")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls(address) => write!(f, "tls:{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Signer {
    /// Address of the signer: unix:PATH or tls:IP:PORT
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: Address,

    /// Public half of one of its keys, in PEM: the stub, the public key or a certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// Operation, as the signer's audit log names it: sign-pkcs1v15-sha256, sign-pss-sha256,
    /// sign-ecdsa-sha256, or with another hash function [default: sign-pkcs1v15-sha256, with P-256
    /// sign-ecdsa-sha256]
    #[arg(long, value_name = "NAME", value_parser = operation)]
    pub(crate) operation: Option<Operation>,

    /// Connections
    #[arg(short, long, value_name = "C", default_value = "64")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) connections: u32,

    /// Requests in flight on each connection
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) in_flight: u32,

    /// Arrival rates of open loops, as shares of the rate of the closed loop, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = load_share)]
    #[arg(default_value = "70%")]
    pub(crate) loads: Vec<f64>,

    /// Seconds of the measured part of each run; before it, a warm-up runs for half this time
    #[arg(short = 'z', long, value_name = "S", default_value = "2", value_parser = run_seconds)]
    pub(crate) seconds: f64,

    /// Rounds, each with one closed loop and an open loop at each load
    #[arg(long, value_name = "N", default_value = "6")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Address of the signer's page of metrics, which has the sizes of batches and confirms the
    /// counts; a port alone means 127.0.0.1
    #[arg(long, value_name = "IP:PORT", value_parser = listens)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Process of the signer, to measure its CPU time [default: the one that made the Unix socket]
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,

    /// Logical core of this process [default: the first, if there are two or more]
    #[arg(long, value_name = "LIST", value_parser = clap::value_parser!(u32).range(..1024))]
    pub(crate) client_cores: Option<u32>,

    #[command(flatten)]
    pub(crate) tls: Tls,

    #[command(flatten)]
    pub(crate) written: Written,
}

/// The certificates for a signer with TLS.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Signer with TLS")]
pub(crate) struct Tls {
    /// Certificate chain of this client in PEM, its own first
    #[arg(long, value_name = "FILE", requires_all = ["client_key", "roots", "name"])]
    client_cert: Option<PathBuf>,

    /// Private key of --client-cert in PEM, not encrypted
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,

    /// Trust anchors for the signer's certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    roots: Option<PathBuf>,

    /// DNS name in the signer's certificate
    #[arg(long, value_name = "NAME", requires = "client_cert")]
    name: Option<String>,
}

impl Tls {
    /// Returns chain, key, trust anchors and name, if they are given.
    pub(in crate::verbs::bench) fn all(&self) -> Option<(&Path, &Path, &Path, &str)> {
        let Self { client_cert, client_key, roots, name } = self;
        Some((client_cert.as_deref()?, client_key.as_deref()?, roots.as_deref()?, name.as_deref()?))
    }
}

fn operation(text: &str) -> Result<Operation, String> {
    let all = (0..=u8::MAX).filter_map(|code| Operation::from_code(code).ok());
    let is_signature = |operation: &Operation| operation.name().starts_with("sign-");
    let found = all.filter(is_signature).find(|operation| operation.name() == text);
    found.ok_or_else(|| "give a signature, such as sign-pss-sha256".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_names_of_the_audit_log() {
        for name in ["sign-pkcs1v15-sha384", "sign-pss-sha512", "sign-ecdsa-sha224"] {
            assert_eq!(operation(name).unwrap().name(), name);
        }
        assert!(operation("decrypt").is_err() && operation("sign-pss-sha1").is_err());
    }

    #[test]
    fn addresses_are_written_as_they_are_read() {
        for text in ["unix:/run/signer.sock", "tls:127.0.0.1:2407", "tls:[::1]:2407"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["", "unix:", "tls:", "tls:host:1", "/run/signer.sock"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
