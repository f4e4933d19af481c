//! Servers started from setups, and their loads in turn.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::PathBuf;

use clap::ValueEnum as _;
use rustix::fs::{FsWord, statfs};
use tempfile::TempDir;
use tollgate_load::{Finding, Freshness, Mechanism, Naming, Outcome, Plan, Server, Verdict, run};
use tollgate_profile::Threads;
use tollgate_server::{Certificate, Engine};
use tollgate_stock_servers::{Product, Running as Stock, Settings};
use tollgate_tune::{Setup, Storage};

use super::command::{self, Counted};
use super::options::{measured_key, protocol, session, verify};
use super::profile::Profiler;
use super::scenario::is_unsteady;
use super::servers::{self, Ready};
use super::turns::{self, Measured, Next};
use super::{external, plan};
use crate::error::CliError;
use crate::interrupt;
use crate::options::values::defaults;
use crate::options::{Bench, Mode, ServerKind};
use crate::progress;

/// A folder that survives a restart of the machine, and so is on a disk.
const DISK: &str = "/var/tmp";

/// A folder in memory.
const MEMORY: &str = "/dev/shm";

/// The type of file systems in memory, in `statfs(2)`.
const TMPFS: FsWord = 0x0102_1994;

/// Starts servers.
pub(in crate::verbs) struct Starter {
    /// The options that all loads share.
    base: Bench,
    client_cpu_max: Option<f64>,
    /// By type of key, so that all servers with a type share the certificate.
    certificates: BTreeMap<String, Certificate>,
    /// The access logs of embedded servers.
    folder: TempDir,
    started: u32,
    /// A port whose packets nobody reads; the system drops them.
    sink: UdpSocket,
}

/// A server that runs, and its load.
pub(in crate::verbs) struct Started {
    pub(in crate::verbs) setup: Setup,
    pub(in crate::verbs) plan: Plan,
    /// The load as a request of `tollgate bench`.
    pub(in crate::verbs) bench: Bench,
    pub(in crate::verbs) version: String,
    /// `None` for a server at a URL.
    running: Option<Ready<'static>>,
    _backend: Option<Stock>,
}

impl Starter {
    /// `base` has rounds, seconds, cores and limits of all loads.
    pub(in crate::verbs) fn new(
        base: Bench,
        client_cpu_max: Option<f64>,
    ) -> Result<Self, CliError> {
        Ok(Self {
            base: Bench { server: vec![ServerKind::Nginx], ..base },
            client_cpu_max,
            certificates: BTreeMap::new(),
            folder: tollgate::temporary_folder()?,
            started: 0,
            sink: UdpSocket::bind("127.0.0.1:0")?,
        })
    }

    /// Returns the load of a setup, without starting a server.
    pub(in crate::verbs) fn planned(&self, setup: &Setup) -> Result<(Bench, Plan), CliError> {
        let wrong = |field: &'static str| move |why: String| error!("{field}: {why}");
        let key = measured_key(&setup.key).ok_or_else(|| {
            error!("key: {}: give rsa-1024, rsa-2048, rsa-3072, rsa-4096 or ecdsa-p256", setup.key)
        })?;
        let protocol = protocol(&setup.protocol).map_err(wrong("protocol"))?;
        let by = setup.resume_by.as_deref().map(session::mechanism).transpose();
        let mut bench = Bench {
            key: vec![key],
            protocol: if setup.suite.is_none() { vec![protocol] } else { Vec::new() },
            suites: setup.suite.iter().cloned().collect(),
            group: setup.group.iter().cloned().collect(),
            bytes: setup.bytes.unwrap_or(self.base.bytes),
            verify: verify(&setup.verify).map_err(wrong("verify"))?,
            key_share: if setup.reuse_key_share { Freshness::Reuse } else { Freshness::Fresh },
            ..self.base.clone()
        };
        bench.load.connections = setup.connections.unwrap_or(self.base.load.connections);
        bench.clients.mix.requests_per_connection = f64::from(setup.requests);
        bench.clients.mix.http_share = setup.plain;
        bench.clients.mix.resumed_share = setup.resumed;
        bench.clients.mix.resume_by = by.map_err(wrong("resume_by"))?;
        if let Some(cores) = setup.cores {
            let all = u32::try_from(std::thread::available_parallelism()?.get())?;
            if cores == 0 || cores > all {
                bail!("cores: {cores}: this machine has {all}: give 1 to {all}");
            }
            bench.server_cores = (all - cores..all).collect();
        }
        bench.given.log.clone_from(&setup.log);
        bench.given.pid.clone_from(&setup.pid);
        if setup.server.contains("://") {
            let url = setup.server.parse();
            bench.given.target =
                Some(url.map_err(|why| error!("server: {}: {why}", setup.server))?);
            bench = external::applied(&bench)?;
        } else {
            kind_of(setup)?;
            sessions_of(setup)?;
        }
        let plan = plan::plans(&bench, key)?.into_iter().next();
        let mut plan = plan.ok_or_else(|| error!("the load has no plan"))?;
        if let Some(share) = self.client_cpu_max {
            plan.limits.client_cpu = share;
        }
        Ok((bench, plan))
    }

