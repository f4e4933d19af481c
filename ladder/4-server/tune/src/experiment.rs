//! Experiments: servers and loads with one change each, as data.

use std::collections::BTreeMap;

use serde::Deserialize;
use tollgate_report::experiment::Column;
use toml::Table;

use crate::file::{BadFile, read};
use crate::setup::Setup;

/// The experiments of this program: name and file.
pub const EXPERIMENTS: [(&str, &str); 8] = [
    ("clients", include_str!("../experiments/clients.toml")),
    ("eti10", include_str!("../experiments/eti10.toml")),
    ("hybrid", include_str!("../experiments/hybrid.toml")),
    ("proxy", include_str!("../experiments/proxy.toml")),
    ("scale", include_str!("../experiments/scale.toml")),
    ("sensitivity", include_str!("../experiments/sensitivity.toml")),
    ("sessions", include_str!("../experiments/sessions.toml")),
    ("share", include_str!("../experiments/share.toml")),
];

/// An experiment. Each load has a table, with a row for each case.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// One line.
    pub title: String,
    /// The columns of the table.
    pub columns: Vec<&'static Column>,
    /// A paragraph below the tables.
    pub note: Option<String>,
    /// The number of rounds, in each of which every case runs once.
    pub rounds: u32,
    /// The seconds of the measured part of a run.
    pub seconds: f64,
    /// The maximum drift of the rate, as a share.
    pub drift_max: f64,
    /// The share of its cores' time that the client may use.
    pub client_cpu_max: Option<f64>,
    /// `true` if each case runs on one core, on two, and so on, and a law is fitted to its rates.
    pub each_core_count: bool,
    /// `true` if `perf` divides the CPU time into parts.
    pub parts: bool,
    /// Published cycles by part.
    pub published_parts: BTreeMap<String, f64>,
    /// The loads with their cases, the baseline first.
    pub loads: Vec<(String, Vec<Case>)>,
}

/// A server and its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The change, in words.
    pub name: String,
    /// The line of its name in the file.
    pub line: usize,
    /// The ratio that a publication gives for the change.
    pub published: Option<f64>,
    /// The server and its load with the change.
    pub setup: Setup,
}

/// The file; `E` is a change, or a [`Setup`] to check the types of all fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<E> {
    title: String,
    columns: Vec<String>,
    baseline: Option<String>,
    note: Option<String>,
    #[serde(default = "six")]
    rounds: u32,
    #[serde(default = "two")]
    seconds: f64,
    #[serde(default = "tenth")]
    drift_max: f64,
    client_cpu_max: Option<f64>,
    #[serde(default)]
    each_core_count: bool,
    #[serde(default)]
    parts: bool,
    #[serde(default)]
    published_parts: BTreeMap<String, f64>,
    start: E,
    #[serde(default, rename = "load")]
    loads: Vec<Change<E>>,
    #[serde(rename = "case")]
    cases: Vec<Change<E>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change<E> {
    name: String,
    published: Option<f64>,
    set: Option<E>,
}

const fn six() -> u32 {
    6
}

const fn two() -> f64 {
    2.0
}

const fn tenth() -> f64 {
    0.1
}

