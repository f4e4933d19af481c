//! Checks the files that a command line names: no input is overwritten, every output is writable.

use core::ops::Deref;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Id};

use tollgate::error::folder;

use crate::error::CliError;

/// A file that an option names to write; `-` is standard output. All other values may name files to
/// read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputFile(PathBuf);

impl<T: Into<PathBuf>> From<T> for OutputFile {
    fn from(path: T) -> Self {
        Self(path.into())
    }
}

impl Deref for OutputFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// Checks all files before anything is measured or written. The error names option and file.
pub(crate) fn check(matches: &ArgMatches) -> Result<(), CliError> {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    named(matches, &mut reads, &mut writes);
    writes.retain(|(_, path)| *path != Path::new("-"));
    for (at, (option, path)) in writes.iter().enumerate() {
        let flag = |option: &str| format!("--{}", option.replace('_', "-"));
        let wrong = |why: &str| CliError::about(flag(option))(format!("{}{why}", path.display()));
        let place = place(path);
        let is_here = |other: &Path| place.is_some() && self::place(other) == place;
        if reads.iter().any(|other| is_here(other)) {
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

/// Collects the values of a verb and its sub-verb that exist as files, and the files to write with
/// their options.
fn named<'a>(
    matches: &'a ArgMatches,
    reads: &mut Vec<&'a Path>,
    writes: &mut Vec<(&'a str, &'a Path)>,
) {
    for id in matches.ids().map(Id::as_str) {
        if let Ok(files) = matches.try_get_many::<OutputFile>(id) {
            writes.extend(files.into_iter().flatten().map(|file| (id, &**file)));
            continue;
        }
        let values = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
        // a value such as `--body @FILE` names a file
        let path = |value: &'a OsStr| match value.as_bytes().strip_prefix(b"@") {
            Some(path) => Path::new(OsStr::from_bytes(path)),
            None => Path::new(value),
        };
        reads.extend(values.map(path).filter(|path| path.is_file()));
    }
    if let Some((_, verb)) = matches.subcommand() {
        named(verb, reads, writes);
    }
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
