//! `tollgate workload`: shows named workloads and makes new ones from access logs.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate_report::text::{plain, wrapped};
use tollgate_workload::{FILES, File as Described, Quantiles, Study, Workload as Named};

use crate::cells::{bar, float};
use crate::error::CliError;
use crate::interrupt;
use crate::output::Output;
use crate::read;

const BAR: u32 = 60;

/// No server writes a longer line, with its request, referrer and user agent.
const LINE_MAX_BYTES: u64 = 1 << 20;

#[derive(Args, Clone, Debug)]
pub(crate) struct Workload {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a workload from access logs of nginx, Apache, HAProxy or Tollgate's server
    FromLog(FromLog),
    /// Show every parameter of a workload with its source, and a drawing
    Show(Show),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct FromLog {
    /// Folder to write the workload to; an existing file is not replaced
    #[arg(long, value_name = "FOLDER", default_value = "workloads")]
    pub(crate) folder: PathBuf,

    /// Access logs, in chronological order
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,

    /// Name of the workload; its file is NAME.toml
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: String,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Show {
    /// pq2026, web2026, bank140k, hp2001, or a file that ends in .toml [default: list the names]
    #[arg(value_name = "NAME|FILE")]
    pub(crate) workload: Option<String>,
}

pub(crate) fn run(options: &Workload) -> Result<ExitCode, CliError> {
    match &options.verb {
        Verb::FromLog(options) => from_log(options),
        Verb::Show(options) => show(options),
    }
}

/// Finds the workload of this name or file.
pub(crate) fn find(name: &str) -> Result<Named, CliError> {
    if let Some(file) = Described::named(name) {
        return Ok(file.workload());
    }
    let is_file = Path::new(name).extension().is_some_and(|ending| ending == "toml");
    if !is_file {
        let known = FILES.map(|file| file.name).join(", ");
        bail!("{name}: no such workload; give {known}, or a file that ends in .toml");
    }
    let text = read::text(Path::new(name))?;
    Named::from_toml(&text).map_err(CliError::about(name))
}

fn show(options: &Show) -> Result<ExitCode, CliError> {
    let text = match &options.workload {
        Some(name) => text(&find(name)?),
        None => FILES.map(|file| format!("{:10} {}\n", file.name, file.workload().title)).concat(),
    };
    Output::new(None)?.text(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(workload: &Named) -> String {
    let mut text = wrapped(&workload.title);
    for (name, parameter) in workload.parameters() {
        let line = match parameter {
            // a body has one size or a table of sizes
            None if name == "bytes" && workload.sizes.is_some() => continue,
            None if name == "sizes" && workload.bytes.is_some() => continue,
            // A comparison is optional.
            None if name == "compared with" => continue,
            None => format!("{name}: not known"),
            Some(parameter) => {
                let instead = parameter.instead_of.map(|what| format!(", instead of {what}"));
                let instead = instead.unwrap_or_default();
                format!("{name}: {}{instead} - {}", parameter.value, parameter.source)
            }
        };
        text += &wrapped(&line);
    }
    if let Some(sizes) = &workload.sizes {
        text += "\n";
        text += &drawing(&sizes.value);
    }
    text
}

/// Draws the quantiles of body sizes as bars on a logarithmic scale.
fn drawing(sizes: &Quantiles) -> String {
    let length = |bytes: u64| (float(bytes) + 1.0).log2();
    let longest = sizes.get().last().map_or(1.0, |row| length(row.1)).max(1.0);
    let mut text = "bytes that so many bodies do not exceed; bars by powers of two\n".to_owned();
    for (quantile, bytes) in sizes.get() {
        let bar = bar(length(*bytes) / longest, BAR);
        text += &format!("{:>6.1} % {bytes:>13}  {bar}\n", 100.0 * quantile);
    }
    text
}

/// Describes a workload in a paragraph, for the output of a run.
pub(crate) fn disclosure(name: &str, workload: &Named) -> String {
    let words = workload.parameters().into_iter().filter_map(|(name, parameter)| {
        let parameter = parameter?;
        let instead = parameter.instead_of.map(|what| format!(" instead of {what}"));
        Some(format!("{name} {}{}", parameter.value, instead.unwrap_or_default()))
    });
    let words = words.collect::<Vec<_>>().join("; ");
    plain(&format!(
        "workload {name}, {}: {words} (sources: tollgate workload show {name})",
        workload.title
    ))
}

/// Reads the logs, writes the workload, and prints its parameters and the parameters that the logs
/// lack.
fn from_log(options: &FromLog) -> Result<ExitCode, CliError> {
    let mut study = Study::default();
    for log in &options.logs {
        read_log(log, &mut study)?;
        if interrupt::asked() {
            return Ok(interrupt::exit_code());
        }
    }
    let names: Vec<String> = options.logs.iter().map(|log| log.display().to_string()).collect();
    let names = names.join(", ");
    if study.requests() == 0 {
        let why = match study.bad().first.first() {
            Some((line, bad)) => format!("line {line}: {bad}"),
            None => "it is empty".to_owned(),
        };
        bail!("{names}: no request in it; {why}");
    }
    let workload = study.workload(&names);
    let file = options.folder.join(format!("{}.toml", options.name));
    write(&file, &workload.to_toml())?;
    let mut text = text(&workload) + "\n";
    text += &wrapped(&format!(
        "{} lines, {} requests; written to {}",
        study.lines(),
        study.requests(),
        file.display()
    ));
    for words in study.unknown() {
        text += &wrapped(&format!("not known: {words}"));
    }
    let bad = study.bad();
    if bad.count > 0 {
        text += &wrapped(&format!("lines of no format that is known here: {}", bad.count));
        for (line, why) in &bad.first {
            text += &wrapped(&format!("- line {line}: {why}"));
        }
    }
    Output::new(None)?.text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads lines; bytes that are not UTF-8 become question marks.
fn read_log(log: &Path, study: &mut Study) -> Result<(), CliError> {
    let wrong = CliError::at(log);
    let mut lines = BufReader::new(File::open(log).map_err(wrong)?);
    let mut line = Vec::new();
    let most = LINE_MAX_BYTES + 1; // and the line feed
    while lines.by_ref().take(most).read_until(b'\n', &mut line).map_err(wrong)? > 0
        && !interrupt::asked()
    {
        if line.len() as u64 == most && !line.ends_with(b"\n") {
            bail!("{}: a line is longer than 1 MiB: is this an access log?", log.display());
        }
        study.line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

/// Creates a file; an existing one is not replaced.
fn write(file: &Path, toml: &str) -> Result<(), CliError> {
    let wrong = CliError::at(file);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(wrong)?;
    }
    let mut made = File::create_new(file).map_err(|error| {
        error!("{}: {error}; give another --name, or remove it", file.display())
    })?;
    made.write_all(toml.as_bytes()).map_err(wrong)
}

/// Checks that a name can be a file name on every system.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("a name is a-z 0-9 -, at most 64 of them".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_fits_a_terminal_with_all_its_sources() {
        for file in FILES {
            let text = text(&file.workload());
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            assert!(!text.contains("not known"), "{text}");
            let disclosed = disclosure(file.name, &file.workload());
            assert!(disclosed.contains(file.name) && disclosed.contains("resumed"), "{disclosed}");
        }
    }
}
