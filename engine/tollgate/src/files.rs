//! Checks the files that a command line names: no input is overwritten, every output is writable.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::ArgMatches;

use crate::error::{CliError, folder};

/// Options and arguments of all verbs that name files to read.
const READS: [&str; 19] = [
    "add",
    "body",
    "candidates",
    "cert",
    "disclosure",
    "file",
    "files",
    "key",
    "log",
    "machine",
    "module",
    "nats_ca",
    "nats_cert",
    "nats_key",
    "nats_password",
    "on",
    "prices",
    "timing",
    "workload",
];

/// Options of all verbs that name a file to write.
const WRITES: [&str; 6] = ["access_log", "calibrate", "json", "report", "summary", "svg"];

/// Checks all files before anything is measured or written. The error names option and file.
pub(crate) fn check(matches: &ArgMatches) -> Result<(), CliError> {
    let reads = named(matches, &READS);
    let mut writes = named(matches, &WRITES);
    writes.retain(|(_, path)| *path != Path::new("-"));
    for (at, (option, path)) in writes.iter().enumerate() {
        let flag = |option: &str| format!("--{}", option.replace('_', "-"));
        let wrong = |why: &str| CliError::about(flag(option))(format!("{}{why}", path.display()));
        let place = place(path);
        let is_here = |other: &Path| place.is_some() && self::place(other) == place;
        if reads.iter().any(|(_, other)| is_here(other)) {
            return Err(wrong(" is an input and would be overwritten: choose another file"));
        }
        if let Some((other, _)) = writes[..at].iter().find(|(_, other)| is_here(other)) {
            return Err(wrong(&format!(
                " is already the file of {}: choose another file",
                flag(other)
            )));
        }
        writable(path).map_err(|error| CliError::about(flag(option))(CliError::at(path)(error)))?;
    }
    Ok(())
}

/// Returns the files that these options name, for a verb and its sub-verb: option and path.
fn named<'a>(matches: &'a ArgMatches, options: &[&'static str]) -> Vec<(&'static str, &'a Path)> {
    let mut found = Vec::new();
    for &option in options {
        // `--body @FILE` names a file, `--body TEXT` does not
        let path = |value: &'a OsStr| match option {
            "body" => value.as_bytes().strip_prefix(b"@").map(OsStr::from_bytes),
            _ => Some(value),
        };
        let values = matches.try_get_raw(option).ok().flatten();
        let paths = values.into_iter().flatten().filter_map(path);
        found.extend(paths.map(|value| (option, Path::new(value))));
    }
    if let Some((_, verb)) = matches.subcommand() {
        found.extend(named(verb, options));
    }
    found
}

/// Returns the canonical path of a file that exists or could be created. Returns `None` for a pipe
/// or a device, or if the folder does not exist.
fn place(path: &Path) -> Option<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path).ok(),
        Ok(_) => None,
        Err(_) => Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?)),
    }
}

/// Tries to open the file for writing, and leaves everything as it was.
fn writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            File::create_new(path)?;
            fs::remove_file(path)
        }
        Err(error) => Err(error),
    }
}
