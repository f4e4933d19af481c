//! `tollgate bench sensitivity`: the CPU time of nginx for a session, with one change at a time: memory,
//! disk, link, log, and as controls those that must show an effect.
//!
//! Each change has a server of its own. In each round all servers take turns, so that each ratio is of
//! two runs that follow each other closely.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::fs::{FsWord, statfs};
use tollgate_bench::median_estimate;
use tollgate_load::{Limits, Mechanism, Naming, Outcome, Plan, Server, Verdict};
use tollgate_report::sensitivity::{self as table, Change as Row};
use tollgate_report::text::wrapped;
use tollgate_server::{Certificate, KeyKind};
use tollgate_stock_servers::{Product, Running, Settings};

use super::options::sub_verbs::WithProvider as Options;
use super::scenario::{Rounds, Scenario};
use super::turns::{self, Measured};
use super::{context, plan, report};
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::progress::{self, Progress};
use crate::run::Run;

/// A folder that survives a restart of the machine, and so is on a disk.
const DISK: &str = "/var/tmp";

/// A folder in memory.
const MEMORY: &str = "/dev/shm";

/// The type of file systems in memory, in `statfs(2)`.
const TMPFS: FsWord = 0x0102_1994;

/// The length of a TCP segment on Ethernet, whose packets have 1500 bytes.
const ETHERNET_BYTES: u32 = 1460;

/// The largest drift of a run's rate: larger than that of other commands, because other load on the
/// machine changes the rate, but hardly the CPU time of a session.
const DRIFT_MAX: f64 = 0.5;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Baseline,
    FromDisk,
    OpenFiles,
    SessionCache,
    Tmpfs,
    Segments,
    Unbuffered,
    Syslog,
    Provider,
    OtherKey,
}

/// The changes, with the names of their servers in records; the first one is the baseline.
const CHANGES: [(Change, &str, &str); 10] = [
    (Change::Baseline, "nginx-sensitivity-baseline", "baseline"),
    (Change::FromDisk, "nginx-sensitivity-directio", "memory: none for the file"),
    (Change::OpenFiles, "nginx-sensitivity-openfiles", "memory: the file stays open"),
    (Change::SessionCache, "nginx-sensitivity-cache", "memory: 16 MB for sessions"),
    (Change::Tmpfs, "nginx-sensitivity-tmpfs", "disk: none, but memory"),
    (Change::Segments, "nginx-sensitivity-ethernet", "link: segments of Ethernet"),
    (Change::Unbuffered, "nginx-sensitivity-unbuffered", "log: each line at once"),
    (Change::Syslog, "nginx-sensitivity-syslog", "log: also to syslog"),
    (Change::Provider, "nginx-sensitivity-provider", "control: Tollgate's provider"),
    (Change::OtherKey, "nginx-sensitivity-key", "control: "),
];

impl Change {
    /// Returns the type of the server's key.
    fn key(self, own: KeyKind) -> KeyKind {
        let rsa = |bits| KeyKind::Rsa { bits };
        match self {
            Self::OtherKey if own == rsa(2048) => rsa(3072),
            Self::OtherKey => rsa(2048),
            _ => own,
        }
    }

    fn settings(self, base: &Settings, syslog: u16, module: &Path) -> Settings {
        let with = |name: &str, value: &str| Settings {
            directives: [(format!("http.{name}"), value.to_owned())].into(),
            ..base.clone()
        };
        match self {
            Self::Baseline | Self::Segments | Self::OtherKey => base.clone(),
            Self::FromDisk => with("directio", "512"),
            Self::OpenFiles => with("open_file_cache", "max=100"),
            Self::SessionCache => {
                Settings { resumption: Some(Mechanism::SessionId), ..base.clone() }
            }
            Self::Tmpfs => Settings { parent: Some(MEMORY.into()), ..base.clone() },
            Self::Unbuffered => with("access_log", "{folder}/access.log tollgate"),
            Self::Syslog => {
                with("access_log#syslog", &format!("syslog:server=127.0.0.1:{syslog} tollgate"))
            }
            Self::Provider => Settings { module: Some(module.to_owned()), ..base.clone() },
        }
    }
}

