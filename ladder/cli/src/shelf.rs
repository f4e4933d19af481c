//! The folder of records: one folder for each machine, one file for each run.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use tollgate_record::jsonl::{self, Problem, ReadError};
use tollgate_record::{Machine, Record, Timestamp};

use crate::error::CliError;

/// Maximum runs of one machine on one day.
const RUNS_MAX: u32 = 1000;

/// Returns the file for a new run of this machine: `MACHINE/DATE.jsonl`, or if that exists,
/// `MACHINE/DATE-2.jsonl` and so on. Makes the folder.
pub(crate) fn fresh(
    records: &Path,
    machine: &Machine,
    now: Timestamp,
) -> Result<PathBuf, CliError> {
    let folder = records.join(machine.slug());
    fs::create_dir_all(&folder).map_err(CliError::at(&folder))?;
    let date = now.strftime("%Y-%m-%d").to_string();
    let name = |run: u32| match run {
        1 => format!("{date}.jsonl"),
        run => format!("{date}-{run}.jsonl"),
    };
    (1..=RUNS_MAX)
        .map(|run| folder.join(name(run)))
        .find(|path| !path.exists())
        .ok_or_else(|| error!("{}: {RUNS_MAX} runs in a day; remove some", folder.display()))
}

/// Returns all records of the folder and of its machines; none if there is no such folder.
pub(crate) fn all(records: &Path) -> Result<Vec<Record>, CliError> {
    let mut files = Vec::new();
    let mut folders = vec![records.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            found => found.map_err(CliError::at(&folder))?,
        };
        for entry in entries {
            let path = entry.map_err(CliError::at(&folder))?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            } else if folder == records && path.is_dir() {
                folders.push(path);
            }
        }
    }
    files.sort();
    read(&files)
}

/// Returns the records of these files, one after the other.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<Record>, CliError> {
    let mut records = Vec::new();
    for path in files {
        let file = File::open(path).map_err(CliError::at(path))?;
        let found = jsonl::read_all(BufReader::new(file));
        let wrong = |error: ReadError| match error.problem {
            Problem::Io(error) => CliError::at(path)(error),
            _ => error!("{}: {error}", path.display()),
        };
        records.extend(found.map_err(wrong)?);
    }
    Ok(records)
}