impl Experiment {
    /// Returns the experiment of this name; `None` if the program has none.
    ///
    /// # Panics
    ///
    /// Never: tests read all experiments of the program.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = EXPERIMENTS.into_iter().find(|(known, _)| *known == name)?;
        Some(Self::from_toml(text).expect("tests read all experiments"))
    }

    /// Reads an experiment.
    ///
    /// # Errors
    ///
    /// The text is no TOML, or has a missing, unknown or wrong field. The error names the line.
    pub fn from_toml(text: &str) -> Result<Self, BadFile> {
        let _types: File<Setup> = read(text)?;
        let file: File<Table> = read(text)?;
        let line = |word: &str| {
            let found = text.lines().position(|line| line.contains(&format!("\"{word}\"")));
            found.unwrap_or(0) + 1
        };
        let at = |word: &str, why: &str| BadFile(format!("line {}: {word}: {why}", line(word)));
        let column = |word: &String| {
            Column::named(word).ok_or_else(|| {
                at(word, &format!("no such column: give some of {}", Column::words()))
            })
        };
        let columns = file.columns.iter().map(column).collect::<Result<_, _>>()?;
        let in_range = |name: &str, is_right: bool, range: &str| {
            if is_right { Ok(()) } else { Err(BadFile(format!("{name}: give {range}"))) }
        };
        in_range("rounds", (1..=1000).contains(&file.rounds), "1 to 1000")?;
        in_range("seconds", (0.1..=3600.0).contains(&file.seconds), "0.1 to 3600")?;
        in_range("drift_max", (0.0..=1.0).contains(&file.drift_max), "0 to 1")?;
        in_range("case", !file.cases.is_empty(), "at least one [[case]]")?;
        let mut cases: Vec<&Change<Table>> = file.cases.iter().collect();
        for (place, case) in cases.iter().enumerate() {
            if cases[..place].iter().any(|other| other.name == case.name) {
                return Err(at(&case.name, "a case has this name: rename one"));
            }
        }
        if let Some(name) = &file.baseline {
            let place = cases.iter().position(|case| case.name == *name);
            let place = place.ok_or_else(|| at(name, "no case has this name: give one's name"))?;
            let first = cases.remove(place);
            cases.insert(0, first);
        }
        let edited = |setup: &Setup, change: &Change<Table>| {
            let set = change.set.clone().unwrap_or_default();
            setup.edited(&set).map_err(|why| at(&change.name, &why))
        };
        let start = Setup::default().edited(&file.start).map_err(BadFile)?;
        let whole = [Change { name: String::new(), published: None, set: None }];
        let loads = if file.loads.is_empty() { &whole[..] } else { &file.loads };
        let of_load = |load: &Change<Table>| {
            let base = edited(&start, load)?;
            let case = |case: &&Change<Table>| {
                let (name, published) = (case.name.clone(), case.published);
                let line = line(&name);
                Ok(Case { name, line, published, setup: edited(&base, case)? })
            };
            Ok((load.name.clone(), cases.iter().map(case).collect::<Result<_, BadFile>>()?))
        };
        Ok(Self {
            loads: loads.iter().map(of_load).collect::<Result<_, BadFile>>()?,
            title: file.title,
            columns,
            note: file.note,
            rounds: file.rounds,
            seconds: file.seconds,
            drift_max: file.drift_max,
            client_cpu_max: file.client_cpu_max,
            each_core_count: file.each_core_count,
            parts: file.parts,
            published_parts: file.published_parts,
        })
    }

    /// Replaces each case by one for each number of cores up to `last`.
    #[must_use]
    pub fn on_each_core_count(mut self, last: u32) -> Self {
        for (_, cases) in &mut self.loads {
            let of_case = |case: &Case| {
                let case = case.clone();
                (1..=last).map(move |cores| {
                    let plural = if cores == 1 { "" } else { "s" };
                    let name = format!("{}, {cores} core{plural}", case.name);
                    let setup = Setup { cores: Some(cores), ..case.setup.clone() };
                    Case { name, setup, ..case.clone() }
                })
            };
            *cases = cases.iter().flat_map(of_case).collect();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_experiments_of_the_program_have_cases() {
        for (name, _) in EXPERIMENTS {
            let experiment = Experiment::named(name).unwrap();
            let cases: usize = experiment.loads.iter().map(|(_, cases)| cases.len()).sum();
            assert!(cases >= 2 && !experiment.columns.is_empty(), "{name}");
        }
        assert!(Experiment::named("x").is_none());
    }

    const FILE: &str = "title = \"t\"\ncolumns = [\"rate\", \"ratio\"]\nbaseline = \"b\"\n\
        [start]\nserver = \"haproxy\"\ndirectives = { \"http.gzip\" = \"on\" }\n\
        [[load]]\nname = \"small\"\nset = { bytes = 1 }\n\
        [[load]]\nname = \"large\"\nset = { bytes = 2 }\n\
        [[case]]\nname = \"a\"\nset = { provider = true, directives = { \"http.x\" = \"y\" } }\n\
        [[case]]\nname = \"b\"\n";

    #[test]
    fn a_case_has_the_changes_of_its_load_and_its_own() {
        let experiment = Experiment::from_toml(FILE).unwrap();
        let [(small, _), (_, cases)] = &experiment.loads[..] else { panic!("{experiment:?}") };
        assert_eq!(small, "small");
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["b", "a"], "the baseline is first");
        let setup = &cases[1].setup;
        assert_eq!((setup.bytes, setup.provider, &*setup.server), (Some(2), true, "haproxy"));
        assert_eq!(setup.directives.len(), 2);
        assert_eq!(cases[0].setup.directives.len(), 1);
    }

    #[test]
    fn a_wrong_file_has_an_error_of_one_line_that_names_the_line() {
        for (old, new, why) in [
            ("title = \"t\"", "nonsense", "line 1"),
            ("\"rate\"", "\"heat\"", "line 2: heat: no such column: give some of rate, "),
            ("baseline = \"b\"", "baseline = \"c\"", "line 3: c: no case has this name"),
            ("name = \"b\"", "name = \"a\"", "a: a case has this name: rename one"),
            ("bytes = 1", "byte = 1", "line 9: unknown field `byte`"),
            ("bytes = 2", "bytes = \"x\"", "line 12: invalid type"),
            ("provider = true", "provider = 1", "line 15: invalid type"),
            ("title = \"t\"\n", "title = \"t\"\nrounds = 0\n", "rounds: give 1 to 1000"),
        ] {
            let error = Experiment::from_toml(&FILE.replacen(old, new, 1)).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{why}: {error}");
        }
    }
}
