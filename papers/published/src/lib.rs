//! The figures of five publications as data, each with its place and conditions.
//!
//! Each folder of `papers/` has a file `published.toml`. It is the only place for figures that
//! others published. [`PAPERS`] are these files; [`records()`] returns their figures as records,
//! whose subjects are spelled like those of our measurements, with the paper in the parameter `by`.
//! A table of the report puts a figure next to ours only if size and protocol are equal.
//!
//! A row also says how to find our figure ([`Ours`]), what differs, and which command measures it.
//! `tollgate papers` prints all rows as one table.
//!
//! ```
//! let records = tollgate_published::records_of("hp01");
//! let itanium = records.iter().find(|record| record.machine.cpu == "Itanium").unwrap();
//! assert_eq!(itanium.estimate.point(), 315.0);
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Quantity, Record, Subject, Timestamp, Unit};

/// A publication and its figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its key, such as `ITA00`.
    pub key: String,
    /// Its folder in `papers/`, which is also its name on the command line.
    pub folder: String,
    /// The year of its figures.
    pub year: u16,
    /// Authors and title.
    pub title: String,
    /// Its tables, figures and statements.
    pub tables: Vec<Table>,
}

/// A table, a figure or a statement of a publication.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its place in the publication.
    pub at: String,
    /// The subject of its figures.
    pub what: String,
    /// The unit as printed.
    #[serde(default)]
    pub unit: String,
    /// The conditions of the publication's figures.
    pub conditions: String,
    /// What differs between its figures and ours.
    pub differs: String,
    /// The command that re-enacts it.
    pub command: String,
    /// How our figure is compared; nothing if it is not a number.
    pub compare: Option<Compare>,
    /// The quantity of its records.
    pub quantity: Option<String>,
    /// The machine of its figures.
    pub machine: Option<String>,
    /// The clocks of its columns.
    #[serde(default)]
    pub clocks_mhz: Vec<f64>,
    /// The number of units of a record in one unit as printed.
    #[serde(default = "one")]
    pub scale: f64,
    /// The share of time that the machines are busy.
    pub utilisation: Option<f64>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name.
    pub what: String,
    /// The published figure; none if there is one for each clock.
    pub value: Option<Value>,
    /// The published figures at [`Table::clocks_mhz`].
    #[serde(default)]
    pub values: Vec<f64>,
    /// The cycles behind these figures: the middle of the range that their rounding allows.
    pub cycles: Option<f64>,
    /// How the authors got the figure: measured or estimated.
    pub origin: Option<String>,
    /// The purpose of an operation.
    pub role: Option<String>,
    /// The subject of the record. A row without a subject has no record.
    pub subject: Option<String>,
    /// The quantity of the record, instead of the table's.
    pub quantity: Option<String>,
    /// The machine, instead of the table's.
    pub machine: Option<String>,
    /// The clock of the machine.
    pub clock_mhz: Option<f64>,
    /// The logical cores of the machine.
    pub cores: Option<u32>,
    /// The operating system.
    pub system: Option<String>,
    /// The version of the web server Zeus.
    pub zeus: Option<String>,
    /// Our figure.
    pub ours: Option<Ours>,
    /// What differs, instead of the table's text.
    pub differs: Option<String>,
    /// The command, instead of the table's.
    pub command: Option<String>,
}

/// A published figure: a number or words.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number in the table's unit.
    Number(f64),
    /// Words, such as a setting.
    Text(String),
}

/// How to compare our figure with the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// The relative error of a model.
    Error,
    /// Our figure divided by the published one.
    Ratio,
}

/// Where our figure comes from.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Ours {
    /// A model or a simulator of `papers/` computes it.
    Computed {
        /// The name of the computation.
        computed: String,
        /// The computed figure is an upper bound.
        #[serde(default)]
        at_most: bool,
    },
    /// It is in the records.
    Recorded {
        /// The subject. A record with more parameters is used if there is none with these.
        subject: String,
        /// The quantity.
        quantity: String,
        /// Another subject, by whose figure this one is divided.
        over: Option<String>,
    },
    /// It is a setting of ours.
    Setting {
        /// The setting in words.
        text: String,
    },
}

const fn one() -> f64 {
    1.0
}

/// The five publications, in the order of their rungs.
pub static PAPERS: LazyLock<[Paper; 5]> = LazyLock::new(|| {
    [
        include_str!("../../itanium/published.toml"),
        include_str!("../../leon2/published.toml"),
        include_str!("../../pkeu/published.toml"),
        include_str!("../../ssl-rate/published.toml"),
        include_str!("../../internet/published.toml"),
    ]
    .map(|text| toml::from_str(text).unwrap_or_else(|error| panic!("published.toml: {error}")))
});

