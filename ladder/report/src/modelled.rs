//! Montgomery products of modelled machines, for the table of models and rung 0.

use tollgate_record::vocabulary::{ASSUMPTION, BITS, CYCLES_PER_PRODUCT, LIMIT, MARK, ORIGIN};
use tollgate_record::{Area, Record, Subject, Topic, Unit};

use crate::lookup::Lookup;
use crate::lookup::Origin::{self, Measured, Predicted, Published};

/// The machine on which the report is made, as subjects name it.
pub(crate) const HOST: &str = "host";

/// One machine and modulus size.
pub(crate) struct Modelled<'a> {
    /// The machine as in the subject, `alpha-21264`.
    pub(crate) machine: &'a str,
    pub(crate) bits: &'a str,
    /// The number that was changed to see its effect, `limit multiplier`; empty for the model
    /// itself.
    pub(crate) change: String,
    pub(crate) predicted: Option<&'a Record>,
    pub(crate) measured: Option<&'a Record>,
    pub(crate) published: Option<&'a Record>,
}

impl Modelled<'_> {
    /// The machine's name in words.
    pub(crate) fn name(&self) -> String {
        match self.machine {
            HOST => "this machine".to_owned(),
            "itanium" => "Itanium".to_owned(),
            "alpha-21264" => "Alpha 21264".to_owned(),
            "ultrasparc-iii" => "UltraSPARC III".to_owned(),
            "powerpc-g4" => "PowerPC G4".to_owned(),
            "zen-4" => "AMD Zen 4".to_owned(),
            "zen-5" => "AMD Zen 5".to_owned(),
            "ice-lake" => "Ice Lake".to_owned(),
            "sapphire-rapids" => "Sapphire Rapids".to_owned(),
            "neoverse-v1" => "Neoverse V1".to_owned(),
            "neoverse-v2" => "Neoverse V2".to_owned(),
            "apple-m1" => "Apple M1".to_owned(),
            "hopper" => "NVIDIA Hopper SM".to_owned(),
            other => other.to_owned(),
        }
    }

    /// The relative error of the model against the paper: 0.02 is 2 % too much.
    pub(crate) fn error(&self) -> Option<f64> {
        let (model, paper) = (self.predicted?.estimate.point(), self.published?.estimate.point());
        let error = model / paper - 1.0;
        (paper > 0.0 && error.is_finite()).then_some(error)
    }

    /// The resource that limits the model.
    pub(crate) fn limit(&self) -> Option<&str> {
        self.condition(LIMIT)
    }

    /// The origin of the paper's figure: `measured`, `estimated`.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.published?.conditions.get(ORIGIN).map(String::as_str)
    }

    /// The assumptions of the model.
    pub(crate) fn assumption(&self) -> Option<&str> {
        self.condition(ASSUMPTION)
    }

    /// The quality of its weakest number: `stated`, `assumed`.
    pub(crate) fn mark(&self) -> Option<&str> {
        self.condition(MARK)
    }

    fn condition(&self, key: &str) -> Option<&str> {
        self.predicted?.conditions.get(key).map(String::as_str)
    }
}

/// Every machine and size, in the order of the records, each followed by its changed models; this
/// machine is last.
pub(crate) fn modelled(records: &[Record]) -> Vec<Modelled<'_>> {
    let lookup = Lookup(records);
    let mut subjects: Vec<&Subject> = lookup.subjects(|record| {
        record.subject.area() == Area::Model && record.quantity == CYCLES_PER_PRODUCT
    });
    let order: Vec<(&str, Option<&str>)> = subjects.iter().map(|s| row_of(s)).collect();
    subjects.sort_by_key(|subject| {
        let place = order.iter().position(|row| *row == row_of(subject));
        (machine_of(subject) == HOST, place, subject.parameters().count())
    });
    let find = |origin: Origin, subject: &Subject| {
        lookup.record(origin, subject, CYCLES_PER_PRODUCT, Unit::Cycles)
    };
    subjects
        .iter()
        .map(|subject| {
            let changes = subject.parameters().filter(|(key, _)| *key != BITS);
            let change: Vec<String> =
                changes.map(|(key, value)| format!("{key} {value}")).collect();
            let itself = subjects.iter().find(|other| row_of(other) == row_of(subject));
            Modelled {
                machine: machine_of(subject),
                bits: subject.parameter(BITS).unwrap_or_default(),
                change: change.join(", ").replace('_', " "),
                predicted: find(Predicted, subject),
                measured: find(Measured, subject),
                published: itself.and_then(|itself| find(Published, itself)),
            }
        })
        .collect()
}

/// Machine and size. The model itself has no other parameter and is first.
fn row_of(subject: &Subject) -> (&str, Option<&str>) {
    (machine_of(subject), subject.parameter(BITS))
}

fn machine_of(subject: &Subject) -> &str {
    match subject.topic() {
        Topic::Model { machine, .. } => machine,
        _ => "",
    }
}
