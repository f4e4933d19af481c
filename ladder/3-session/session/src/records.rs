//! Figures as records: primitives, parts, totals.

use std::collections::BTreeMap;

use tollgate_load::Context;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Timestamp, Unit};

use crate::batches::Batches;
use crate::error::Error;
use crate::halves::{Halves, ONE_HALF};
use crate::need::Need;
use crate::plan::Session;
use crate::primitive::Primitive;
use crate::replica::Replica;
use crate::sum::sum;

/// The parts that are sums of primitives.
const COUNTED: [&str; 6] = [
    word::PART_RSA,
    word::PART_SIGNATURE,
    word::PART_KEY_EXCHANGE,
    word::PART_KEY_SCHEDULE,
    word::PART_RECORDS,
    word::PART_MAC,
];

/// The measured figures of a session.
pub(crate) struct Predicted<'a> {
    pub(crate) session: &'a Session,
    pub(crate) need: &'a Need,
    pub(crate) halves: &'a Halves,
    pub(crate) batches: &'a Batches,
    pub(crate) replica: &'a Replica<'a>,
    /// The cycles of the calls of libssl.
    pub(crate) library: Estimate,
    /// The cycles of the system calls.
    pub(crate) system: Estimate,
    /// The mean number of operations with the server's key that the replay ran at once.
    pub(crate) batch: f64,
}

impl Predicted<'_> {
    /// The subject of a primitive, in the batches of this server.
    fn of_primitive(&self, primitive: Primitive) -> Result<Subject, Error> {
        Ok(primitive.subject(self.session, self.batches.size(primitive))?)
    }

    /// The subject of a figure, with the name of a stock server.
    fn named(&self, subject: Subject) -> Result<Subject, Error> {
        let Some(server) = self.replica.server() else { return Ok(subject) };
        let by = format!("{server}-{}", self.session.engine);
        Ok(subject.without(&[word::BY]).with(word::BY, by)?)
    }

    /// The subject of a figure that was measured for this prediction.
    fn measured(&self, name: &str) -> Result<Subject, Error> {
        self.named(self.session.primitive_subject(name)?)
    }
}

/// Creates the records of one run: core cycles, with the same time.
pub(crate) struct Scribe<'a> {
    context: &'a Context,
    taken_at: Timestamp,
    /// Cycles of each primitive.
    figures: &'a BTreeMap<Subject, Estimate>,
}

impl<'a> Scribe<'a> {
    pub(crate) fn new(context: &'a Context, figures: &'a BTreeMap<Subject, Estimate>) -> Self {
        Self { context, taken_at: Timestamp::now(), figures }
    }

    /// The primitives.
    pub(crate) fn primitives(&self) -> Result<Vec<Record>, Error> {
        let measured = (word::CYCLES_PER_OPERATION, Kind::Measured);
        let record = |(subject, cycles): (&Subject, &Estimate)| {
            self.record(subject.clone(), measured.clone(), *cycles, None)
        };
        self.figures.iter().map(record).collect()
    }

