//! The end of a run that cannot go on.

use core::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use crate::output;

/// The exit code where nobody reads standard output any more: what a shell makes of SIGPIPE.
const UNREAD: u8 = 141;

/// Why the program stops, in one line: what is wrong, where, and what to do. Exit code 2.
#[derive(Debug)]
pub(crate) struct Stop {
    why: String,
    is_unread: bool,
}

impl Stop {
    /// With this reason; line feeds become spaces.
    pub(crate) fn new(why: impl fmt::Display) -> Self {
        let lines = why.to_string();
        let words: Vec<&str> =
            lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self { why: words.join(" "), is_unread: false }
    }

    /// With the message of an error.
    pub(crate) fn from_error(error: impl core::error::Error) -> Self {
        Self::new(error)
    }

    /// Of a file or folder that cannot be read or written, with what to do about it.
    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Self {
        let folder = folder(path);
        let advice = match error.kind() {
            ErrorKind::NotFound if !folder.exists() => {
                format!(": there is no folder {}: make it, or check the path", folder.display())
            }
            ErrorKind::NotFound => ": check the path".to_owned(),
            ErrorKind::AlreadyExists => ": something else stands there: name another".to_owned(),
            ErrorKind::IsADirectory => ": name a file".to_owned(),
            ErrorKind::NotADirectory => ": a file stands where a folder should".to_owned(),
            ErrorKind::PermissionDenied => ": take another, or run it as its owner".to_owned(),
            _ => String::new(),
        };
        Self::new(format!("{}: {error}{advice}", path.display()))
    }

    /// Of standard output that cannot be written.
    pub(crate) fn of_output(error: &io::Error) -> Self {
        let is_unread = error.kind() == ErrorKind::BrokenPipe;
        Self { is_unread, ..Self::new(format!("standard output: {error}")) }
    }

    /// Says it on standard error; but who closed the other end of a pipe has read enough.
    pub(crate) fn report(&self) -> ExitCode {
        if self.is_unread {
            return ExitCode::from(UNREAD);
        }
        output::say(&format!("tollgate: {self}"));
        ExitCode::from(2)
    }
}

/// The folder that a file is in.
pub(crate) fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl core::error::Error for Stop {}
