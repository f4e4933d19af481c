//! The program's output: text, JSON objects and messages.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

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

/// Prints text, and writes a JSON object to the file `json`. If `json` is `-`, the text goes to
/// standard error.
///
/// # Errors
///
/// If the text or the file cannot be written.
pub fn text_and_object(json: Option<&Path>, text: &str, object: &Value) -> Result<(), CliError> {
    match json {
        None => print(text),
        Some(path) if path == Path::new("-") => {
            check_stdout()?;
            progress::aside(|| io::stderr().write_all(text.as_bytes()))?;
            write_object(path, object)
        }
        Some(path) => {
            print(text)?;
            write_object(path, object)
        }
    }
}

/// Writes a JSON object to a file, and replaces an existing file. The path `-` means standard
/// output.
fn write_object(path: &Path, object: &Value) -> Result<(), CliError> {
    let text = format!("{object:#}\n");
    if path == Path::new("-") {
        return io::stdout().write_all(text.as_bytes()).map_err(CliError::of_output);
    }
    fs::write(path, text).map_err(CliError::at(path))
}

/// Returns text as lines of at most 100 columns, each with a line feed; all but the first are
/// indented by two. Control characters, which may come from a file, command no terminal.
#[must_use]
pub(crate) fn wrapped(text: &str) -> String {
    let text = text.replace(char::is_control, "\u{fffd}");
    textwrap::fill(&text, textwrap::Options::new(WIDTH).subsequent_indent("  ")) + "\n"
}
