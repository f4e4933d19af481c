//! The servers under load: two embedded ones on OpenSSL or rustls, two installed ones, or a running
//! one.

use core::time::Duration;
use std::path::PathBuf;

use tollgate_load::{AccessLog, Naming, Server, Target};
use tollgate_rustls_server::{Running as Blocking, Signer};
use tollgate_server::{
    Certificate, Config, Engine, KeyKind, Resumption, Running, Server as Embedded, Suite,
};
use tollgate_stock_servers::{Product, Running as Stock, Settings, module};

use super::external::External;
use super::plan;
use crate::error::CliError;
use crate::folder::Folder;
use crate::options::{Bench as Options, EngineKind, ServerKind};

/// The engines, the baseline first.
const ENGINES: [(EngineKind, Engine); 2] =
    [(EngineKind::Openssl, Engine::OpenSsl), (EngineKind::Tollgate, Engine::Tollgate)];

/// The signers for rustls, the baseline first.
const SIGNERS: [(EngineKind, Signer); 2] =
    [(EngineKind::AwsLc, Signer::AwsLc), (EngineKind::Tollgate, Signer::Engine)];

/// Selects those that the options ask for.
fn asked<T>(options: &Options, all: impl IntoIterator<Item = (EngineKind, T)>) -> Vec<T> {
    let asked = all.into_iter().filter(|(engine, _)| options.has(*engine));
    asked.map(|(_, server)| server).collect()
}

/// Servers that are ready for load.
pub(super) enum Rig {
    /// Both engines, each with its own key of the same type.
    Embedded { key: KeyKind, servers: Vec<(Engine, Running, PathBuf)>, _folder: Folder },
    /// rustls with both signers, and one key.
    Rustls { key: KeyKind, servers: Vec<(Signer, Blocking)> },
    /// An installed server without and with the provider, and one key.
    Stock { key: KeyKind, servers: Vec<(String, Stock)> },
    /// A running server.
    External { given: Box<External>, naming: Naming },
}

impl Rig {
    /// Starts the embedded servers, or finds the external one.
    pub(super) fn start(options: &Options, key: KeyKind) -> Result<Self, CliError> {
        if let Some(probed) = &options.given.probed {
            let given = External::of(options, probed);
            let naming = given.naming(probed);
            return Ok(Self::External { given: Box::new(given), naming });
        }
        if let Some(product) = options.server.stock() {
            return Self::stock(options, product, key);
        }
        let cores: Vec<usize> = plan::server_cores(options)
            .iter()
            .filter_map(|core| usize::try_from(*core).ok())
            .collect();
        if options.server == ServerKind::Rustls {
            return Self::rustls(options, key, &cores);
        }
        let folder = Folder::new()?;
        let start = |engine: Engine| {
            let log = folder.path(&format!("{engine}.log"));
            let config = Config {
                engine,
                workers: cores.len().max(1),
                pin: (!cores.is_empty()).then(|| cores.clone()),
                certificate: Certificate::SelfSigned(key),
                allow_rsa_1024: true, // as --key says
                allow_rsa_kx: true,   // the client offers one suite: that of the plan
                suites: if options.suites.is_empty() { Vec::new() } else { Suite::ALL.to_vec() },
                access_log: Some(log.clone()),
                resumption: match options.resume(true).is_some() {
                    true => Resumption::Tickets,
                    false => Resumption::Off,
                },
                ..Config::default()
            };
            Ok((engine, Embedded::start(config)?, log))
        };
        let servers =
            asked(options, ENGINES).into_iter().map(start).collect::<Result<_, CliError>>()?;
        Ok(Self::Embedded { key, servers, _folder: folder })
    }

