//! Figures as records: primitives, parts, totals.

use std::collections::BTreeMap;

use tollgate_load::Context;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Timestamp, Unit};

use crate::batches::Batches;
use crate::error::Error;
use crate::need::Need;
use crate::plan::Session;
use crate::primitive::Primitive;
use crate::replica::Replica;
use crate::sum::sum;

/// The parts that are sums of primitives, each with its description.
const COUNTED: [(&str, &str); 6] = [
    (word::PART_RSA, "the private-key operation through EVP, as libssl calls it"),
    (word::PART_SIGNATURE, "the signature through EVP, as libssl calls it"),
    (
        word::PART_KEY_EXCHANGE,
        "an ephemeral key pair and the agreement through EVP, as libssl calls them",
    ),
    (
        word::PART_KEY_SCHEDULE,
        "derivations, with the fetches that libssl makes for each, and hashes of the transcript",
    ),
    (word::PART_RECORDS, "records both ways, handshake and alert included; authenticated as well"),
    (word::PART_MAC, "HMAC of the records, if it is separate: an AEAD is counted as records"),
];

const LIBRARY: &str = "the server's calls of libssl, less their primitives; in turn with the \
                       server's system calls, so the caches are as cold as in the server";
const SYSTEM: &str = "the server's system calls over loopback, between its calls of libssl: CPU \
                      time of the serving thread outside libssl, the loop of the replay included";

/// The measured figures of a session.
pub(crate) struct Predicted<'a> {
    pub(crate) session: &'a Session,
    pub(crate) need: &'a Need,
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
        primitive.subject(self.session, self.batches.size(primitive)).map_err(Error::figure)
    }

    /// The subject of a figure, with the name of a stock server.
    fn named(&self, subject: Subject) -> Result<Subject, Error> {
        let Some(server) = self.replica.server() else { return Ok(subject) };
        let by = format!("{server}-{}", self.session.engine);
        subject.without(&[word::BY]).with(word::BY, by).map_err(Error::figure)
    }

    /// The subject of a figure that was measured for this prediction.
    fn measured(&self, name: &str) -> Result<Subject, Error> {
        self.named(self.session.primitive_subject(name).map_err(Error::figure)?)
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
        let replayed = format!("a replay of the calls of {}", of.replica.source());
        let measured = |name, cycles| {
            let kind = (word::CYCLES_PER_SESSION, Kind::Measured);
            self.record(of.measured(name)?, kind, cycles, Some(&replayed))
        };
        let mut records = vec![measured("libssl", of.library)?, measured("system", of.system)?];
        let [library_from, system_from] = [0, 1].map(|i: usize| records[i].subject.to_string());
        let total = of.named(of.session.subject().map_err(Error::figure)?)?;
        let mut rest = vec![(1.0, of.library)];
        let mut rest_from = vec![library_from];
        let mut parts = Vec::new();
        let is_rsa = of.session.key.is_rsa();
        let other_key = if is_rsa { word::PART_SIGNATURE } else { word::PART_RSA };
        for (name, note) in COUNTED.into_iter().filter(|(name, _)| *name != other_key) {
            let (from, costs) = self.costs(&of.need.of(name), of)?;
            rest.extend(costs.iter().map(|(count, cycles)| (-count, *cycles)));
            rest_from.extend_from_slice(&from);
            let counts = spelled(&costs, &from);
            let subject = total.clone().with(word::PART, name).map_err(Error::figure)?;
            let mut part = self.predicted(subject, sum(&costs)?, from, note)?;
            part.conditions.extend(counts.map(|counts| (word::COUNTS.to_owned(), counts)));
            parts.push(part);
        }
        let part = |name, cycles, from, note| {
            let subject = total.clone().with(word::PART, name).map_err(Error::figure)?;
            self.predicted(subject, cycles, from, note)
        };
        parts.push(part(word::PART_LIBRARY, sum(&rest)?, rest_from, LIBRARY)?);
        let shared = if of.replica.has_cores() { "" } else { "; one core for both sides" };
        let system_note = format!("{SYSTEM}{shared}");
        parts.push(part(word::PART_SYSTEM, of.system, vec![system_from], &system_note)?);
        // The library's part is a difference, so the parts add up to the two measurements.
        let cycles = sum(&[(1.0, of.library), (1.0, of.system)])?;
        let from = parts.iter().map(|part| part.subject.to_string()).collect();
        records.extend(parts);
        records.push(self.predicted(total, cycles, from, "the sum of the parts")?);
        let connections = of.replica.connections().to_string();
        let mut conditions = vec![(word::CONNECTIONS.to_owned(), connections)];
        if of.batch > 1.0 {
            conditions.push((word::BATCH.to_owned(), format!("{:.1}", of.batch)));
        }
        records.iter_mut().for_each(|record| record.conditions.extend(conditions.clone()));
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
            let cycles = self.figures.get(&subject);
            let cycles = cycles.ok_or_else(|| Error::Figure(format!("{subject}: no figure")))?;
            subjects.push(subject.to_string());
            costs.push((count, *cycles));
        }
        Ok((subjects, costs))
    }

    /// A predicted cost of a session, from figures with these subjects.
    fn predicted(
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

/// The counts of primitives in words; `None` if there are none.
fn spelled(costs: &[(f64, Estimate)], subjects: &[String]) -> Option<String> {
    let words = costs.iter().zip(subjects).map(|((count, _), subject)| {
        format!("{count:.3} {}", subject.trim_start_matches("session/primitive/"))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}
