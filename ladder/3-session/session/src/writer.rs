//! Writes figures of sessions as records.

use tollgate_load::Context;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Timestamp, Unit};

use crate::error::Error;

/// Creates the records of one run: core cycles, with the same time.
pub(crate) struct Writer<'a> {
    context: &'a Context,
    taken_at: Timestamp,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, taken_at: Timestamp::now() }
    }

    /// The measured cost of a primitive.
    pub(crate) fn primitive(&self, subject: Subject, cycles: Estimate) -> Result<Record, Error> {
        self.record(subject, (word::CYCLES_PER_OPERATION, Kind::Measured), cycles, None)
    }

    /// A measured cost of a session.
    pub(crate) fn measured(
        &self,
        subject: Subject,
        cycles: Estimate,
        note: &str,
    ) -> Result<Record, Error> {
        self.record(subject, (word::CYCLES_PER_SESSION, Kind::Measured), cycles, Some(note))
    }

    /// A predicted cost of a session, from figures with these subjects.
    pub(crate) fn predicted(
        &self,
        subject: Subject,
        cycles: Estimate,
        from: Vec<String>,
        note: &str,
    ) -> Result<Record, Error> {
        let kind = Kind::Predicted { by: word::SESSION_RUNG.to_owned(), from };
        self.record(subject, (word::CYCLES_PER_SESSION, kind), cycles, Some(note))
    }

    fn record(
        &self,
        subject: Subject,
        (quantity, kind): (Quantity, Kind),
        cycles: Estimate,
        note: Option<&str>,
    ) -> Result<Record, Error> {
        let more = note.map(|note| (word::ASSUMPTION.to_owned(), note.to_owned()));
        let record = self.context.measured(subject, quantity, (Unit::Cycles, cycles), more);
        Ok(Record { kind, taken_at: self.taken_at, ..record.map_err(Error::figure)? })
    }
}
