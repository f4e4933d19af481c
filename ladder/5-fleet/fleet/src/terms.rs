//! Weighted sums of predicted parts of sessions.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Record, Subject, Topic, Unit};

use crate::Error;
use crate::interval::{Slope, propagate};
use crate::session::NS_PER_S;

/// A weighted sum of times. A time that several sessions share is one term, so that its error
/// cancels with it in a difference.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
struct Term {
    part: String,
    weight: f64,
    ns: Estimate,
    source: String,
    machine: Machine,
}

impl Terms {
    /// Returns the predicted parts of a server's session, the mean of full and resumed ones.
    ///
    /// # Errors
    ///
    /// A prediction is missing.
    pub(crate) fn new(known: &[Record], server: &Subject) -> Result<Self, Error> {
        let share = server.parameter(word::RESUMED_SHARE).unwrap_or("0");
        let must = "be within 0 and 1";
        let share = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or(
            Error::Rejected { what: "the share of resumed sessions", value: f64::NAN, must },
        )?;
        let full = server.without(&[word::RESUMED_SHARE, word::RESUMED_BY]);
        let mut terms = Self::default();
        if share < 1.0 {
            terms.add_session(known, &full, 1.0 - share)?;
        }
        if let Some(by) = server.parameter(word::RESUMED_BY).filter(|_| share > 0.0) {
            let resumed = full.with(word::RESUMED_SHARE, 1)?.with(word::RESUMED_BY, by)?;
            terms.add_session(known, &resumed, share)?;
        }
        Ok(terms)
    }

    /// Returns this sum without another.
    pub(crate) fn minus(mut self, other: Self) -> Self {
        for term in other.terms {
            self.push(Term { weight: -term.weight, ..term });
        }
        self.terms.retain(|term| term.weight.abs() > 1e-12);
        self
    }

    /// Returns the sum.
    pub(crate) fn sum(&self) -> Result<Estimate, Error> {
        sum(self.terms.iter())
    }

    /// Returns the sum of `base` and these terms.
    pub(crate) fn added_to(&self, base: Estimate) -> Result<Estimate, Error> {
        if self.terms.is_empty() {
            return Ok(base);
        }
        let inputs = [(base, Slope::Rising), (self.sum()?, Slope::Rising)];
        propagate(inputs, |[base, change]| Ok(base + change))
    }

    /// Returns the sum of each part, in the order of the parts.
    pub(crate) fn by_part(&self) -> Result<Vec<(String, Estimate)>, Error> {
        let mut parts: Vec<&str> = Vec::new();
        for term in &self.terms {
            if !parts.contains(&term.part.as_str()) {
                parts.push(&term.part);
            }
        }
        let of = |part: &str| {
            let terms = self.terms.iter().filter(|term| term.part == part);
            Ok((part.to_owned(), sum(terms)?))
        };
        parts.into_iter().map(of).collect()
    }

    /// Returns the subjects of the terms.
    pub(crate) fn sources(&self) -> impl Iterator<Item = String> + '_ {
        self.terms.iter().map(|term| term.source.clone())
    }

    /// Returns the machine of the terms, or another if there is no term.
    pub(crate) fn machine(&self, other: Machine) -> Machine {
        self.terms.first().map_or(other, |term| term.machine.clone())
    }

    /// Adds the predicted parts of one session.
    fn add_session(
        &mut self,
        known: &[Record],
        server: &Subject,
        weight: f64,
    ) -> Result<(), Error> {
        let before = self.terms.len();
        let session = session(server)?;
        let by = server.parameter(word::BY).unwrap_or_default();
        // An installed server may have a prediction of its own.
        for by in [by, engine(by)] {
            let session = session.with(word::BY, by)?;
            for record in parts(known, &session) {
                let part = record.subject.parameter(word::PART).unwrap_or_default();
                self.add(part, weight, record, nanos(record)?);
            }
            if self.terms.len() > before {
                return Ok(());
            }
        }
        Err(Error::NoPrediction { subject: Box::new(session) })
    }

    fn add(&mut self, part: &str, weight: f64, record: &Record, ns: Estimate) {
        let source = record.subject.to_string();
        let machine = record.machine.clone();
        self.push(Term { part: part.to_owned(), weight, ns, source, machine });
    }

    fn push(&mut self, term: Term) {
        let is_same = |known: &&mut Term| known.part == term.part && known.ns == term.ns;
        match self.terms.iter_mut().find(is_same) {
            Some(known) => known.weight += term.weight,
            None => self.terms.push(term),
        }
    }
}

/// Returns the weighted sum of terms.
fn sum<'a>(terms: impl Iterator<Item = &'a Term>) -> Result<Estimate, Error> {
    let (mut point, mut low, mut high, mut samples) = (0.0, 0.0, 0.0, u64::MAX);
    for term in terms {
        let scaled = term.ns.scaled(term.weight)?;
        point += scaled.point();
        low += scaled.interval().0;
        high += scaled.interval().1;
        samples = samples.min(scaled.samples());
    }
    // Rounding can move an end past the point by the last bit.
    Ok(Estimate::new(point, (low.min(point), high.max(point)), samples.max(1))?)
}

/// Returns the engine of a server: `tollgate` for `nginx-tollgate`.
pub(crate) fn engine(by: &str) -> &str {
    let engines = ["openssl", "tollgate", "aws-lc"];
    engines.into_iter().find(|engine| by.ends_with(engine)).unwrap_or(by)
}

/// Returns the subject of rung 3 for a server's session.
fn session(server: &Subject) -> Result<Subject, Error> {
    match server.topic() {
        Topic::Server(service) => Ok(server.with_topic(Topic::Session(service.clone()))?),
        _ => Err(Error::NotComparable { what: "the kind of session" }),
    }
}

/// Returns the last predicted record of each part of a session.
fn parts<'a>(known: &'a [Record], session: &Subject) -> Vec<&'a Record> {
    let mut found: Vec<&Record> = Vec::new();
    let is_part = |record: &&Record| {
        let subject = &record.subject;
        matches!(record.kind, Kind::Predicted { .. })
            && record.quantity == word::CYCLES_PER_SESSION
            && record.unit == Unit::Cycles
            && subject.parameter(word::PART).is_some()
            && subject.without(&[word::PART]) == *session
    };
    for record in known.iter().filter(is_part) {
        found.retain(|earlier| earlier.subject != record.subject);
        found.push(record);
    }
    found
}

/// Returns the time of a record in cycles of its machine's clock. The clock counts as exact: it was
/// measured once for all parts of a run.
fn nanos(record: &Record) -> Result<Estimate, Error> {
    let no_clock = || Error::NoClock { subject: Box::new(record.subject.clone()) };
    let clock = record.machine.core_clock_hz.ok_or_else(no_clock)?;
    let hz = Error::positive("core clock in Hz", clock.point())?;
    Ok(record.estimate.scaled(NS_PER_S / hz)?)
}
