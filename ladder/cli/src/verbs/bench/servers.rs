//! The servers under load: two embedded servers on OpenSSL, two installed servers, or a
//! server that is already running.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use tollgate_load::{
    AccessLog, Descriptions, Mechanism, Naming, Protocol, Server, ServerCounts, Target,
};
use tollgate_profile::Threads;
use tollgate_server::{
    Certificate, Config, Engine, Group, KeyKind, Resumption, Running, Server as Embedded, Suite,
};
use tollgate_stock_servers::{Product, Running as Stock, Settings, module};

use super::options::given::Probed;
use super::{external, plan};
use crate::error::CliError;
use crate::options::Bench as Options;
use tempfile::TempDir;

/// The longest wait for the workers of an installed server.
const WORKERS_TIMEOUT: Duration = Duration::from_secs(2);

/// Servers that are ready for load, with their names in records.
pub(super) struct Rig<'a> {
    options: &'a Options,
    servers: Vec<(Naming, Ready<'a>)>,
    _folder: Option<TempDir>,
}

/// A running server.
pub(in crate::verbs) enum Ready<'a> {
    /// An embedded server on OpenSSL, with its access log and its clients' certificate.
    Embedded(Box<Running>, PathBuf),
    External(&'a Probed),
    Stock(Stock),
}

impl<'a> Rig<'a> {
    /// Starts the servers, each with a key of this type, or finds the external one.
    pub(super) fn start(options: &'a Options, key: KeyKind) -> Result<Self, CliError> {
        if let Some(probed) = &options.given.probed {
            let naming = external::naming(options, probed);
            let servers = vec![(naming, Ready::External(probed))];
            return Ok(Self { options, servers, _folder: None });
        }
        let folder = tollgate::temporary_folder()?;
        let mut servers = Vec::new();
        for request in options.by_kind() {
            servers.extend(match request.kind().stock() {
                Some(product) => stock(&request, product, key)?,
                None => embedded(&request, key, &folder)?,
            });
        }
        let named = |(by, server): (String, _)| (Naming::new(key.to_string(), by), server);
        let servers = servers.into_iter().map(named).collect();
        Ok(Self { options, servers, _folder: Some(folder) })
    }

    pub(super) fn names(&self) -> Vec<Naming> {
        self.servers.iter().map(|(naming, _)| naming.clone()).collect()
    }

    /// Returns the servers for the load generator, with their logs and CPU clocks.
    pub(super) fn servers(&self) -> Result<Vec<Server<'_>>, CliError> {
        self.servers.iter().map(|(naming, server)| server.target(self.options, naming)).collect()
    }

    /// Returns the threads of each server, for a profile.
    pub(super) fn threads(&self) -> Result<Vec<Threads>, CliError> {
        self.servers.iter().map(|(_, server)| server.threads(self.options)).collect()
    }
}

impl Ready<'_> {
    /// Servers in this process share the names of their threads. A profile can still tell them
    /// apart: only the threads of the server under load run.
    pub(in crate::verbs) fn threads(&self, options: &Options) -> Result<Threads, CliError> {
        Ok(match self {
            Self::Embedded(..) => Threads::named("worker-")?,
            Self::External(_) => Threads::OfProcesses(options.given.pid.clone()),
            Self::Stock(running) => threads_of_stock(running)?,
        })
    }

    /// Returns the server for the load generator, with its log and CPU clock.
    pub(in crate::verbs) fn target(
        &self,
        options: &Options,
        naming: &Naming,
    ) -> Result<Server<'_>, CliError> {
        let at = |address| Ok::<_, CliError>(Server::new(&naming.by, Target::new(address)?));
        Ok(match self {
            Self::Embedded(running, path) => {
                let server = at(running.addr())?
                    .with_referee(AccessLog::open(path)?)
                    .with_cpu(|| Ok(running.counters().worker_cpu.iter().sum::<Duration>()));
                with_counts(server, running)
            }
            Self::External(probed) => external::server(options, probed, naming)?,
            Self::Stock(running) => of_stock(&naming.by, running)?,
        })
    }
}

/// Adds the operations with the key, if the engine counts the batches of such a key.
fn with_counts<'a>(server: Server<'a>, running: &'a Running) -> Server<'a> {
    let has_batches = running.key_kind().is_rsa();
    server.with_counts(move || {
        let counters = running.counters();
        let signer = counters.signer.operations.filter(|_| has_batches).unwrap_or_default();
        let (operations, runs) = (signer.total(), signer.runs());
        ServerCounts { operations, runs }
    })
}

