//! `tollgate workload from-log`: makes a workload from access logs.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::ExitCode;

use tollgate_report::text::wrapped;
use tollgate_workload::Study;

use super::show;
use crate::error::CliError;
use crate::interrupt;
use crate::output::Output;
use crate::verbs::workload::options::FromLog as Options;

/// Reads the logs, writes the workload, and prints its parameters and the parameters that the logs
/// lack.
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let mut study = Study::default();
    for log in &options.logs {
        read(log, &mut study)?;
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
    let mut text = show::text(&workload) + "\n";
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
fn read(log: &Path, study: &mut Study) -> Result<(), CliError> {
    let wrong = CliError::at(log);
    let mut lines = BufReader::new(File::open(log).map_err(wrong)?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(wrong)? > 0 && !interrupt::asked() {
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
