//! The options of `tollgate session`.

use clap::Args;
use tollgate_load::Protocol;
use tollgate_server::KeyKind;

use crate::options::values::{Written, seconds};
use crate::verbs::bench::options::{protocol, rsa};

#[derive(Args, Clone, Debug)]
pub(crate) struct Session {
    /// Bytes of the response, separated by commas [default: 14336; without any list, also 0 to
    /// 143360 for RSA-2048 with TLS 1.3, but without a real server]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) bytes: Vec<u64>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Types of the server's key, separated by commas: rsa-2048, rsa-3072, rsa-4096 [default:
    /// rsa-2048,rsa-3072]
    #[arg(id = "key-type", long, value_name = "LIST", value_delimiter = ',', value_parser = rsa)]
    pub(crate) key: Vec<KeyKind>,

    /// Measure only the parts, without a real server beside them
    #[arg(long)]
    pub(crate) parts_only: bool,

    /// Protocol versions and key exchanges, separated by commas: tls12-rsa, tls12-x25519,
    /// tls12-p256, tls13 [default: tls12-x25519,tls13; without any list, also tls12-rsa for
    /// RSA-2048]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    /// Seconds for all parts together; preparation and the real server take more
    #[arg(short = 'z', long, value_name = "S", default_value = "25", value_parser = seconds)]
    pub(crate) seconds: f64,
}