/// Measures the servers in turn, and prints a table.
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    for (folder, is_in_memory) in [(DISK, false), (MEMORY, true)] {
        let system = statfs(folder).map_err(|error| error!("{folder}: {error}"))?;
        if (system.f_type == TMPFS) != is_in_memory {
            let needed = if is_in_memory { "in memory (tmpfs)" } else { "on a disk" };
            bail!("{folder} is not {needed}, so disk and memory cannot be compared: mount it so");
        }
    }
    let mut run = Run::measuring(options.turns.written.json.as_deref())?;
    let bench = turns::request(&options.turns, options.key);
    let progress = Progress::new("bench");
    progress::plan(1, plan::seconds(&bench) * f64::from(u32::try_from(CHANGES.len())?));
    progress::row(0, "one change at a time");
    let rounds = measure(&bench, options)?;
    drop(progress);
    if interrupt::asked() {
        return run.end("");
    }
    let name =
        |&(change, by, _): &(Change, &str, _)| Naming::new(change.key(options.key).to_string(), by);
    let names: Vec<Naming> = CHANGES.iter().map(name).collect();
    let repeated = rounds.iter().map(|measured| measured.repeated).sum();
    let outcomes: Vec<Vec<Outcome>> = rounds.into_iter().map(|of| of.outcomes).collect();
    let rows = rows(&outcomes, options.key);
    let of = Rounds { outcomes, repeated, broken: None };
    let label = format!("one change at a time, {}", options.key);
    let scenario = Scenario::of(label, of, &names, &context(&bench, &run.host))?;
    run.output.records(&scenario.records)?;
    let mut text = report::machine(&run.host) + "\n" + &scenario.verdict_text();
    let rows = rows.filter(|_| scenario.verdict() != Verdict::Invalid);
    if let Some(rows) = &rows {
        text += &format!("\n{}", table::table(rows));
        if !rows.last().is_some_and(Row::has_effect) {
            text += &wrapped(
                "the other key shows no effect, so this run can show none: repeat with more --rounds \
                 and --seconds",
            );
        }
    }
    let code = run.end(&text)?;
    Ok(if rows.is_some() { code } else { ExitCode::FAILURE })
}

fn measure(bench: &Bench, options: &Options) -> Result<Vec<Measured>, CliError> {
    let base = plan::plans(bench)?.remove(0);
    let plan = Plan { limits: Limits { trend: DRIFT_MAX, ..base.limits }, ..base };
    let module = super::servers::provider(options.module.as_deref())?;
    // nobody reads what it receives; the system drops it
    let syslog = UdpSocket::bind("127.0.0.1:0")?;
    let servers = start(bench, syslog.local_addr()?.port(), &module)?;
    let target = |(&(change, by, _), running): (&(Change, _, _), _)| {
        let server: Server<'_> = super::servers::of_stock(by, running)?;
        Ok::<_, CliError>(match change {
            Change::Segments => {
                let target = server.target.clone().with_segment_bytes(ETHERNET_BYTES);
                Server { target, ..server }
            }
            _ => server,
        })
    };
    let mut targets = CHANGES.iter().zip(&servers).map(target).collect::<Result<Vec<_>, _>>()?;
    let mut rounds: Vec<Measured> = CHANGES.iter().map(|_| Measured::default()).collect();
    turns::measure(bench, &[&plan; CHANGES.len()], &mut targets, &mut rounds)?;
    Ok(rounds)
}

/// Starts a server for each change. All have the same key, except the one of that control.
fn start(bench: &Bench, syslog: u16, module: &Path) -> Result<Vec<Running>, CliError> {
    let own = bench.keys()[0];
    let base = Settings {
        bodies: vec![bench.bytes],
        cores: plan::server_cores(bench),
        parent: Some(PathBuf::from(DISK)),
        ..Settings::new(Certificate::SelfSigned(own).to_pem()?)
    };
    let start = |&(change, ..): &(Change, &str, &str)| {
        let mut settings = change.settings(&base, syslog, module);
        if change.key(own) != own {
            settings.certificate = Certificate::SelfSigned(change.key(own)).to_pem()?;
        }
        Ok(Product::Nginx.start(&settings)?)
    };
    CHANGES.iter().map(start).collect()
}

/// Returns a row for each change; `None` if a run is invalid or has no CPU time.
fn rows(outcomes: &[Vec<Outcome>], key: KeyKind) -> Option<Vec<Row>> {
    let all = |outcomes: &[Outcome], of: fn(&Outcome) -> Option<f64>| {
        outcomes.iter().map(of).collect::<Option<Vec<f64>>>()
    };
    let baseline = all(outcomes.first()?, Outcome::server_cpu_ns_per_session)?;
    let row = |(&(change, _, words), outcomes): (&(Change, _, &str), &Vec<Outcome>)| {
        let cpu = all(outcomes, Outcome::server_cpu_ns_per_session)?;
        let ratios: Vec<f64> = cpu.iter().zip(&baseline).map(|(own, base)| own / base).collect();
        let words = match change {
            Change::OtherKey => format!("{words}{}", change.key(key).to_string().to_uppercase()),
            _ => words.to_owned(),
        };
        Some(Row {
            words,
            cpu_ns: median_estimate(&cpu)?,
            relative: median_estimate(&ratios)?,
            per_s: median_estimate(&all(outcomes, Outcome::sessions_per_s)?)?,
        })
    };
    CHANGES.iter().zip(outcomes).map(row).collect()
}