    /// All records of a session: the replay's measurements, the parts, and their sum.
    pub(crate) fn session(&self, of: &Predicted<'_>) -> Result<Vec<Record>, Error> {
        let shared = if of.replica.has_cores() { "" } else { "; one core for both sides" };
        let replayed = format!("a replay of the calls of {}{shared}", of.replica.source());
        let measured = |name, cycles| {
            let kind = (word::CYCLES_PER_SESSION, Kind::Measured);
            self.record(of.measured(name)?, kind, cycles, Some(&replayed))
        };
        let mut records = vec![measured("libssl", of.library)?, measured("system", of.system)?];
        let [library_from, system_from] = [0, 1].map(|i: usize| records[i].subject.to_string());
        let total = of.named(of.session.subject()?)?;
        let part = |name, cycles, from| {
            self.predicted(total.clone().with(word::PART, name)?, cycles, from)
        };
        let mut rest = vec![(1.0, of.library)];
        let mut rest_from = vec![library_from];
        let mut parts = Vec::new();
        let is_rsa = of.session.key.is_rsa();
        let other_key = if is_rsa { word::PART_SIGNATURE } else { word::PART_RSA };
        for name in COUNTED.into_iter().filter(|name| *name != other_key) {
            let (from, costs) = self.costs(&of.need.of(name), of)?;
            rest.extend(costs.iter().map(|(count, cycles)| (-count, *cycles)));
            rest_from.extend_from_slice(&from);
            parts.push(part(name, sum(&costs)?, from)?);
        }
        parts.push(part(word::PART_LIBRARY, sum(&rest)?, rest_from)?);
        parts.push(part(word::PART_SYSTEM, of.system, vec![system_from])?);
        // The library's part is a difference, so the parts add up to the two measurements.
        let cycles = sum(&[(1.0, of.library), (1.0, of.system)])?;
        let from = parts.iter().map(|part| part.subject.to_string()).collect();
        records.extend(parts);
        records.extend(self.halves(of, &total)?);
        records.push(self.predicted(total, cycles, from)?);
        let connections = of.replica.connections().to_string();
        let mut conditions = vec![(word::CONNECTIONS.to_owned(), connections)];
        if of.batch > 1.0 {
            conditions.push((word::BATCH.to_owned(), format!("{:.1}", of.batch)));
        }
        records.iter_mut().for_each(|record| record.conditions.extend(conditions.clone()));
        Ok(records)
    }

    /// The details of a hybrid key exchange: its halves, and the rest of the part.
    fn halves(&self, of: &Predicted<'_>, total: &Subject) -> Result<Vec<Record>, Error> {
        let (mut rest_from, whole) = self.costs(&of.need.of(word::PART_KEY_EXCHANGE), of)?;
        let mut rest = whole;
        let detailed = |name: &str| {
            let part = total.clone().with(word::PART, word::PART_KEY_EXCHANGE)?;
            part.with(word::DETAIL, name)
        };
        let mut records = Vec::new();
        for (detail, primitives) in of.halves.all() {
            let once = |need: Need, &primitive| need.and(1.0, primitive);
            let half = primitives.iter().fold(Need::default(), once);
            let (from, costs) = self.costs(&half, of)?;
            rest.extend(costs.iter().map(|(count, cycles)| (-count, *cycles)));
            rest_from.extend_from_slice(&from);
            records.push(self.predicted(detailed(detail)?, sum(&costs)?, from)?);
        }
        if !records.is_empty() {
            let subject = detailed(word::DETAIL_EVP)?;
            let mut record = self.predicted(subject, sum(&rest)?, rest_from)?;
            if of.halves.lacks_one() {
                record.conditions.insert(word::ASSUMPTION.to_owned(), ONE_HALF.to_owned());
            }
            records.push(record);
        }
        Ok(records)
    }

    /// Returns the subject of each primitive of a need, its count, and the cost of one.
    #[allow(clippy::type_complexity, reason = "two lists of equal length")]
    fn costs(
        &self,
        need: &Need,
        of: &Predicted<'_>,
    ) -> Result<(Vec<String>, Vec<(f64, Estimate)>), Error> {
        let (mut subjects, mut costs) = (Vec::new(), Vec::new());
        for (primitive, count) in need.counts() {
            let subject = of.of_primitive(primitive)?;
            let cycles = *self.figures.get(&subject).expect("each primitive was measured");
            subjects.push(subject.to_string());
            costs.push((count, cycles));
        }
        Ok((subjects, costs))
    }

    /// A predicted cost of a session, from figures with these subjects.
    fn predicted(
        &self,
        subject: Subject,
        cycles: Estimate,
        from: Vec<String>,
    ) -> Result<Record, Error> {
        let kind = Kind::Predicted { by: word::SESSION_RUNG.to_owned(), from };
        self.record(subject, (word::CYCLES_PER_SESSION, kind), cycles, None)
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
        Ok(Record { kind, taken_at: self.taken_at, ..record? })
    }
}
