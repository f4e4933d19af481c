//! Finding figures: records by subject and quantity.

use core::fmt::Display;

use tollgate_record::{Cycles, Estimate, Kind, Nanos, PerSecond, Record, Subject, Unit};

use tollgate_record::vocabulary::AGAINST;

/// The cell of a figure that nobody recorded.
pub(crate) const MISSING: &str = "-";

/// Records to look up; the last of several for one subject and quantity counts.
#[derive(Clone, Copy)]
pub(crate) struct Shelf<'a>(pub(crate) &'a [Record]);

impl<'a> Shelf<'a> {
    /// Subjects whose path starts with `rung` and that have a measured figure of their own, in the
    /// order of their first record.
    pub(crate) fn measured(self, rung: &str) -> Vec<&'a Subject> {
        self.subjects(|record| {
            record.kind == Kind::Measured
                && record.subject.segments().next() == Some(rung)
                && record.subject.parameter(AGAINST).is_none()
        })
    }

    /// Subjects of the records that `wanted` takes, each once, in the order of their first record.
    pub(crate) fn subjects(self, wanted: impl Fn(&Record) -> bool) -> Vec<&'a Subject> {
        let mut subjects: Vec<&Subject> = Vec::new();
        for record in self.0.iter().filter(|record| wanted(record)) {
            if !subjects.contains(&&record.subject) {
                subjects.push(&record.subject);
            }
        }
        subjects
    }

    /// The record of a subject's figure.
    pub(crate) fn record(
        self,
        subject: &Subject,
        quantity: &str,
        unit: Unit,
    ) -> Option<&'a Record> {
        self.0.iter().rev().find(|record| {
            record.subject == *subject
                && record.quantity.as_str() == quantity
                && record.unit == unit
        })
    }

    /// A subject's figure.
    pub(crate) fn find(
        self,
        subject: &Subject,
        quantity: &str,
        unit: Unit,
    ) -> Option<&'a Estimate> {
        self.record(subject, quantity, unit).map(|record| &record.estimate)
    }

    /// A subject's figure in cycles.
    pub(crate) fn cycles(self, subject: &Subject, quantity: &str) -> Option<Cycles> {
        self.find(subject, quantity, Unit::Cycles).map(|found| Cycles::new(found.point()))
    }

    /// A subject's figure in nanoseconds.
    pub(crate) fn nanos(self, subject: &Subject, quantity: &str) -> Option<Nanos> {
        self.find(subject, quantity, Unit::Nanos).map(|found| Nanos::new(found.point()))
    }

    /// A subject's figure per second.
    pub(crate) fn per_second(self, subject: &Subject, quantity: &str) -> Option<PerSecond> {
        self.find(subject, quantity, Unit::PerSecond).map(|found| PerSecond::new(found.point()))
    }
}

/// A quantity without the word of its unit, which stands above the column.
pub(crate) fn cell(quantity: Option<impl Display>) -> String {
    let Some(quantity) = quantity else {
        return MISSING.to_owned();
    };
    let text = quantity.to_string();
    let bare = text.strip_suffix(" cycles").or_else(|| text.strip_suffix("/s"));
    bare.unwrap_or(&text).to_owned()
}

/// How much of the measured cycles the bound explains, in percent.
pub(crate) fn share(bound: Option<Cycles>, measured: Option<Cycles>) -> String {
    match (bound, measured) {
        (Some(bound), Some(measured)) if measured.get() > 0.0 => {
            format!("{:.0} %", 100.0 * (bound / measured))
        }
        _ => MISSING.to_owned(),
    }
}

/// A ratio with its interval, `2.51 [2.48-2.55]`.
pub(crate) fn ratio(estimate: &Estimate) -> String {
    let digits = if estimate.point() < 9.995 { 2 } else { 1 };
    let (low, high) = estimate.interval();
    format!("{:.digits$} [{low:.digits$}-{high:.digits$}]", estimate.point())
}
