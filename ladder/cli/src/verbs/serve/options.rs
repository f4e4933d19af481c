//! The flags of `tollgate serve`.

use core::net::SocketAddr;
use core::str::FromStr as _;
use std::path::PathBuf;

use clap::Args;
use tollgate_server::{Engine, Group, KeyKind, Protocol, Suite};

use crate::options::values::{listens, seconds};

#[derive(Args, Clone, Debug)]
pub(crate) struct Serve {
    /// Append a line for each handshake and each response to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,

    /// Address to listen on; port 0 chooses a free port, a port alone means 127.0.0.1
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8443", value_parser = listens)]
    pub(crate) address: SocketAddr,

    /// The certificate chain in PEM, the server's own first
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,

    /// Open connections of one worker, at most; further clients wait in the kernel's queue
    #[arg(long, value_name = "N", default_value = "16384")]
    pub(crate) connections_max: usize,

    /// Logical cores of the workers, one for each [default: the system chooses]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cores: Option<Vec<usize>>,

    /// Seconds to complete responses after a signal to stop
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    pub(crate) drain: f64,

    /// Implementation of private-key operations: tollgate or openssl
    #[arg(long, value_name = "NAME", default_value = "tollgate", value_parser = Engine::from_str)]
    pub(crate) engine: Engine,

    /// Groups for Diffie-Hellman in order of preference: x25519, secp256r1, secp384r1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "x25519,secp256r1")]
    #[arg(value_parser = Group::from_str)]
    pub(crate) group: Vec<Group>,

    /// Seconds that a handshake may take
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    pub(crate) handshake_limit: f64,

    /// Seconds that a connection may wait for its next request
    #[arg(long, value_name = "S", default_value = "15", value_parser = seconds)]
    pub(crate) idle_limit: f64,

    /// The private key of --cert in PEM, not encrypted
    #[arg(long, value_name = "FILE", requires = "cert", conflicts_with = "key_type")]
    pub(crate) key: Option<PathBuf>,

    /// Without --cert: kind of the self-signed certificate, rsa-2048, rsa-3072, rsa-4096 or
    /// ecdsa-p256 [default: rsa-2048]
    #[arg(long, value_name = "KIND", value_parser = KeyKind::from_str)]
    pub(crate) key_type: Option<KeyKind>,

    /// Versions of TLS: tls12, tls13
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "tls12,tls13")]
    #[arg(value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    /// Issue session tickets, so that clients can resume sessions
    #[arg(long)]
    pub(crate) resumption: bool,

    /// Also serve the files of this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,

    /// Also offer suites with RSA key exchange, which have no forward secrecy
    #[arg(long)]
    pub(crate) rsa_kx: bool,

    /// Cipher suites in order of preference, by the names of IANA or OpenSSL [default:
    /// AES-128-GCM first, no CBC]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suite::from_str)]
    pub(crate) suites: Vec<Suite>,

    /// Worker threads
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: usize,
}

fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "tls12" => Ok(Protocol::Tls12),
        "tls13" => Ok(Protocol::Tls13),
        _ => Err("give tls12, tls13, or both".to_owned()),
    }
}
