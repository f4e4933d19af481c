//! Configuration of a server and of its rustls.

use core::fmt;
use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tollgate_queue::{Lanes, PrivateJob, Queue, Unit};
use tollgate_rustls::{EcdsaKey, SigningKey};
use tollgate_server::Certificate;

tollgate_load::words! {
    /// The signer.
    Signer {
        /// aws-lc-rs, the default of rustls.
        AwsLc = "rustls-aws-lc",
        /// The engine, with one unit of lanes for each core.
        Engine = "rustls-tollgate",
    }
}

/// Configuration of a server. It listens on a free port of 127.0.0.1.
#[derive(Clone, Debug)]
pub struct Config {
    /// Certificate and RSA key.
    pub certificate: Certificate,
    /// The logical cores that its threads may run on; if empty, the scheduler decides.
    pub cores: Vec<usize>,
    /// The signer.
    pub signer: Signer,
    /// Threads, each with one connection at a time; at least one.
    pub threads: usize,
}

pub(crate) fn refused(why: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_string())
}

impl Config {
    /// Starts an engine if the engine is the signer. The engine has one slot for each thread.
    pub(crate) fn engine(&self) -> io::Result<Option<Queue<PrivateJob>>> {
        if self.signer == Signer::AwsLc {
            return Ok(None);
        }
        let units = (0..self.cores.len().max(1))
            .map(|number| Lanes::new(number).map(|lanes| Box::new(lanes) as Box<dyn Unit<_>>));
        let units = units.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let config = tollgate_queue::Config {
            slots_per_caller_max: self.threads,
            ..tollgate_queue::Config::with_capacity(self.threads)
        };
        Queue::start(config, units).map(Some).map_err(refused)
    }

    /// Returns the configuration of rustls. If there is an engine, an RSA key signs through it, and
    /// a key on P-256 with its kernels.
    pub(crate) fn tls(&self, engine: Option<&Queue<PrivateJob>>) -> io::Result<ServerConfig> {
        let Certificate::Pem { chain, key } = self.certificate.to_pem().map_err(refused)? else {
            return Err(refused("the certificate is not PEM: convert it with to_pem()"));
        };
        let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<_, _>>();
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(refused)?;
        let provider = aws_lc_rs::default_provider();
        let key: Arc<dyn rustls::sign::SigningKey> = match engine {
            Some(engine) => match EcdsaKey::from_der(&key) {
                Ok(key) => Arc::new(key),
                Err(_) => Arc::new(SigningKey::from_der(engine, &key).map_err(refused)?),
            },
            None => provider.key_provider.load_private_key(key).map_err(refused)?,
        };
        let certified = CertifiedKey::new(chain.map_err(refused)?, key);
        certified.keys_match().map_err(refused)?;
        tls(provider, certified).map_err(refused)
    }
}

fn tls(provider: CryptoProvider, key: CertifiedKey) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}