/// Returns a publication by its key or by its folder, without regard to case.
#[must_use]
pub fn paper(name: &str) -> Option<&'static Paper> {
    let is_named = |paper: &&Paper| {
        paper.key.eq_ignore_ascii_case(name) || paper.folder.eq_ignore_ascii_case(name)
    };
    PAPERS.iter().find(is_named)
}

/// Returns the figures of all publications as records.
#[must_use]
pub fn records() -> Vec<Record> {
    PAPERS.iter().flat_map(Paper::records).collect()
}

/// Returns the figures of one publication as records; none if there is no such publication.
#[must_use]
pub fn records_of(name: &str) -> Vec<Record> {
    paper(name).map(Paper::records).unwrap_or_default()
}

impl Paper {
    /// Returns the figures of this publication that have a subject, as records.
    ///
    /// # Panics
    ///
    /// Never: a test makes all records.
    pub fn records(&self) -> Vec<Record> {
        let rows =
            self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        rows.flat_map(|(table, row)| self.records_of_row(table, row)).collect()
    }

    /// Returns the number of a row. `what` is its name.
    #[must_use]
    pub fn number(&self, what: &str) -> Option<f64> {
        let mut rows = self.tables.iter().flat_map(|table| &table.rows);
        rows.find(|row| row.what == what)?.number()
    }

    /// Returns the first day of its year.
    fn date(&self) -> Timestamp {
        format!("{}-01-01T00:00:00Z", self.year).parse().expect("a year")
    }

    fn records_of_row(&self, table: &Table, row: &Row) -> Vec<Record> {
        let Some(subject) = &row.subject else { return Vec::new() };
        let subject: Subject = subject.parse().expect("a subject of the vocabulary");
        let numbers = row.number().map(|number| (None, number));
        let clocks = table.clocks_mhz.iter().map(|clock| Some(*clock));
        let at_clocks = clocks.zip(row.values.iter().copied());
        let record = |(clock, number): (Option<f64>, f64)| {
            let subject = match clock {
                Some(clock) => subject.with(word::CLOCK_MHZ, clock).expect("a number"),
                None => subject.clone(),
            };
            self.record(table, row, subject, number * table.scale)
        };
        numbers.into_iter().chain(at_clocks).map(record).collect()
    }

    fn record(&self, table: &Table, row: &Row, subject: Subject, figure: f64) -> Record {
        let quantity = row.quantity.as_ref().or(table.quantity.as_ref());
        let quantity: Quantity = quantity.expect("a quantity").parse().expect("a known quantity");
        let estimate = Estimate::exact(figure).expect("a number");
        let place = match table.at.contains("table") {
            true => format!("{}; {}", table.at, table.conditions),
            false => table.conditions.clone(),
        };
        let kind = Kind::Published { source: format!("{}: {place}", self.title) };
        let cpu = row.machine.as_ref().or(table.machine.as_ref()).expect("a machine");
        let clock = row.clock_mhz.map(|mhz| Estimate::exact(mhz * 1e6).expect("a number"));
        let machine = Machine {
            core_clock_hz: clock,
            logical_cores: row.cores,
            kernel: row.system.clone(),
            ..Machine::unknown(cpu)
        };
        let words = |key: &str, value: Option<String>| value.map(|value| (key.to_owned(), value));
        let conditions = [
            words(word::ORIGIN, row.origin.clone()),
            words(word::UTILISATION, table.utilisation.map(|share| share.to_string())),
        ];
        Record {
            conditions: conditions.into_iter().flatten().collect(),
            versions: words("zeus", row.zeus.clone()).into_iter().collect::<BTreeMap<_, _>>(),
            taken_at: self.date(),
            ..Record::new(subject, (quantity, unit(quantity), estimate), kind, machine)
        }
    }
}

impl Row {
    /// Returns the figure, if it is one number.
    #[must_use]
    pub const fn number(&self) -> Option<f64> {
        match self.value {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }
}

/// Returns the unit of a quantity's records.
fn unit(quantity: Quantity) -> Unit {
    match quantity.as_str() {
        name if name.starts_with("cycles") => Unit::Cycles,
        name if name.starts_with("ns_") => Unit::Nanos,
        name if name.starts_with("price") || name.ends_with("cores") => Unit::Count,
        name if name.contains("per_s") => Unit::PerSecond,
        _ => Unit::Ratio,
    }
}
