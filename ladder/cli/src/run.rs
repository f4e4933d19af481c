//! One run of a verb: the machine, where its results go, and what the reader must know.

use std::path::Path;
use std::process::ExitCode;

use crate::error::CliError;
use crate::host::Host;
use crate::interrupt;
use crate::measure::Notes;
use crate::output::Output;

/// What collectors of records need and fill.
pub(crate) struct Run {
    pub(crate) host: Host,
    pub(crate) output: Output,
    pub(crate) notes: Notes,
}

impl Run {
    /// One that writes its records to `json`.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub(crate) fn new(json: Option<&Path>) -> Result<Self, CliError> {
        let output = Output::new(json)?;
        Ok(Self { host: Host::this(), output, notes: Notes::default() })
    }

    /// One that measures: what this machine does to figures is noted.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub(crate) fn measuring(json: Option<&Path>) -> Result<Self, CliError> {
        let mut run = Self::new(json)?;
        run.host.notes().for_each(|note| run.notes.add(note));
        Ok(run)
    }

    /// What the reader must know, as it is printed.
    pub(crate) fn notes(&self) -> String {
        self.notes.lines()
    }

    /// Prints text and the notes below it; the code says whether Ctrl-C ended the run.
    ///
    /// # Errors
    ///
    /// Standard output is closed or full.
    pub(crate) fn end(&self, text: &str) -> Result<ExitCode, CliError> {
        self.output.text(&(text.to_owned() + &self.notes.lines()))?;
        Ok(interrupt::exit_code())
    }
}
