//! `--out`: all runs of a command, as a document and as a page.

pub(in crate::verbs) mod outcome;
mod page;

use core::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use tollgate_load::{Context, Latency, Outcome};
use tollgate_record::{Record, Timestamp};

use super::scenario::Scenario;
use super::search::{self, Found};
use crate::error::CliError;
use crate::interrupt;
use crate::output::say;

/// The folder during the runs.
pub(super) struct Out {
    folder: PathBuf,
    runs: RefCell<Vec<Finished>>,
}

/// A run that ended or was stopped.
struct Finished {
    /// `rsa-2048 tls13`.
    scenario: String,
    began_at: Timestamp,
    document: outcome::Run,
}

pub(super) struct Judged<'a> {
    label: &'a str,
    verdict: String,
    /// Verdict, findings and counts, one per line.
    lines: Vec<String>,
    records: &'a [Record],
    found: Option<&'a Found>,
}

impl<'a> Judged<'a> {
    pub(super) fn scenario(scenario: &'a Scenario) -> Self {
        let verdict = scenario.verdict().to_string();
        let lines = unwrapped(&scenario.verdict_text());
        Self { label: &scenario.label, verdict, lines, records: &scenario.records, found: None }
    }

    pub(super) fn found(found: &'a Found) -> Self {
        let (verdict, records) = (search::answer(&found.curve), found.record.as_slice());
        let lines = vec![format!("{}: {verdict}", found.label)];
        Self { label: &found.label, verdict, lines, records, found: Some(found) }
    }
}

pub(super) struct About<'a> {
    pub(super) context: &'a Context,
    /// Machine and plan, as printed.
    pub(super) heading: &'a str,
    pub(super) notes: &'a str,
}

/// Removes the line breaks that the width of 100 columns caused.
fn unwrapped(text: &str) -> Vec<String> {
    let whole = text.replace("\n  ", " ");
    whole.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

impl Out {
    pub(super) fn new(folder: &Path) -> Result<Self, CliError> {
        let wrong = |error| CliError::about("--out")(CliError::at(folder)(error));
        fs::create_dir_all(folder).map_err(wrong)?;
        Ok(Self { folder: folder.to_owned(), runs: RefCell::default() })
    }

    /// Adds the outcome of a run that ended or was stopped.
    pub(super) fn add(&self, scenario: &str, server: &str, outcome: &Outcome) {
        let mut runs = self.runs.borrow_mut();
        let before = |run: &&Finished| run.scenario == scenario && run.document.server == server;
        let number = runs.iter().filter(before).count() + 1;
        runs.push(Finished {
            scenario: scenario.to_owned(),
            began_at: outcome.began_at,
            document: outcome::run(server, number, outcome),
        });
    }

    pub(super) fn end(&self, about: &About<'_>, judged: &[Judged<'_>]) -> Result<(), CliError> {
        let runs = self.runs.borrow();
        let is_complete = !interrupt::asked();
        let document = outcome::of(about, &runs, judged, is_complete);
        let files = [
            ("outcome.json", serde_json::to_string_pretty(&document)? + "\n"),
            ("report.html", page::of(about, &runs, judged, is_complete)),
        ];
        for (name, text) in files {
            let path = self.folder.join(name);
            let written = fs::write(&path, text);
            written.map_err(|error| error!("--out: {}: {error}", path.display()))?;
        }
        let (count, folder) = (runs.len(), self.folder.display());
        say(&format!("{count} runs written to {folder}, with a picture of them: report.html"));
        Ok(())
    }
}

/// Returns all times of a run by name; empty if it is invalid.
fn times(outcome: &Outcome) -> impl Iterator<Item = (&'static str, &Latency)> {
    let times = [
        ("connect", outcome.connect()),
        ("handshake", outcome.handshake()),
        ("transaction", outcome.transaction()),
    ];
    times.into_iter().filter_map(|(name, latency)| Some((name, latency?)))
}
