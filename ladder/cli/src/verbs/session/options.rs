//! The options of `tollgate session`.

use clap::Args;
use tollgate_load::Protocol;
use tollgate_server::KeyKind;
use tollgate_session::Handshake;

use crate::options::values::{Written, seconds};
use crate::verbs::bench::options::protocol;

#[derive(Args, Clone, Debug)]
pub(crate) struct Session {
    /// Also the cost of the client's end, on libssl, which verifies the server's chain; it is
    /// predicted from parts, and no real client is measured
    #[arg(long)]
    pub(crate) both_ends: bool,

    /// Sizes of the response in bytes, separated by commas [default: 14336; without --bytes,
    /// --key-type and --protocol also six sizes from 0 to 143360, only for RSA-2048 with TLS 1.3]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) bytes: Vec<u64>,

    /// Numbers of certificates below the trust anchor in each chain, separated by commas, from 1 to
    /// 8: the ends present and verify such chains [default: a self-signed certificate]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) chain: Vec<u8>,

    /// Number of connections in flight, from 1 to 1024; Tollgate runs the operations of several as
    /// one batch
    #[arg(short = 'c', long, value_name = "N", default_value = "16")]
    pub(crate) connections: u32,

    /// Sizes from 0 to 1048576 bytes instead of --bytes, and the size at which the transfer costs
    /// as much as the handshake
    #[arg(long, conflicts_with = "bytes")]
    pub(crate) curve: bool,

    /// Handshakes, separated by commas: full; mutual, in which the client presents a certificate
    /// too; ticket, which resumes a session by a ticket; session-id, which resumes a session from
    /// the server's cache (TLS 1.2) [default: full]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = handshake)]
    pub(crate) handshake: Vec<Handshake>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Types of the server's key, separated by commas: rsa-1024 (insecure, as in old papers),
    /// rsa-2048, rsa-3072, rsa-4096, ecdsa-p256, ecdsa-p384, ed25519 [default: rsa-2048,rsa-3072;
    /// with --suites and --group rsa-2048, and ecdsa-p256 if a suite needs it]
    #[arg(id = "key-type", long, value_name = "LIST", value_delimiter = ',', value_parser = key)]
    pub(crate) key: Vec<KeyKind>,

    /// Groups of the key agreement by their IANA names, separated by commas, such as secp384r1 and
    /// ffdhe2048 [default: x25519, or that of --protocol]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) group: Vec<String>,

    /// Measure only the parts, without a real server for comparison
    #[arg(long)]
    pub(crate) parts_only: bool,

    /// Cost per byte of the sessions' ciphers and MACs, and of SHA-1, SHA-2, SHA-3, RC4 and 3DES
    #[arg(long)]
    pub(crate) per_byte: bool,

    /// Protocol versions and key exchanges, separated by commas: tls12-rsa, tls12-x25519,
    /// tls12-p256, tls13 [default: tls12-x25519,tls13; without --bytes, --key-type and --protocol
    /// also tls12-rsa, for RSA-2048]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    /// Numbers of requests on a connection, separated by commas, from 1 to 1000; with several, also
    /// the cost of a request by their number [default: 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) requests: Vec<u32>,

    /// Cipher suites by their IANA names, separated by commas, instead of --protocol; "all" takes
    /// every suite that OpenSSL speaks [default: AES-128-GCM]
    #[arg(long, value_name = "LIST", value_delimiter = ',', alias = "suite")]
    #[arg(conflicts_with = "protocol")]
    pub(crate) suites: Vec<String>,

    /// Seconds for all parts together; preparation and the real server take more
    #[arg(short = 'z', long, value_name = "S", default_value = "25", value_parser = seconds)]
    pub(crate) seconds: f64,

    /// The server's handshakes do not pause, as those of an installed server.
    #[arg(skip)]
    pub(crate) without_pauses: bool,
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
