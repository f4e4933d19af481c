//! The six rungs: their representative figures, and sentences that explain each by the next lower
//! rung.

mod fleet;
mod kernel;
mod model;
mod operation;
mod server;
mod session;
mod table;

use tollgate_record::{Record, Unit};

use crate::figure;
use crate::lookup::MISSING;

pub(crate) use table::figures;
pub use table::{rung, table};

/// The name of each rung, its figures in a few words, and the `tollgate` command that runs it
/// alone.
const RUNGS: [(&str, &str, &str); 6] = [
    ("model", "what the processor allows", "model"),
    ("kernel", "a call of the best one", "kernel"),
    ("operation", "one of a handshake", "speed"),
    ("session", "cycles of one session", "explain"),
    ("server", "sessions per second", "bench"),
    ("fleet", "cores and money", "fleet"),
];

/// The figures of a rung, and the sentences that explain it by the next lower rung.
type Content<'a> = (Vec<Figure<'a>>, Vec<String>);

/// One rung of the ladder.
pub(crate) struct Rung<'a> {
    pub(crate) number: u8,
    pub(crate) name: &'static str,
    /// A one-line description of its figures.
    pub(crate) about: &'static str,
    /// The `tollgate` command that runs only this rung.
    pub(crate) verb: &'static str,
    pub(crate) rows: Vec<Figure<'a>>,
    /// Sentences that explain the rung by the next lower rung.
    pub(crate) sentences: Vec<String>,
}

impl Rung<'_> {
    /// Returns `true` if the rung has a predicted or a measured figure.
    pub(crate) fn is_known(&self) -> bool {
        self.rows.iter().any(|row| row.predicted.is_some() || row.measured.is_some())
    }
}

/// One figure with its predicted, measured and published values.
pub(crate) struct Figure<'a> {
    /// The handshake and the payload of sessions, servers and fleets, in words.
    pub(crate) heading: Option<String>,
    /// The subject in words.
    pub(crate) what: String,
    pub(crate) unit: Unit,
    /// The unit as printed for the reader.
    pub(crate) unit_name: String,
    pub(crate) predicted: Option<f64>,
    /// `true` if the prediction is a lower bound.
    pub(crate) is_bound: bool,
    pub(crate) measured: Option<&'a Record>,
    pub(crate) published: Option<&'a Record>,
    /// `true` if the picture of the rung shows it.
    pub(crate) is_shown: bool,
    /// The records from which the prediction was computed.
    pub(crate) sources: Vec<&'a Record>,
}

impl<'a> Figure<'a> {
    fn new(what: impl Into<String>, unit: Unit, unit_name: &str) -> Self {
        Self {
            heading: None,
            what: what.into(),
            unit,
            unit_name: unit_name.to_owned(),
            predicted: None,
            is_bound: false,
            measured: None,
            published: None,
            is_shown: false,
            sources: Vec::new(),
        }
    }

    fn headed(self, heading: impl Into<String>) -> Self {
        Self { heading: Some(heading.into()), ..self }
    }

    fn shown(self) -> Self {
        Self { is_shown: true, ..self }
    }

    fn measured(self, measured: Option<&'a Record>) -> Self {
        Self { measured, ..self }
    }

    fn published(self, published: Option<&'a Record>) -> Self {
        Self { published, ..self }
    }

    fn predicted(mut self, record: Option<&'a Record>) -> Self {
        self.predicted = record.map(|record| record.estimate.point());
        self.sources.extend(record);
        self
    }

    /// Adds a bound, unless the figure already has a prediction.
    fn bound(self, record: Option<&'a Record>) -> Self {
        if self.predicted.is_some() || record.is_none() {
            return self;
        }
        Self { is_bound: true, ..self.predicted(record) }
    }

    fn is_known(&self) -> bool {
        self.predicted.is_some() || self.measured.is_some() || self.published.is_some()
    }

    /// Returns the measured value minus the predicted value.
    pub(crate) fn remainder(&self) -> Option<f64> {
        Some(self.measured?.estimate.point() - self.predicted?)
    }

    /// Returns the remainder, absolute and as a share of the measured value: `+70.6k (26 %)`.
    pub(crate) fn remainder_text(&self) -> String {
        let (Some(remainder), Some(measured)) = (self.remainder(), self.measured) else {
            return MISSING.to_owned();
        };
        let share = figure::percent(remainder, measured.estimate.point());
        format!("{} ({share})", figure::difference(remainder, self.unit))
    }

    /// Returns the prediction as text. A bound is marked.
    pub(crate) fn predicted_text(&self) -> String {
        let mark = if self.is_bound { ">" } else { "" };
        mark.to_owned() + &figure::optional(self.predicted, self.unit)
    }

    /// Returns all records of the row.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a Record> {
        self.sources.iter().copied().chain(self.measured).chain(self.published)
    }
}

/// Returns all six rungs, the lowest first.
pub(crate) fn climb(records: &[Record]) -> Vec<Rung<'_>> {
    let contents = [
        model::rung(records),
        kernel::rung(records),
        operation::rung(records),
        session::rung(records),
        server::rung(records),
        fleet::rung(records),
    ];
    let rungs = (0..).zip(RUNGS).zip(contents);
    rungs
        .map(|((number, (name, about, verb)), (mut rows, sentences))| {
            rows.retain(Figure::is_known);
            Rung { number, name, about, verb, rows, sentences }
        })
        .collect()
}
