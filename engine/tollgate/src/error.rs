//! The program's error: one line on standard error, and an exit code.

use core::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

/// A [`CliError`] with a formatted message.
#[macro_export]
macro_rules! error {
    ($($message:tt)*) => { $crate::error::CliError::new(format_args!($($message)*)) };
}

/// Returns an error with a formatted message.
#[macro_export]
macro_rules! bail {
    ($($message:tt)*) => { return Err($crate::error!($($message)*)) };
}

/// Exit code if a condition of `--fail-if` holds.
pub const CONDITION_HOLDS: u8 = 3;

/// An error in one line: the failure, its place, and the next step. The program then exits with
/// code 2.
///
/// `?` converts every other error and keeps its message. An error of the system does not name its
/// file: convert it with [`CliError::at`].
#[derive(Debug)]
pub struct CliError {
    why: String,
    /// True if the reader closed standard output; the error is then not printed.
    pub(crate) is_unread: bool,
}

impl CliError {
    /// Creates an error with this message; line feeds become spaces. Other control characters,
    /// which may come from a file, command no terminal.
    pub fn new(why: impl fmt::Display) -> Self {
        let lines = why.to_string();
        let words: Vec<&str> =
            lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let why = words.join(" ").replace(char::is_control, "\u{fffd}");
        Self { why, is_unread: false }
    }

    /// Returns an error with this message if a check has failed.
    ///
    /// # Errors
    ///
    /// If it has failed.
    pub fn unless(is_right: bool, why: &str) -> Result<(), Self> {
        if is_right { Ok(()) } else { Err(Self::new(why)) }
    }

    /// Converts an error that concerns `what`, such as an option or the name of a file.
    pub fn about<E: fmt::Display>(what: impl fmt::Display) -> impl Fn(E) -> Self {
        move |error| error!("{what}: {error}")
    }

    /// Converts an error of a file or folder that cannot be read or written, and adds the next
    /// step.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |error| {
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
            error!("{}: {error}{advice}", path.display())
        }
    }

    /// Converts an error of standard output; a closed pipe is not printed.
    pub fn of_output(error: io::Error) -> Self {
        let is_unread = error.kind() == ErrorKind::BrokenPipe;
        Self { is_unread, ..Self::about("standard output")(error) }
    }
}

/// Returns the folder that a path is in.
#[must_use]
pub fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl<E: core::error::Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
