//! The program's error: one line on standard error, and an exit code.

use core::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use crate::output;

/// Exit code when the reader closed standard output: 128 + SIGPIPE, as in a shell.
const UNREAD: u8 = 141;

/// Exit code if a condition of `--fail-if` holds.
pub(crate) const CONDITION_HOLDS: u8 = 3;

/// An error in one line: what failed, where, and what to do next. Exit code 2.
#[derive(Debug)]
pub(crate) struct CliError {
    why: String,
    is_unread: bool,
}

impl CliError {
    /// Creates an error with this message; line feeds become spaces.
    pub(crate) fn new(why: impl fmt::Display) -> Self {
        let lines = why.to_string();
        let words: Vec<&str> =
            lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self { why: words.join(" "), is_unread: false }
    }

    /// Creates an error with the message of another one.
    pub(crate) fn from_error(error: impl core::error::Error) -> Self {
        Self::new(error)
    }

    /// Describes a file or folder that cannot be read or written, and the next step.
    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Self {
        let folder = folder(path);
        let advice = match error.kind() {
            ErrorKind::NotFound if !folder.exists() => {
                format!(": there is no folder {}: make it, or check the path", folder.display())
            }
            ErrorKind::NotFound => ": check the path".to_owned(),
            ErrorKind::AlreadyExists => ": this path exists: choose another".to_owned(),
            ErrorKind::IsADirectory => ": name a file".to_owned(),
            ErrorKind::NotADirectory => ": a file stands where a folder should".to_owned(),
            ErrorKind::PermissionDenied => ": take another, or run it as its owner".to_owned(),
            _ => String::new(),
        };
        Self::new(format!("{}: {error}{advice}", path.display()))
    }

    /// Describes standard output that cannot be written.
    pub(crate) fn of_output(error: &io::Error) -> Self {
        let is_unread = error.kind() == ErrorKind::BrokenPipe;
        Self { is_unread, ..Self::new(format!("standard output: {error}")) }
    }

    /// Prints the message to standard error; a closed pipe ends the program silently.
    pub(crate) fn report(&self) -> ExitCode {
        if self.is_unread {
            return ExitCode::from(UNREAD);
        }
        output::say(&format!("tollgate: {self}"));
        ExitCode::from(2)
    }
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl core::error::Error for CliError {}
