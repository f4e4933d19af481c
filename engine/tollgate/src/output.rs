//! The program's output: text and messages.

use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::error::CliError;
use crate::progress;
use crate::stdout;

/// Exit code if the reader closed standard output: 128 + SIGPIPE, as in a shell.
const UNREAD: u8 = 141;

/// The width of a terminal, in columns.
const WIDTH: usize = 100;

/// Checks that standard output was open when the program started.
///
/// # Errors
///
/// If it was closed.
pub fn check_stdout() -> Result<(), CliError> {
    if stdout::was_closed() {
        bail!("standard output is closed: redirect it to a file, or to /dev/null");
    }
    Ok(())
}

/// Prints a line to standard error; errors are ignored.
pub fn say(line: &str) {
    let _ = progress::aside(|| writeln!(io::stderr().lock(), "{line}"));
}

/// Prints an error, and returns its exit code; a closed pipe ends the program silently.
#[must_use]
pub fn fail(error: &CliError) -> ExitCode {
    if error.is_unread {
        return ExitCode::from(UNREAD);
    }
    say(&format!("tollgate: {error}"));
    ExitCode::from(2)
}

/// Prints text to standard output.
///
/// # Errors
///
/// If standard output is or was closed.
pub fn print(text: &str) -> Result<(), CliError> {
    check_stdout()?;
    let written = progress::aside(|| io::stdout().write_all(text.as_bytes()));
    written.map_err(CliError::of_output)
}

/// Returns text as lines of at most 100 columns, each with a line feed; all but the first are
/// indented by two. Control characters, which may come from a file, command no terminal.
#[must_use]
pub(crate) fn wrapped(text: &str) -> String {
    let text = text.replace(char::is_control, "\u{fffd}");
    textwrap::fill(&text, textwrap::Options::new(WIDTH).subsequent_indent("  ")) + "\n"
}
