//! `tollgate provider stats`: prints whether a process has the module, and its counters.

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

/// Prints the state of the module in a process, and its counters.
pub(crate) fn run(options: &Stats) -> Result<ExitCode, CliError> {
    let conf = Openssl::find().map(|openssl| openssl.chosen(None)).ok();
    let (pid, folder) = (options.pid, &*folder(options, conf.as_deref())?);
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
    let why = answer(&process, &conf.unwrap_or_default());
    let mut text = format!("{} {pid}: {why}\n", process.program);
    match (uses, files.is_empty()) {
        (true, true) => text += &format!("{}\n", no_counts(&within, folder)),
        _ => {
            for (name, count) in metrics::sum(&files) {
                text += &format!("  {:24}{count:>14}\n", name.replace('_', " "));
            }
        }
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