    /// Starts the server of a setup.
    pub(in crate::verbs) fn start(&mut self, setup: Setup) -> Result<Started, CliError> {
        let (mut bench, plan) = self.planned(&setup)?;
        let (mut running, mut backend, mut version) = (None, None, String::new());
        if bench.given.target.is_none() {
            let (kind, product) = kind_of(&setup)?;
            let certificate = self.certificate(&setup.key)?;
            bench.server = kind.into_iter().collect();
            running = Some(match (product, kind) {
                (Some(product), _) => {
                    if setup.backend {
                        backend = Some(Product::Nginx.start(&Settings {
                            bodies: plan.bodies().into_iter().collect(),
                            cores: plan::client_cores(&bench),
                            ..Settings::new(certificate.clone())
                        })?);
                    }
                    let mut settings = self.settings(&setup, &bench, &plan, certificate)?;
                    settings.backend = backend.as_ref().and_then(Stock::plain_address);
                    version = product.version().unwrap_or_default();
                    Ready::Stock(product.start(&settings)?)
                }
                (None, _) => {
                    let is_ours = setup.provider && setup.key.starts_with("rsa");
                    let engine = if is_ours { Engine::Tollgate } else { Engine::OpenSsl };
                    if let Some(sessions) = sessions_of(&setup)? {
                        bench.clients.mix.resume_by = sessions;
                    }
                    self.started += 1;
                    let log = self.folder.path().join(format!("{}.log", self.started));
                    version = env!("CARGO_PKG_VERSION").to_owned();
                    servers::start_embedded(&bench, engine, certificate, log)?
                }
            });
        }
        Ok(Started { setup, plan, bench, version, running, _backend: backend })
    }

    /// Returns the settings of an installed server.
    fn settings(
        &self,
        setup: &Setup,
        bench: &Bench,
        plan: &Plan,
        certificate: Certificate,
    ) -> Result<Settings, CliError> {
        let module = setup.provider.then(|| servers::provider(self.base.module.as_deref()));
        let sink = self.sink.local_addr()?.port().to_string();
        let directive =
            |(name, value): (&String, &String)| (name.clone(), value.replace("{sink}", &sink));
        Ok(Settings {
            module: module.transpose()?,
            provider: setup.settings.clone(),
            command: setup.command.clone(),
            bodies: plan.bodies().into_iter().collect(),
            cores: plan::server_cores(bench),
            asynchronous: setup.asynchronous,
            resumption: sessions_of(setup)?.unwrap_or(plan.resume.map(|resume| resume.by)),
            directives: setup.directives.iter().map(directive).collect(),
            environment: setup.environment.clone(),
            parent: folder(setup.storage)?,
            ..Settings::new(certificate)
        })
    }

    fn certificate(&mut self, key: &str) -> Result<Certificate, CliError> {
        if let Some(known) = self.certificates.get(key) {
            return Ok(known.clone());
        }
        let kind = measured_key(key).ok_or_else(|| error!("key: {key} is not known"))?;
        let made = Certificate::SelfSigned(kind).to_pem()?;
        self.certificates.insert(key.to_owned(), made.clone());
        Ok(made)
    }
}

/// Returns the kind of the server, unless a command starts the server, and the installed product.
fn kind_of(setup: &Setup) -> Result<(Option<ServerKind>, Option<Product>), CliError> {
    if setup.server == Product::Command.word() {
        return Ok((None, Some(Product::Command)));
    }
    let kind = ServerKind::from_str(&setup.server, false).ok();
    let kind = kind.filter(|kind| *kind != ServerKind::Gnutls).ok_or_else(|| {
        error!(
            "server: {}: give nginx, haproxy, apache, lighttpd, openssl, command, or a URL",
            setup.server
        )
    })?;
    Ok((Some(kind), kind.stock()))
}

/// Returns how the server keeps sessions, if the setup says so.
fn sessions_of(setup: &Setup) -> Result<Option<Option<Mechanism>>, CliError> {
    let word = setup.sessions.as_deref();
    let named = |word| if word == "none" { Ok(None) } else { session::mechanism(word).map(Some) };
    word.map(named).transpose().map_err(CliError::about("sessions"))
}

/// Returns the folder of the server's files; `None` for that of temporary files.
fn folder(storage: Storage) -> Result<Option<PathBuf>, CliError> {
    let (folder, is_in_memory) = match storage {
        Storage::Any => return Ok(None),
        Storage::Disk => (DISK, false),
        Storage::Memory => (MEMORY, true),
    };
    let system = statfs(folder).map_err(|error| error!("{folder}: {error}"))?;
    if (system.f_type == TMPFS) != is_in_memory {
        let needed = if is_in_memory { "in memory (tmpfs)" } else { "on a disk" };
        bail!("{folder} is not {needed}, so disk and memory cannot be compared: mount it so");
    }
    Ok(Some(folder.into()))
}

