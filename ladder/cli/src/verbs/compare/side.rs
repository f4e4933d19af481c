//! A side of a comparison: the records of one or several runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tollgate_record::{Kind, Machine, Quantity, Record, Subject, Unit};

use crate::error::CliError;
use crate::shelf;

/// The identity of a figure. A figure has the same subject, quantity and unit on both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Figure {
    pub(super) subject: Subject,
    pub(super) quantity: Quantity,
    pub(super) unit: Unit,
}

/// The measured records of a file, or of all files of a folder.
pub(super) struct Side {
    pub(super) name: String,
    /// Figures in the order of their first record.
    pub(super) figures: Vec<Figure>,
    /// The records of a figure in all runs, by time.
    runs: BTreeMap<Figure, Vec<Record>>,
}

impl Side {
    /// Reads a side and keeps the records that satisfy `wanted`. Predicted and published records
    /// are skipped: they do not depend on the side.
    pub(super) fn read(path: &Path, wanted: impl Fn(&Record) -> bool) -> Result<Self, CliError> {
        let name = path.display().to_string();
        let records = shelf::read(&files(path)?)?;
        let side = Self::new(name, records.into_iter().filter(wanted));
        if side.figures.is_empty() {
            bail!(
                "{}: no measured record in it that is asked for: give a file that --json made",
                side.name
            );
        }
        Ok(side)
    }

    pub(super) fn new(name: String, records: impl Iterator<Item = Record>) -> Self {
        let mut side = Self { name, figures: Vec::new(), runs: BTreeMap::new() };
        for record in records.filter(|record| record.kind == Kind::Measured) {
            let figure = Figure {
                subject: record.subject.clone(),
                quantity: record.quantity,
                unit: record.unit,
            };
            let runs = side.runs.entry(figure.clone()).or_default();
            if runs.is_empty() {
                side.figures.push(figure);
            }
            runs.push(record);
        }
        side.runs.values_mut().for_each(|runs| runs.sort_by_key(|record| record.taken_at));
        side
    }

    /// Returns the records of a figure in all runs, the earliest first.
    pub(super) fn runs(&self, figure: &Figure) -> &[Record] {
        self.runs.get(figure).map_or(&[], Vec::as_slice)
    }

    pub(super) fn last(&self) -> impl Iterator<Item = &Record> {
        self.figures.iter().filter_map(|figure| self.runs(figure).last())
    }
}

/// Returns whether two figures belong to one machine. The features known to the build, the kernel
/// release and the clock may change on one machine; such changes are reported as differences.
pub(crate) fn same_machine(before: &Machine, after: &Machine) -> bool {
    let hardware =
        |machine: &Machine| (machine.cpu.clone(), machine.logical_cores, machine.virtualised);
    hardware(before) == hardware(after)
}

/// Returns the file itself, or the record files of the folder in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let wrong = CliError::at(path);
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(wrong)? {
        let file = entry.map_err(wrong)?.path();
        if file.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(file);
        }
    }
    if files.is_empty() {
        bail!("{}: no file in it ends in .jsonl", path.display());
    }
    files.sort();
    Ok(files)
}
