//! `tollgate signer`: signs and decrypts for front ends until a signal stops it.

use core::slice;
use core::time::Duration;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use tollgate_signer::{Config, Report, Running, confine, hide_memory};

use crate::command_line::seconds;
use crate::error::CliError;
use crate::interrupt::{self, Request};
use crate::output::{check_stdout, print, say, wrapped};

#[derive(Args, Clone, Debug)]
pub(crate) struct Signer {
    /// Check settings, keys and certificates, but neither sockets nor the audit log; then end
    #[arg(long)]
    pub(crate) check: bool,

    /// Settings in TOML: sockets, keys, clients and limits
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,

    /// Seconds to answer requests after a signal to stop
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    pub(crate) drain: f64,
}

/// A running signer and the file of its settings.
struct Serving {
    file: PathBuf,
    running: Running,
}

impl Serving {
    /// Answers signals, and the watchdog of systemd, until a signal stops the signer.
    fn until_stopped(&self) {
        tell_systemd(&NotifyState::Ready);
        let watchdog = sd_notify::watchdog_enabled();
        let period = watchdog.map_or(Duration::MAX, |limit| limit / 3);
        loop {
            match interrupt::next(period) {
                None => {}
                Some(Request::Reload) => self.reload(),
                Some(Request::ReopenLog) => {
                    if let Err(why) = self.running.reopen_log() {
                        say(&format!("tollgate: the old audit log stays in use: {why}"));
                    }
                }
                Some(Request::Stop) => return tell_systemd(&NotifyState::Stopping),
            }
            match watchdog {
                None => {}
                Some(_) if self.running.responds(period) => tell_systemd(&NotifyState::Watchdog),
                Some(_) => say("tollgate: a worker does not respond; systemd restarts the service"),
            }
        }
    }

    /// Reads the settings, the keys and the certificates again.
    fn reload(&self) {
        let reloaded =
            Config::from_file(&self.file).and_then(|config| self.running.reload(&config));
        match reloaded {
            Ok(()) => say("tollgate: keys and clients are those read now"),
            Err(why) => say(&format!("tollgate: the old keys and clients stay in use: {why}")),
        }
    }
}

/// Does nothing unless systemd has started this program.
fn tell_systemd(state: &NotifyState<'_>) {
    if let Err(why) = sd_notify::notify(slice::from_ref(state)) {
        say(&format!("tollgate: cannot notify systemd ({why}): look at the unit's NotifyAccess"));
    }
}

/// Signs until SIGINT or SIGTERM, and prints a summary.
pub(crate) fn run(options: &Signer) -> Result<ExitCode, CliError> {
    check_stdout()?;
    let config = Config::from_file(&options.config)?;
    if config.seccomp {
        hide_memory()?;
    }
    if options.check {
        tollgate_signer::Signer::check(&config)?;
        print(&described("ready to listen", &config, None))?;
        return Ok(ExitCode::SUCCESS);
    }
    interrupt::serve()?;
    allow_descriptors();
    let started = Instant::now();
    let tell = |line: &str| say(&format!("tollgate signer: {line}"));
    let running = interrupt::ends_at_once(|| tollgate_signer::Signer::start(config.clone(), tell))?;
    if config.seccomp {
        confine()?;
    }
    print(&described("listening", &config, Some(&running)))?;
    let serving = Serving { file: options.config.clone(), running };
    serving.until_stopped();
    let report = serving.running.stop(Duration::from_secs_f64(options.drain));
    print(&served(&report, started.elapsed()))?;
    let is_whole = report.workers_lost == 0 && report.counts.audit_failures == 0;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Allows as many open files as the system does: clients must not be able to use up those that a
/// reload needs.
fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit { current: limit.maximum, ..limit };
    // If the system refuses, the old limit stays.
    let _ = setrlimit(Resource::Nofile, all);
}

/// Describes sockets, keys and clients.
fn described(does: &str, config: &Config, running: Option<&Running>) -> String {
    let mut text = String::new();
    if let Some(path) = &config.unix {
        text += &wrapped(&format!("{does} on unix:{}", path.display()));
    }
    if let Some(tls) = &config.tls {
        let address = running.and_then(Running::addr).unwrap_or(tls.address);
        text += &format!("{does} on tls:{address}\n");
    }
    if let Some(address) = running.and_then(Running::metrics_addr) {
        text += &format!("metrics: http://{address}/metrics\n");
    }
    let clients: Vec<&str> = config.clients.iter().map(|client| client.name.as_str()).collect();
    let keys: Vec<&str> = config.keys.iter().map(|key| key.name.as_str()).collect();
    text += &wrapped(&format!("keys: {}", keys.join(", ")));
    text += &wrapped(&format!("clients: {}", clients.join(", ")));
    match &config.audit_log {
        Some(file) => text += &wrapped(&format!("audit log: {}", file.display())),
        None => text += "audit log: none\n",
    }
    text + &format!("worker threads: {}\n", config.workers)
}

/// Summarizes the work of a stopped signer.
fn served(report: &Report, time: Duration) -> String {
    let counts = &report.counts;
    let mut text = format!("signed for {:.1} s\n", time.as_secs_f64());
    let done: Vec<String> = counts
        .requests
        .iter()
        .filter(|(.., count)| *count > 0)
        .map(|(kind, outcome, count)| format!("{kind} {outcome} {count}"))
        .collect();
    let done = if done.is_empty() { "none".to_owned() } else { done.join(", ") };
    text += &wrapped(&format!("requests: {done}"));
    let (batches, operations) = counts.batches();
    if let Some(tenths) = (10 * operations).checked_div(batches) {
        let mean = format!("{}.{}", tenths / 10, tenths % 10);
        text += &format!("{operations} operations in {batches} batches of {mean} on average\n");
    }
    text += &format!("{} connections cut off", report.connections_cut);
    if counts.audit_failures > 0 {
        text += &format!("; {} OPERATIONS NOT LOGGED AND REFUSED", counts.audit_failures);
    }
    if report.workers_lost > 0 {
        text += &format!("; {} WORKERS LOST: report the case", report.workers_lost);
    }
    text + "\n"
}
