//! The output of verbs that measure: tables, and records as JSON Lines.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tollgate::output::check_stdout;
pub(crate) use tollgate::output::{fail, say};
use tollgate_record::{Record, jsonl};

use crate::error::CliError;
use crate::progress;

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
