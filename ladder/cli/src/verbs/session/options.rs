//! The flags of `tollgate session`.

use clap::Args;
use tollgate_load::Protocol;
use tollgate_server::KeyKind;

use crate::options::{Written, seconds};
use crate::verbs::bench::options::{protocol, rsa};

#[derive(Args, Clone, Debug)]
pub(crate) struct Session {
    /// Bytes of the response, separated by commas [default: 14336; with no list at all, for
    /// RSA-2048 under TLS 1.3 also 0 to 143360, but without a real server]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) bytes: Vec<u64>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Kinds of the server's key, separated by commas [default: rsa-2048,rsa-3072]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = rsa)]
    pub(crate) key: Vec<KeyKind>,

    /// Only the parts: no real server to compare their sum with
    #[arg(long)]
    pub(crate) parts_only: bool,

    /// Protocol versions and key exchanges, separated by commas [default: tls12-x25519,tls13; with
    /// no list at all, for RSA-2048 also tls12-rsa]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    /// Seconds for all parts together; preparation and the real server take some more
    #[arg(long, value_name = "S", default_value = "25", value_parser = seconds)]
    pub(crate) seconds: f64,
}
