//! `tollgate provider stats`: prints the counters of processes, and whether one has the module.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Stats;
use super::check::answer;
use super::configuration::Configuration;
use super::metrics::{self, ProcessFile};
use super::openssl::Openssl;
use super::processes::{self, Module};
use crate::error::CliError;
use crate::output::print;

pub(crate) fn run(options: &Stats) -> Result<ExitCode, CliError> {
    let conf = Openssl::find().map(|openssl| openssl.chosen(None)).ok();
    let folder = folder(options, conf.as_deref())?;
    match options.pid {
        Some(pid) => one(pid, &folder, &conf.unwrap_or_default()),
        None => all(&folder),
    }
}

/// Prints the sum of the counters of running processes.
fn all(folder: &Path) -> Result<ExitCode, CliError> {
    let mut files = metrics::read(folder)
        .map_err(|error| error!("{error}; name the folder of `metrics = ...` with --metrics"))?;
    files.retain(ProcessFile::is_of_a_living);
    let processes: BTreeSet<u32> = files.iter().map(|file| file.pid).collect();
    let (count, name) = (processes.len(), folder.display());
    print(&format!("{count} running processes in {name}, in all\n{}", lines(&files)))?;
    Ok(ExitCode::SUCCESS)
}

fn lines(files: &[ProcessFile]) -> String {
    let line =
        |(name, count): (String, u64)| format!("  {:24}{count:>14}\n", name.replace('_', " "));
    metrics::sum(files).into_iter().map(line).collect()
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
    let why = answer(&process, conf);
    let mut text = format!("{} {pid}: {why}\n", process.program);
    match (uses, files.is_empty()) {
        (true, true) => text += &format!("{}\n", no_counts(&within, folder)),
        _ => text += &lines(&files),
    }
    print(&text)?;
    Ok(if uses { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Explains why a process with the module has no file.
fn no_counts(within: &Path, folder: &Path) -> String {
    let name = folder.display();
    if !within.is_dir() && !folder.is_dir() {
        return format!(
            "no counts: there is no folder {name}; set metrics = {name} in the provider's section, \
             create the folder so that its user can write there, and restart it"
        );
    }
    format!(
        "no counts in {name}: it has not used the module yet (a master process leaves that to its \
         workers: name one), or its section does not set metrics = {name}, or its user may not \
         write there"
    )
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
