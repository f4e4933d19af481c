//! Lookup of figures by subject, quantity and origin.

use std::collections::BTreeMap;

use tollgate_record::{Area, Estimate, Kind, Quantity, Record, Subject, Unit};

use tollgate_record::vocabulary::AGAINST;

/// The cell of a missing figure.
pub(crate) const MISSING: &str = "-";

/// The kind of a figure. Predicted and measured figures of a subject have the same quantity and
/// differ only in their origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    Measured,
    Predicted,
    Published,
}

impl Origin {
    /// Returns the origin of a record.
    pub(crate) const fn new(record: &Record) -> Self {
        match record.kind {
            Kind::Measured => Self::Measured,
            Kind::Predicted { .. } => Self::Predicted,
            Kind::Published { .. } => Self::Published,
        }
    }
}

/// Records to look up. If several have the same subject, quantity and origin, the last one is used.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a>(pub(crate) &'a [Record]);

impl<'a> Lookup<'a> {
    /// Returns the subjects of an area that have a measured figure, in the order of their first
    /// record.
    pub(crate) fn measured(self, area: Area) -> Vec<&'a Subject> {
        self.subjects(|record| {
            record.kind == Kind::Measured
                && record.subject.area() == area
                && record.subject.parameter(AGAINST).is_none()
        })
    }

    /// Returns the distinct subjects of the records that satisfy `wanted`, in the order of their
    /// first record.
    pub(crate) fn subjects(self, wanted: impl Fn(&Record) -> bool) -> Vec<&'a Subject> {
        distinct(self.0.iter().filter(|record| wanted(record)).map(|record| &record.subject))
    }

    /// Returns all records of a quantity with this origin.
    pub(crate) fn all(
        self,
        origin: Origin,
        quantity: Quantity,
    ) -> impl DoubleEndedIterator<Item = &'a Record> {
        let is_wanted = move |r: &&Record| Origin::new(r) == origin && r.quantity == quantity;
        self.0.iter().filter(is_wanted)
    }

    /// Returns the record of a subject's figure.
    pub(crate) fn record(
        self,
        origin: Origin,
        subject: &Subject,
        quantity: Quantity,
        unit: Unit,
    ) -> Option<&'a Record> {
        self.0.iter().rev().find(|record| {
            Origin::new(record) == origin
                && record.subject == *subject
                && record.quantity == quantity
                && record.unit == unit
        })
    }

    /// Returns a subject's figure.
    pub(crate) fn find(
        self,
        origin: Origin,
        subject: &Subject,
        quantity: Quantity,
        unit: Unit,
    ) -> Option<&'a Estimate> {
        self.record(origin, subject, quantity, unit).map(|record| &record.estimate)
    }
}

/// Removes duplicates; keeps the first occurrence of each.
pub(crate) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in all {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Keeps only the last record of each subject, quantity, unit and origin. It takes the position of
/// the first such record.
pub(crate) fn latest(records: &[Record]) -> Vec<Record> {
    let mut places: BTreeMap<(&Subject, &Quantity, Unit, Origin), usize> = BTreeMap::new();
    let mut kept: Vec<&Record> = Vec::new();
    for record in records {
        let name = (&record.subject, &record.quantity, record.unit, Origin::new(record));
        let place = *places.entry(name).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(earlier) => *earlier = record,
            None => kept.push(record),
        }
    }
    kept.into_iter().cloned().collect()
}

/// Returns a text, or a dash.
pub(crate) fn cell(text: Option<impl Into<String>>) -> String {
    text.map_or_else(|| MISSING.to_owned(), Into::into)
}

/// Returns a ratio with its interval, `2.51 [2.48-2.55]`.
pub(crate) fn ratio(estimate: &Estimate) -> String {
    let digits = if estimate.point() < 9.995 { 2 } else { 1 };
    let (low, high) = estimate.interval();
    format!("{:.digits$} [{low:.digits$}-{high:.digits$}]", estimate.point())
}

#[cfg(test)]
mod tests {

    use tollgate_record::Machine;
    use tollgate_record::vocabulary::CYCLES_PER_SESSION;

    use super::*;

    #[test]
    fn origins_distinguish_figures_of_one_subject() {
        let record = |kind, point| {
            let subject = "session/rsa-2048/tls13?by=tollgate".parse().unwrap();
            let figure = (CYCLES_PER_SESSION, Unit::Cycles, Estimate::exact(point).unwrap());
            Record::new(subject, figure, kind, Machine::unknown("Some Processor 9000"))
        };
        let predicted = || Kind::Predicted { by: "3-session".into(), from: vec![] };
        let records = [
            record(predicted(), 1.0),
            record(Kind::Measured, 2.0),
            record(Kind::Published { source: "a paper".into() }, 3.0),
            record(predicted(), 4.0), // the last one counts
        ];
        let subject = &records[0].subject;
        let of = |origin| {
            let found = Lookup(&records).find(origin, subject, CYCLES_PER_SESSION, Unit::Cycles);
            found.unwrap().point()
        };
        assert_eq!(of(Origin::Measured), 2.0);
        assert_eq!(of(Origin::Predicted), 4.0);
        assert_eq!(of(Origin::Published), 3.0);
        let latest: Vec<f64> = latest(&records).iter().map(|r| r.estimate.point()).collect();
        assert_eq!(latest, [4.0, 2.0, 3.0]);
    }
}
