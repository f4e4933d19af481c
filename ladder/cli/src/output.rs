//! The program's output: tables, records and messages.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use tollgate_record::{Record, jsonl};

use crate::error::CliError;
use crate::progress;
use crate::stdout;

/// Exit code if the reader closed standard output: 128 + SIGPIPE, as in a shell.
const UNREAD: u8 = 141;

/// Checks that standard output was open when the program started.
pub(crate) fn check_stdout() -> Result<(), CliError> {
    if stdout::was_closed() {
        bail!("standard output is closed: redirect it to a file, or to /dev/null");
    }
    Ok(())
}

/// Prints a line to standard error; errors are ignored.
pub(crate) fn say(line: &str) {
    let _ = progress::aside(|| writeln!(io::stderr().lock(), "{line}"));
}

/// Prints an error, and returns its exit code; a closed pipe ends the program silently.
pub(crate) fn fail(error: &CliError) -> ExitCode {
    if error.is_unread {
        return ExitCode::from(UNREAD);
    }
    say(&format!("tollgate: {error}"));
    ExitCode::from(2)
}

/// Prints text, and writes a JSON object to the file `json`. If `json` is `-`, the text goes to
/// standard error.
pub(crate) fn text_and_object(
    json: Option<&Path>,
    text: &str,
    object: &Value,
) -> Result<(), CliError> {
    let mut output = Output::new(None)?;
    if json == Some(Path::new("-")) {
        output.leave_stdout();
    }
    output.text(text)?;
    json.map_or(Ok(()), |path| write_object(path, object))
}

/// Writes a JSON object to a file, and replaces an existing file. The path `-` means standard
/// output.
pub(crate) fn write_object(path: &Path, object: &Value) -> Result<(), CliError> {
    let text = format!("{object:#}\n");
    if path == Path::new("-") {
        return io::stdout().write_all(text.as_bytes()).map_err(CliError::of_output);
    }
    fs::write(path, text).map_err(CliError::at(path))
}

pub(crate) struct Output {
    /// True if standard output carries JSON.
    tables_to_stderr: bool,
    records: Option<jsonl::Writer<Box<dyn Write>>>,
    file: String,
}

impl Output {
    /// Writes records to the file `json`, and replaces an existing file. If `json` is `-`, records
    /// go to standard output and tables to standard error.
    pub(crate) fn new(json: Option<&Path>) -> Result<Self, CliError> {
        check_stdout()?;
        let tables_to_stderr = json.is_some_and(|path| path == Path::new("-"));
        let file = json.map(|path| path.display().to_string()).unwrap_or_default();
        let to: Option<Box<dyn Write>> = match json {
            None => None,
            Some(_) if tables_to_stderr => Some(Box::new(io::stdout())),
            Some(path) => Some(Box::new(File::create(path).map_err(CliError::at(path))?)),
        };
        Ok(Self { tables_to_stderr, records: to.map(jsonl::Writer::new), file })
    }

    /// Moves tables to standard error.
    pub(crate) const fn leave_stdout(&mut self) {
        self.tables_to_stderr = true;
    }

    /// Writes the records of a finished row at once, so that a later error does not lose them.
    pub(crate) fn records(&mut self, records: &[Record]) -> Result<(), CliError> {
        let Some(writer) = &mut self.records else { return Ok(()) };
        let written = records.iter().try_for_each(|record| writer.write(record));
        written.and_then(|()| writer.flush()).map_err(|error| match &*self.file {
            "-" => CliError::of_output(error),
            file => CliError::about(file)(error),
        })
    }

    pub(crate) fn text(&self, text: &str) -> Result<(), CliError> {
        let written = progress::aside(|| {
            if self.tables_to_stderr {
                io::stderr().write_all(text.as_bytes())
            } else {
                io::stdout().write_all(text.as_bytes())
            }
        });
        written.map_err(CliError::of_output)
    }
}