/// Returns an installed server for the load generator, with its log and CPU clock.
pub(super) fn of_stock<'a>(by: &str, running: &'a Stock) -> Result<Server<'a>, CliError> {
    let target = Target::new(running.address())?;
    let mut server = Server::new(by, target).with_cpu(|| running.cpu());
    if let Some(address) = running.plain_address() {
        server = server.with_plain(Target::new(address)?);
    }
    if let Some(path) = running.access_log() {
        server = match running.product() {
            Product::Gnutls => server.with_referee(Descriptions::open(&path)?),
            _ => server.with_referee(AccessLog::open(path)?),
        };
    }
    Ok(server)
}

/// Returns the threads of an installed server, for a profile.
pub(super) fn threads_of_stock(running: &Stock) -> Result<Threads, CliError> {
    // Apache's port is open before its master has started the workers.
    let deadline = Instant::now() + WORKERS_TIMEOUT;
    let mut processes = running.workers()?;
    while processes == [running.master()] && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        processes = running.workers()?;
    }
    processes.push(running.master()); // perf also samples the workers that it starts later
    processes.sort_unstable();
    processes.dedup();
    Ok(Threads::OfProcesses(processes))
}

type Named = Vec<(String, Ready<'static>)>;

/// Starts a server on OpenSSL for each requested engine. Each server has its own key.
fn embedded(options: &Options, key: KeyKind, folder: &TempDir) -> Result<Named, CliError> {
    let start = |engine: Engine| {
        let log = folder.path().join(format!("{engine}.log"));
        let started = start_embedded(options, engine, Certificate::SelfSigned(key), log)?;
        Ok((engine.name().to_owned(), started))
    };
    let asked = [Engine::OpenSsl, Engine::Tollgate].into_iter();
    asked.filter(|engine| options.has(*engine)).map(start).collect()
}

/// Starts a server on OpenSSL with this certificate.
pub(in crate::verbs) fn start_embedded(
    options: &Options,
    engine: Engine,
    certificate: Certificate,
    log: PathBuf,
) -> Result<Ready<'static>, CliError> {
    let cores = cores(options);
    let config = Config {
        engine,
        workers: cores.len().max(1),
        pin: (!cores.is_empty()).then_some(cores),
        certificate,
        suites: if options.suites.is_empty() { Vec::new() } else { Suite::ALL.to_vec() },
        groups: groups(options),
        access_log: Some(log.clone()),
        resumption: match options.resume(true).map(|resume| resume.by) {
            None => Resumption::Off,
            Some(Mechanism::SessionId) => Resumption::Cache,
            Some(_) => Resumption::Tickets,
        },
        ..Config::default()
    };
    Ok(Ready::Embedded(Box::new(Embedded::start(config)?), log))
}

/// The groups of an embedded server: first those of the options, because the server's order
/// decides.
fn groups(options: &Options) -> Vec<Group> {
    let named = options.group.iter().filter_map(|name| name.parse().ok());
    let of_protocol = (*options.protocol == [Protocol::Tls12P256]).then_some(Group::P256);
    let usual = options.default_group.and_then(|group| group.name().parse().ok());
    let mut groups: Vec<Group> = named.chain(of_protocol).chain(usual).collect();
    for usual in Config::default().groups {
        if !groups.contains(&usual) {
            groups.push(usual);
        }
    }
    groups
}

/// Returns the provider module: the given one, or the one built with this program.
pub(in crate::verbs) fn provider(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let built = || module().map_err(|error| error!("{error}: --module FILE"));
    // servers start in folders of their own
    given.map_or_else(built, |file| Ok(std::path::absolute(file)?))
}

/// Starts the installed server without the provider and with it. Both servers use the same key.
fn stock(options: &Options, product: Product, key: KeyKind) -> Result<Named, CliError> {
    let has_module = options.has(Engine::Tollgate);
    let module = has_module.then(|| provider(options.module.as_deref())).transpose()?;
    let without = Settings {
        bodies: plan::bodies(options)?,
        cores: plan::server_cores(options),
        // a server needs the same configuration for tickets and for pre-shared keys of tickets
        resumption: options.resume(true).map(|resume| resume.by),
        ..Settings::new(Certificate::SelfSigned(key).to_pem()?)
    };
    if product == Product::Gnutls {
        return Ok(vec![(product.to_string(), Ready::Stock(product.start(&without)?))]);
    }
    let asynchronous = options.asynchronous;
    let with = Settings { module, asynchronous, ..without.clone() };
    let manner = if asynchronous { "-async" } else { "" };
    let named = [
        (Engine::OpenSsl, (format!("{product}-openssl"), without)),
        (Engine::Tollgate, (format!("{product}{manner}-tollgate"), with)),
    ];
    let asked = named.into_iter().filter(|(engine, _)| options.has(*engine));
    asked.map(|(_, (name, settings))| Ok((name, Ready::Stock(product.start(&settings)?)))).collect()
}

fn cores(options: &Options) -> Vec<usize> {
    let cores = plan::server_cores(options);
    cores.into_iter().filter_map(|core| usize::try_from(core).ok()).collect()
}
