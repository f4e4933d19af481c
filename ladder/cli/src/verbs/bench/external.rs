//! `tollgate bench URL`: a running server. It is examined before any load, and its access log and
//! CPU clock are the evidence.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, ErrorKind};
use std::path::Path;

use tollgate_agents::Controller;
use tollgate_load::{AccessLog, CgroupCpu, CpuMeter, Naming, Server, processes_cpu};
use tollgate_probe::{Scheme, Site, resolve};
use tollgate_record::Subject;
use tollgate_record::vocabulary as word;
use tollgate_report::text::wrapped;
use tollgate_server::log::Line;

use super::options::given::Probed;
use super::plan;
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench as Options;
use crate::verbs::agent;

/// Examines the server at the URL, if there is one, and adds its properties to the options.
pub(super) fn applied(options: &Options) -> Result<Options, CliError> {
    let Some(url) = &options.given.target else { return Ok(options.clone()) };
    let is_plain = url.scheme() == Scheme::Http;
    evidence(options)?; // reports a wrong path before the first request
    let may_test = options.given.i_may_test.as_deref();
    let site = Site::find(url, may_test, &resolve)?;
    let form = options.given.request_form()?;
    let probe = site.probe((!options.handshake_only).then_some(&form))?;
    let choice = probe.choice();
    if choice.is_none() && !is_plain {
        bail!("{url}: it has no suite and group that this client can ask for together");
    }
    let mut options = options.clone();
    if let Some(bytes) = probe.body.as_ref().and_then(|body| body.bytes) {
        options.bytes = bytes;
    }
    let agents = agents(&options, &site)?;
    options.given.probed = Some(Probed { site, probe, choice, agents });
    Ok(options)
}

/// Enrols the agents, if the options name some.
fn agents(options: &Options, site: &Site) -> Result<Option<Controller>, CliError> {
    let nats = options.given.nats.connection();
    let Some((address, nats)) = options.given.agents.as_ref().zip(nats) else { return Ok(None) };
    let target = tollgate_agents::Site {
        url: site.url().to_string(),
        address: site.target().address(),
        may_test: options.given.i_may_test.clone(),
    };
    let version = agent::version();
    Ok(Some(Controller::start(address, &nats, &target, &version, &interrupt::asked)?))
}

pub(super) fn heading(options: &Options) -> String {
    let Some(probed) = &options.given.probed else { return String::new() };
    let (url, address) = (probed.site.url(), probed.site.target().address());
    let mut text = wrapped(&format!("{url}, at {address}:"));
    for line in probed.probe.lines() {
        text += &wrapped(&format!("- {line}"));
    }
    for line in probed.agents.iter().flat_map(Controller::lines) {
        text += &wrapped(&format!("- {line}"));
    }
    text
}

/// Returns the server's name in records: the name of its engine, if the log was written by a
/// Tollgate server that names its engine.
pub(super) fn naming(options: &Options, probed: &Probed) -> Naming {
    let by = options.given.log.as_deref().and_then(engine_of);
    Naming::new(probed.key(), by.unwrap_or_else(|| "external".to_owned()))
}

/// Returns the server for the load generator, with its log and CPU clock.
pub(super) fn server<'a>(
    options: &Options,
    probed: &Probed,
    naming: &Naming,
) -> Result<Server<'a>, CliError> {
    let target = probed.site.target();
    let mut server = Server::new(&naming.by, target.clone());
    if probed.is_plain() {
        server = server.with_plain(target.clone());
    }
    if let Some(agents) = &probed.agents {
        server = server.with_agents(agents.clone());
    }
    let (log, meter) = evidence(options)?;
    server.referee = log.map(|log| Box::new(log) as _);
    server.cpu = meter;
    Ok(server)
}

/// Access log and CPU clock, if given.
type Evidence = (Option<AccessLog>, Option<Box<CpuMeter<'static>>>);

/// Opens the log and the CPU clock that the options name.
fn evidence(options: &Options) -> Result<Evidence, CliError> {
    let log = options.given.log.as_ref().map(AccessLog::open).transpose();
    let log = log.map_err(|why| match why.kind() {
        ErrorKind::PermissionDenied => error!("--log: {why}: run this as a user who may read it"),
        _ => error!("--log: {why}: name the log that the server writes now"),
    })?;
    let log = log.map(|log| match options.given.log_format {
        Some(format) => log.written_as(format),
        None => log,
    });
    let of_flag = |flag: &'static str| move |why: io::Error| error!("{flag}: {why}");
    let meter: Option<Box<CpuMeter<'static>>> = match &options.given.cgroup {
        Some(path) => {
            let group = CgroupCpu::new(path).map_err(of_flag("--cgroup"))?;
            Some(Box::new(move || group.cpu()))
        }
        None if options.given.pid.is_empty() => None,
        None => {
            check_workers(&options.given.pid)?;
            let processes = options.given.pid.clone();
            processes_cpu(&processes).map_err(of_flag("--pid"))?;
            Some(Box::new(move || processes_cpu(&processes)))
        }
    };
    Ok((log, meter))
}

/// Refuses a parent process: it has almost no CPU time, because its workers do the measured work.
fn check_workers(named: &[u32]) -> Result<(), CliError> {
    let started = named.iter().flat_map(|process| started_by(*process));
    let unnamed: Vec<u32> = started.filter(|process| !named.contains(process)).collect();
    if unnamed.is_empty() {
        return Ok(());
    }
    let all = plan::listed(&[named, &unnamed].concat());
    bail!("--pid: these have started others, its workers: give --pid {}, or --cgroup", all)
}

/// Returns the child processes; empty if the kernel does not list them (`CONFIG_PROC_CHILDREN`).
fn started_by(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all = lists.collect::<Vec<_>>().concat();
    all.split_ascii_whitespace().filter_map(|process| process.parse().ok()).collect()
}

/// Returns the engine that a Tollgate server logged at its last start. The log is untrusted, so the
/// word must be valid in a subject.
fn engine_of(log: &Path) -> Option<String> {
    let lines = BufReader::new(File::open(log).ok()?).lines().map_while(Result::ok);
    let start = |line: String| match serde_json::from_str(&line) {
        Ok(Line::Start(start)) => Some(start.engine),
        _ => None,
    };
    let is_word = |engine: &String| {
        let server: Result<Subject, _> = "server".parse();
        server.and_then(|server| server.with(word::BY, engine)).is_ok()
    };
    lines.filter_map(start).last().filter(is_word)
}
