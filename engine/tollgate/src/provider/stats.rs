//! `tollgate provider stats`: prints the counters of processes.

use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Stats;
use super::check::answer;
use super::configuration::Configuration;
use super::metrics::{self, ProcessFile};
use super::openssl::Openssl;
use super::processes::{self, Module, Process};
use crate::error::CliError;
use crate::output::print;

pub(crate) fn run(options: &Stats) -> Result<ExitCode, CliError> {
    let configuration = Openssl::find().map(|openssl| openssl.chosen(None)).ok();
    let folder = folder(options, configuration.as_deref())?;
    match options.pid {
        Some(pid) => one(pid, &folder, &configuration.unwrap_or_default()),
        None => all(&folder),
    }
}

/// Returns the folder of the metrics: the folder in the options, else the folder in the
/// configuration, else the default.
fn folder(options: &Stats, configuration: Option<&Path>) -> Result<PathBuf, CliError> {
    if let Some(folder) = &options.metrics {
        return Ok(folder.clone());
    }
    let read = configuration.filter(|path| path.is_file()).map(Configuration::read).transpose()?;
    let said = read.as_ref().and_then(|read| read.value(read.tollgate()?, "metrics"));
    Ok(said.unwrap_or("/run/tollgate").into())
}

fn all(folder: &Path) -> Result<ExitCode, CliError> {
    let files = metrics::read(folder)
        .map_err(|error| error!("{error}; name the folder of `metrics = ...` with --metrics"))?;
    let (living, dead): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.is_of_a_living());
    print(&table(&living, &dead, folder))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the state of the module in a process, and its counters.
fn one(pid: u32, folder: &Path, conf: &Path) -> Result<ExitCode, CliError> {
    let process = processes::look(pid).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::PermissionDenied => "run it as root or as the process's user".to_owned(),
            _ => format!("see it with: ps -p {pid}"),
        };
        error!("process {pid}: {error}; {advice}")
    })?;
    // A process in a container or a chroot writes below its own root.
    let relative = folder.strip_prefix("/").unwrap_or(folder);
    let within = Path::new("/proc").join(pid.to_string()).join("root").join(relative);
    let read = |folder: &Path| metrics::read(folder).unwrap_or_default();
    let is_of_it = |file: &ProcessFile| file.pid == pid && file.is_of_a_living();
    let mut files: Vec<_> = read(&within).into_iter().filter(is_of_it).collect();
    if files.is_empty() {
        files = read(folder).into_iter().filter(is_of_it).collect();
    }
    let uses = process.module != Module::Missing;
    let counts = sum(&files.iter().collect::<Vec<_>>());
    let why = answer(&process, conf);
    let mut text = format!("{} {pid}: {why}\n", process.program);
    match (uses, files.is_empty()) {
        (true, true) => text += &format!("{}\n", no_counts(&process, &within, folder)),
        _ => lines(&mut text, &counts),
    }
    print(&text)?;
    Ok(if uses { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Explains why a process with the module has no file.
fn no_counts(process: &Process, within: &Path, folder: &Path) -> String {
    let name = folder.display();
    if !within.is_dir() && !folder.is_dir() {
        return format!(
            "no counts: there is no folder {name}; set metrics = {name} in the provider's section, \
             create the folder so that its user can write there, and restart it"
        );
    }
    format!(
        "no counts in {name}: it has not used the module yet (a master process leaves that to its \
         workers: name one), or its section does not set metrics = {name}, or user {} may not \
         write there",
        processes::user(process.pid)
            .map_or_else(|| "of the process".to_owned(), |id| id.to_string())
    )
}

fn sum(files: &[&ProcessFile]) -> BTreeMap<String, u64> {
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in files.iter().flat_map(|file| &file.counts) {
        let total = sum.entry(name.clone()).or_default();
        *total = total.saturating_add(*count);
    }
    sum
}

fn lines(text: &mut String, counts: &BTreeMap<String, u64>) {
    for (name, count) in counts {
        writeln!(text, "  {:24}{count:>14}", name.replace('_', " "))
            .expect("writing to a string succeeds");
    }
}

fn table(living: &[&ProcessFile], dead: &[&ProcessFile], folder: &Path) -> String {
    let mut text = String::new();
    for file in living {
        text += &format!(
            "{:16}{:>8}{:>14} signatures{:>14} decryptions\n",
            file.program,
            file.pid,
            signatures(&file.counts),
            of(&file.counts, "decryptions")
        );
    }
    text += &format!("{} running processes in {}, in all\n", pids(living), folder.display());
    lines(&mut text, &sum(living));
    if !dead.is_empty() {
        let signatures = signatures(&sum(dead));
        text += &format!("{} that have ended made {signatures} signatures\n", pids(dead));
    }
    text
}

/// Returns the number of signatures with RSA and ECDSA.
fn signatures(counts: &BTreeMap<String, u64>) -> u64 {
    of(counts, "signatures").saturating_add(of(counts, "ecdsa_signatures"))
}

fn of(counts: &BTreeMap<String, u64>, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or_default()
}

/// Returns the number of processes; a process may have several files.
fn pids(files: &[&ProcessFile]) -> usize {
    let mut pids: Vec<u32> = files.iter().map(|file| file.pid).collect();
    pids.dedup();
    pids.len()
}
