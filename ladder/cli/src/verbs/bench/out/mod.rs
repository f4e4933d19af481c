//! `--out`: results as files. Rows are written at the end of each run, so that a later error does
//! not lose them.

pub(in crate::verbs) mod outcome;
mod page;
mod rows;

use core::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tollgate_load::{Context, Latency, Outcome, Point};
use tollgate_record::{Record, Timestamp};

use super::scenario::Scenario;
use super::search::{self, Found};
use crate::error::CliError;
use crate::interrupt;
use crate::output::say;

/// The folder during the runs.
pub(super) struct Out {
    folder: PathBuf,
    open: RefCell<Open>,
}

struct Open {
    series: File,
    counts: File,
    runs: Vec<Told>,
    /// The first error; the run continues after it.
    wrong: Option<CliError>,
}

struct Told {
    run: Run,
    began_at: Timestamp,
    document: outcome::Run,
    points: Vec<Point>,
    /// Times of transactions and of handshakes.
    times: Option<[Latency; 2]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    /// `rsa-2048 tls13`.
    scenario: String,
    server: String,
    /// Number of the run of this server in the scenario, from 1.
    number: usize,
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
        let wrong = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| CliError::about("--out")(CliError::at(&path)(error))
        };
        fs::create_dir_all(folder).map_err(wrong(folder))?;
        let made = |name: &str| {
            let path = folder.join(name);
            File::create(&path).map_err(wrong(&path))
        };
        let (mut series, mut counts) = (made("series.csv")?, made("counts.csv")?);
        let headings = series
            .write_all(rows::SERIES.as_bytes())
            .and_then(|()| counts.write_all(rows::COUNTS.as_bytes()));
        headings.map_err(wrong(folder))?;
        let open = Open { series, counts, runs: Vec::new(), wrong: None };
        Ok(Self { folder: folder.to_owned(), open: RefCell::new(open) })
    }

    /// Adds the outcome of a run that ended or was stopped.
    pub(super) fn told(&self, scenario: &str, server: &str, outcome: &Outcome) {
        let mut open = self.open.borrow_mut();
        if let Err(error) = open.told(scenario, server, outcome) {
            let folder = self.folder.display();
            open.wrong.get_or_insert(error!("--out: {folder}: {error}"));
        }
    }

    pub(super) fn end(&self, about: &About<'_>, judged: &[Judged<'_>]) -> Result<(), CliError> {
        let mut open = self.open.borrow_mut();
        if let Some(wrong) = open.wrong.take() {
            return Err(wrong);
        }
        let is_complete = !interrupt::asked();
        let document = outcome::of(about, &open.runs, judged, is_complete);
        let files = [
            ("outcome.json", serde_json::to_string_pretty(&document)? + "\n"),
            ("report.html", page::of(about, &open.runs, judged, is_complete)),
        ];
        for (name, text) in files {
            let path = self.folder.join(name);
            let written = fs::write(&path, text);
            written.map_err(|error| error!("--out: {}: {error}", path.display()))?;
        }
        let (count, folder) = (open.runs.len(), self.folder.display());
        say(&format!("{count} runs written to {folder}, with a picture of them: report.html"));
        Ok(())
    }
}

impl Open {
    fn told(&mut self, scenario: &str, server: &str, outcome: &Outcome) -> io::Result<()> {
        let before = |told: &&Told| told.run.scenario == scenario && told.run.server == server;
        let number = self.runs.iter().filter(before).count() + 1;
        let run = Run { scenario: scenario.to_owned(), server: server.to_owned(), number };
        self.series.write_all(rows::series(&run, outcome).as_bytes())?;
        self.counts.write_all(rows::counts(&run, outcome).as_bytes())?;
        let times = outcome.transaction().zip(outcome.handshake());
        self.runs.push(Told {
            began_at: outcome.began_at,
            document: outcome::run(&run, outcome),
            points: outcome.series.to_vec(),
            times: times.map(|(transaction, handshake)| [transaction.clone(), handshake.clone()]),
            run,
        });
        Ok(())
    }
}

/// Returns all times of a run by name; empty if it is invalid.
fn times(outcome: &Outcome) -> Vec<(String, &Latency)> {
    let kinds = [("secure", outcome.secure_times()), ("plain", outcome.plain_times())];
    let phases = kinds.into_iter().filter_map(|(kind, times)| Some((kind, times?)));
    let phases = phases.flat_map(|(kind, times)| {
        times.all().into_iter().map(move |(name, latency)| (format!("{kind} {name}"), latency))
    });
    let whole = outcome.transaction().map(|latency| ("transaction".to_owned(), latency));
    whole.into_iter().chain(phases).collect()
}