    fn rustls(options: &Options, key: KeyKind, cores: &[usize]) -> Result<Self, CliError> {
        if key == KeyKind::OF_2001 {
            let why =
                "--server rustls: rustls takes RSA keys from 2048 bits on: give another --key";
            return Err(CliError::new(why));
        }
        let certificate = Certificate::SelfSigned(key).to_pem()?;
        let start = |signer| {
            let (certificate, cores) = (certificate.clone(), cores.to_vec());
            let threads = usize::try_from(options.connections).unwrap_or(usize::MAX);
            let config = tollgate_rustls_server::Config { certificate, cores, signer, threads };
            Ok((signer, Blocking::start(&config)?))
        };
        let servers =
            asked(options, SIGNERS).into_iter().map(start).collect::<Result<_, CliError>>()?;
        Ok(Self::Rustls { key, servers })
    }

    /// Starts the installed server without and with the provider.
    fn stock(options: &Options, product: Product, key: KeyKind) -> Result<Self, CliError> {
        let module = match &options.module {
            _ if !options.has(EngineKind::Tollgate) => None,
            Some(module) => Some(module.clone()),
            None => {
                Some(module().map_err(|error| CliError::new(format!("{error}: --module FILE")))?)
            }
        };
        let without = Settings {
            bodies: plan::bodies(options)?,
            cores: plan::server_cores(options),
            // the configuration is the same for tickets and for keys of tickets
            resumption: options.resume(true).map(|resume| resume.by),
            ..Settings::new(Certificate::SelfSigned(key).to_pem()?)
        };
        let asynchronous = options.asynchronous;
        let with = Settings { module, asynchronous, ..without.clone() };
        let manner = if asynchronous { "-async" } else { "" };
        let named = [
            (EngineKind::Openssl, (format!("{product}-openssl"), without)),
            (EngineKind::Tollgate, (format!("{product}{manner}-tollgate"), with)),
        ];
        let start = |(name, settings): (String, Settings)| Ok((name, product.start(&settings)?));
        let servers = asked(options, named).into_iter().map(start);
        Ok(Self::Stock { key, servers: servers.collect::<Result<_, CliError>>()? })
    }

    /// Their names in records.
    pub(super) fn names(&self) -> Vec<Naming> {
        match self {
            Self::Embedded { key, servers, .. } => servers
                .iter()
                .map(|(engine, ..)| Naming { key: key.to_string(), by: engine.to_string() })
                .collect(),
            Self::Rustls { key, servers } => servers
                .iter()
                .map(|(signer, _)| Naming { key: key.to_string(), by: signer.name().to_owned() })
                .collect(),
            Self::Stock { key, servers } => servers
                .iter()
                .map(|(name, _)| Naming { key: key.to_string(), by: name.clone() })
                .collect(),
            Self::External { naming, .. } => vec![naming.clone()],
        }
    }

    /// The servers for the load generator, with their logs and CPU clocks.
    pub(super) fn servers(&self) -> Result<Vec<Server<'_>>, CliError> {
        match self {
            Self::Embedded { servers, .. } => servers
                .iter()
                .map(|(engine, running, path)| {
                    Ok(Server::new(engine.name(), Target::new(running.addr())?)
                        .with_referee(AccessLog::open(path)?)
                        .with_cpu(|| Ok(running.counters().worker_cpu.iter().sum::<Duration>())))
                })
                .collect(),
            Self::Rustls { servers, .. } => servers
                .iter()
                .map(|(signer, running)| {
                    Ok(Server::new(signer.name(), Target::new(running.addr())?)
                        .with_referee(running.referee())
                        .with_cpu(|| Ok(running.cpu())))
                })
                .collect(),
            Self::Stock { servers, .. } => servers
                .iter()
                .map(|(name, running)| {
                    let mut server = Server::new(name, Target::new(running.address())?)
                        .with_cpu(|| running.cpu());
                    if let Some(address) = running.plain_address() {
                        server = server.with_plain(Target::new(address)?);
                    }
                    if let Some(path) = running.access_log() {
                        server = server.with_referee(AccessLog::open(path)?);
                    }
                    Ok(server)
                })
                .collect(),
            Self::External { given, naming } => Ok(vec![given.server(naming)?]),
        }
    }
}
