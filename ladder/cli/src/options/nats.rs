//! The connection of agents and their controller to NATS.

use std::path::PathBuf;

use clap::Args;
use tollgate_agents::{Nats, NatsServer};

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "NATS")]
pub(crate) struct NatsOptions {
    /// NATS servers of one cluster, separated by commas: tls://HOST:PORT, or nats://127.0.0.1:PORT
    /// for a server without TLS on this machine
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) nats: Vec<NatsServer>,

    /// Certificates of the authorities that NATS servers are trusted by, in PEM [default: the
    /// system's]
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub(crate) nats_ca: Option<PathBuf>,

    /// Certificate chain in PEM, the own one first, for NATS servers that ask for one
    #[arg(long, value_name = "FILE", requires_all = ["nats", "nats_key"])]
    pub(crate) nats_cert: Option<PathBuf>,

    /// Private key of --nats-cert in PEM, not encrypted
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    pub(crate) nats_key: Option<PathBuf>,

    /// File with one line, USER:PASSWORD, for NATS servers that ask for a password
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub(crate) nats_password: Option<PathBuf>,
}

impl NatsOptions {
    /// Returns the connection, if one is given.
    pub(crate) fn connection(&self) -> Option<Nats> {
        (!self.nats.is_empty()).then(|| Nats {
            servers: self.nats.clone(),
            authorities: self.nats_ca.clone(),
            certificate: self.nats_cert.clone().zip(self.nats_key.clone()),
            password: self.nats_password.clone(),
        })
    }
}
