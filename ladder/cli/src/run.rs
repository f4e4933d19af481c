//! One run of a verb: the machine, its output, and notes for the reader.

use core::mem::discriminant;
use std::path::Path;
use std::process::ExitCode;

use tollgate_bench::Warning;
use tollgate_record::Record;
use tollgate_report::{heading, text};

use crate::error::CliError;
use crate::host::Host;
use crate::interrupt;
use crate::output::Output;
use crate::progress::{self, Progress};

pub(crate) struct Run {
    pub(crate) host: Host,
    pub(crate) output: Output,
    pub(crate) notes: Notes,
}

impl Run {
    /// Creates a run that writes its records to `json`.
    pub(crate) fn new(json: Option<&Path>) -> Result<Self, CliError> {
        let output = Output::new(json)?;
        Ok(Self { host: Host::this(), output, notes: Notes::default() })
    }

    /// Creates a run that measures, with notes about this machine.
    pub(crate) fn measuring(json: Option<&Path>) -> Result<Self, CliError> {
        let mut run = Self::new(json)?;
        run.host.notes().for_each(|note| run.notes.add(note));
        Ok(run)
    }

    /// Collects records under a progress bar, and prints their table. Most verbs that measure
    /// consist of this call.
    pub(crate) fn of_verb(
        json: Option<&Path>,
        title: &'static str,
        collect: impl FnOnce(&mut Self) -> Result<Vec<Record>, CliError>,
        table: impl FnOnce(&[Record]) -> String,
    ) -> Result<ExitCode, CliError> {
        let mut run = Self::measuring(json)?;
        let progress = Progress::new(title);
        let records = collect(&mut run)?;
        drop(progress);
        run.end(&(heading::lines(&records) + "\n" + &table(&records)))
    }

    /// Measures rows in turn, each for `seconds`, and writes the records of each row as soon as the
    /// row is complete. `measure` returns `None` after Ctrl-C; the result is then the records of
    /// the completed rows.
    pub(crate) fn rows<R>(
        &mut self,
        seconds: f64,
        rows: Vec<(String, R)>,
        mut measure: impl FnMut(&mut Self, &str, R) -> Result<Option<Vec<Record>>, CliError>,
    ) -> Result<Vec<Record>, CliError> {
        progress::plan(rows.len(), seconds);
        let mut records = Vec::new();
        for (number, (label, row)) in rows.into_iter().enumerate() {
            progress::row(number, &label);
            let Some(found) = measure(self, &label, row)? else { break };
            self.output.records(&found)?;
            records.extend(found);
        }
        Ok(records)
    }

    /// Prints text and the notes below it, and returns the exit code: 130 after Ctrl-C.
    pub(crate) fn end(&self, text: &str) -> Result<ExitCode, CliError> {
        self.output.text(&(text.to_owned() + &self.notes.lines()))?;
        Ok(interrupt::exit_code())
    }
}

/// Notes under the table: each sentence once, and only the worst warning of each kind.
#[derive(Default)]
pub(crate) struct Notes {
    sentences: Vec<String>,
    warnings: Vec<Worst>,
}

/// The worst warning of its kind, and the number of warnings of that kind.
struct Worst {
    warning: Warning,
    row: String,
    count: usize,
}

impl Notes {
    pub(crate) fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }

    pub(crate) fn warn(&mut self, row: &str, warnings: Vec<Warning>) {
        for warning in warnings {
            let row = row.to_owned();
            let known = |worst: &&mut Worst| discriminant(&worst.warning) == discriminant(&warning);
            match self.warnings.iter_mut().find(known) {
                None => self.warnings.push(Worst { warning, row, count: 1 }),
                Some(worst) => {
                    worst.count += 1;
                    if share(&warning) > share(&worst.warning) {
                        (worst.warning, worst.row) = (warning, row);
                    }
                }
            }
        }
    }

    /// Returns all notes, wrapped, after an empty line; empty if there are none.
    pub(crate) fn lines(&self) -> String {
        let texts = self.texts();
        let gap = if texts.is_empty() { "" } else { "\n" };
        gap.to_owned() + &texts.iter().map(|note| text::wrapped(note)).collect::<String>()
    }

    fn texts(&self) -> Vec<String> {
        let warnings = self.warnings.iter().map(|worst| {
            let more = match worst.count - 1 {
                0 => String::new(),
                more => format!(" ({more} more of this kind, none worse)"),
            };
            format!("warning: {}: {}{more}", worst.row, worst.warning)
        });
        self.sentences.iter().cloned().chain(warnings).collect()
    }
}

/// Returns the severity of a warning, comparable with the severity of other warnings of the same
/// kind.
fn share(warning: &Warning) -> f64 {
    match warning {
        // fewer rounds are worse
        Warning::FewRounds { rounds } => -f64::from(u32::try_from(*rounds).unwrap_or(u32::MAX)),
        Warning::Drift { share }
        | Warning::Shared { share, .. }
        | Warning::Interrupted { share, .. }
        | Warning::Outliers { share, .. } => *share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_kind_of_warning_the_worst_is_said() {
        let mut notes = Notes::default();
        notes.add("a sentence");
        notes.add("a sentence");
        let outliers = |share| Warning::Outliers { name: "x".into(), share };
        notes.warn("first", vec![outliers(0.2), Warning::Drift { share: 0.1 }]);
        notes.warn("second", vec![outliers(0.4)]);
        notes.warn("third", vec![outliers(0.3)]);
        let texts = notes.texts();
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0], "a sentence");
        assert!(texts[1].starts_with("warning: second: 40 %"), "{texts:?}");
        assert!(texts[1].ends_with("(2 more of this kind, none worse)"), "{texts:?}");
        assert!(texts[2].starts_with("warning: first: the core clock"), "{texts:?}");
    }
}
