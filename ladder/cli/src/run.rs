//! One run of a verb: the machine, its output, and notes for the reader.

use std::path::Path;
use std::process::ExitCode;

use crate::error::CliError;
use crate::host::Host;
use crate::interrupt;
use crate::measure::Notes;
use crate::output::Output;

/// The context of functions that collect records.
pub(crate) struct Run {
    pub(crate) host: Host,
    pub(crate) output: Output,
    pub(crate) notes: Notes,
}

impl Run {
    /// Creates a run that writes its records to `json`.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub(crate) fn new(json: Option<&Path>) -> Result<Self, CliError> {
        let output = Output::new(json)?;
        Ok(Self { host: Host::this(), output, notes: Notes::default() })
    }

    /// Creates a run that measures, with notes about this machine.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub(crate) fn measuring(json: Option<&Path>) -> Result<Self, CliError> {
        let mut run = Self::new(json)?;
        run.host.notes().for_each(|note| run.notes.add(note));
        Ok(run)
    }

    /// The notes, as printed.
    pub(crate) fn notes(&self) -> String {
        self.notes.lines()
    }

    /// Prints text and the notes below it, and returns the exit code: 130 after Ctrl-C.
    ///
    /// # Errors
    ///
    /// Standard output is closed or full.
    pub(crate) fn end(&self, text: &str) -> Result<ExitCode, CliError> {
        self.output.text(&(text.to_owned() + &self.notes.lines()))?;
        Ok(interrupt::exit_code())
    }
}