impl Started {
    /// Returns the server for the load generator, with its log and CPU clock.
    pub(in crate::verbs) fn target(&self, naming: &Naming) -> Result<Server<'_>, CliError> {
        let mut server = match (&self.running, &self.bench.given.probed) {
            (Some(running), _) => running.target(&self.bench, naming)?,
            (None, Some(probed)) => external::server(&self.bench, probed, naming)?,
            (None, None) => bail!("the server has no address"),
        };
        if let Some(bytes) = self.setup.segment_bytes {
            server.target = server.target.with_segment_bytes(bytes);
        }
        Ok(server)
    }

    fn threads(&self) -> Result<Threads, CliError> {
        match &self.running {
            Some(running) => running.threads(&self.bench),
            None => Ok(Threads::OfProcesses(self.setup.pid.clone())),
        }
    }
}

/// A run of a client.
pub(in crate::verbs) enum Ran {
    Load(Box<Outcome>),
    Command(Counted),
}

impl Ran {
    pub(in crate::verbs) fn per_s(&self) -> Option<f64> {
        match self {
            Self::Load(outcome) => outcome.sessions_per_s(),
            Self::Command(counted) => counted.per_s(),
        }
    }

    pub(in crate::verbs) fn server_cpu_ns(&self) -> Option<f64> {
        match self {
            Self::Load(outcome) => outcome.server_cpu_ns_per_session(),
            Self::Command(counted) => counted.server_cpu_ns(),
        }
    }

    pub(in crate::verbs) fn client_cpu_ns(&self) -> Option<f64> {
        match self {
            Self::Load(outcome) => outcome.client_cpu_ns_per_session(),
            Self::Command(counted) => counted.client_cpu_ns(),
        }
    }

    /// Accepts a run of which only the share of resumed sessions differs from the plan: processes
    /// that do not share sessions refuse those of each other.
    pub(in crate::verbs) fn accept_refused_sessions(&mut self) {
        let Self::Load(outcome) = self else { return };
        outcome.reasons.retain(|reason| !matches!(reason, Finding::ResumedOffPlan { .. }));
        if outcome.reasons.is_empty() && outcome.verdict == Verdict::Invalid {
            outcome.verdict = Verdict::Valid;
        }
    }
}

/// Returns the outcomes of the load generator.
pub(in crate::verbs) fn outcomes(runs: &[Ran]) -> Vec<Outcome> {
    let outcome = |run: &Ran| match run {
        Ran::Load(outcome) => Some((**outcome).clone()),
        Ran::Command(_) => None,
    };
    runs.iter().filter_map(outcome).collect()
}

/// Runs every server once in each round. `None` after Ctrl-C.
pub(in crate::verbs) fn measure(
    rounds: u32,
    servers: &[(&Started, Naming)],
    profiler: Option<&Profiler>,
) -> Result<Option<Vec<Measured<Ran>>>, CliError> {
    let targets = servers.iter().map(|(started, naming)| started.target(naming));
    let mut targets: Vec<Server<'_>> = targets.collect::<Result<_, _>>()?;
    if let Some(profiler) = profiler {
        let threads = servers.iter().map(|(started, _)| started.threads());
        profiler.look(&mut targets, threads.collect::<Result<_, _>>()?);
    }
    let repeats = servers.first().map_or(0, |(started, _)| started.bench.load.repeats);
    let mut measured: Vec<Measured<Ran>> = servers.iter().map(|_| Measured::default()).collect();
    let once = |at: usize, part: &mut dyn FnMut(f64)| {
        let (started, target) = (servers[at].0, &mut targets[at]);
        if let Some(text) = &started.setup.client {
            let load = (&started.plan, started.bench.bytes);
            return command::run(text, load, target, &interrupt::asked).map(Ran::Command);
        }
        let outcome = run(&started.plan, target, &interrupt::asked, &mut |_, done| part(done))?;
        Ok(Ran::Load(Box::new(outcome)))
    };
    let next = |ran: &Ran, is_last: bool| match ran {
        Ran::Load(outcome) if is_unsteady(outcome) && !is_last => Next::Repeat,
        _ => Next::Go,
    };
    turns::in_turn((rounds, repeats), &mut measured, once, next, progress::part)?;
    Ok((!interrupt::asked()).then_some(measured))
}

/// Returns the options that all loads of an experiment share; the rest is in the setups.
pub(super) fn base(rounds: u32, seconds: f64) -> Bench {
    Bench {
        mode: Mode::Rounds,
        engine: vec![Engine::OpenSsl], // one server, so any number of rounds is allowed
        rounds,
        seconds,
        ..defaults()
    }
}
