//! Rates of a server's public-key operations, for the chart and the Markdown table.

use tollgate_record::vocabulary::{
    AGAINST, BATCH, BY, OPERATIONS_PER_S, SECONDS_PER_ROW, TIMES_AS_FAST,
};
use tollgate_record::{
    Area, Estimate, Key, Kind, Operation, PerSecond, Quantity, Record, Subject, Topic, Unit,
};

use crate::lookup::{Lookup, Origin};
use crate::names::{self, SECURE_BITS_MIN, who};
use crate::text::plain;

/// An operation of a server in a handshake.
pub(crate) type HandshakeOperation = (Key, Operation);

/// The operations of a server in a handshake: its part of the key exchange, and a signature with
/// one of these keys. The last one is insecure, but the papers use it.
pub(crate) const OPERATIONS: [HandshakeOperation; 6] = [
    (Key::X25519MlKem768, Operation::Encaps),
    (Key::EcdsaP256, Operation::Sign),
    (Key::Rsa(2048), Operation::Sign),
    (Key::Rsa(3072), Operation::Sign),
    (Key::Rsa(4096), Operation::Sign),
    (Key::Rsa(1024), Operation::Sign),
];

/// The engine's name in subjects.
const OURS: &str = "tollgate";

/// An implementation that computes one by one or in batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    pub(crate) by: &'static str,
    pub(crate) batch: Option<String>,
}

/// Records of operations, for lookup.
#[derive(Clone, Copy)]
pub(crate) struct Rates<'a>(pub(crate) &'a [Record]);

impl<'a> Rates<'a> {
    /// Returns the contenders with a rate for any of the operations, in this order: Tollgate in
    /// batches (of the first recorded batch size), Tollgate one by one, OpenSSL, AWS-LC.
    pub(crate) fn contenders(self) -> Vec<Contender> {
        let measured = Lookup(self.0).measured(Area::Operation);
        let batch = measured.into_iter().find_map(|subject| {
            let is_ours = subject.parameter(BY) == Some(OURS);
            let signs = OPERATIONS.iter().any(|operation| *subject.topic() == topic(operation));
            subject.parameter(BATCH).filter(|_| is_ours && signs)
        });
        let mut contenders = vec![
            Contender { by: OURS, batch: None },
            Contender { by: "openssl", batch: None },
            Contender { by: "aws-lc", batch: None },
        ];
        if let Some(batch) = batch {
            contenders.insert(0, Contender { by: OURS, batch: Some(batch.to_owned()) });
        }
        contenders.retain(|contender| {
            OPERATIONS.iter().any(|operation| self.rate(operation, contender).is_some())
        });
        contenders
    }

    /// Returns the operations per second of one thread; `None` if there is no valid measured rate.
    pub(crate) fn rate(
        self,
        operation: &HandshakeOperation,
        contender: &Contender,
    ) -> Option<PerSecond> {
        let rate =
            self.measured(&subject(operation, contender)?, OPERATIONS_PER_S, Unit::PerSecond)?;
        (rate.point() > 0.0).then_some(PerSecond::new(rate.point()))
    }

    /// Returns the first of the contenders that is Tollgate and has a rate for the operation.
    pub(crate) fn ours<'s>(
        self,
        operation: &HandshakeOperation,
        contenders: &'s [Contender],
    ) -> Option<&'s Contender> {
        contenders
            .iter()
            .find(|contender| contender.by == OURS && self.rate(operation, contender).is_some())
    }

    /// Returns the ratio to the rate of `library`. The contender and the library were measured in
    /// turn.
    pub(crate) fn times(
        self,
        operation: &HandshakeOperation,
        contender: &Contender,
        library: &str,
    ) -> Option<&'a Estimate> {
        let subject = subject(operation, contender)?.with(AGAINST, library).ok()?;
        self.measured(&subject, TIMES_AS_FAST, Unit::Ratio)
    }

    /// Returns the contender's name: `tollgate, batch of 8`, `OpenSSL 3.0.19`.
    pub(crate) fn name(self, contender: &Contender) -> String {
        let name = who(contender.by);
        match (contender.by, &contender.batch) {
            (_, Some(batch)) => format!("{name}, batch of {batch}"),
            (OURS, None) => format!("{name}, single"),
            // For AWS-LC, records contain only the version of its Rust wrapper, under another name.
            (by, None) => match self.0.iter().find_map(|record| record.versions.get(by)) {
                Some(version) => format!("{name} {}", plain(version)),
                None => name.to_owned(),
            },
        }
    }

    /// Returns a short name of the machine; empty if there are no measurements.
    pub(crate) fn machine(self) -> String {
        let Some(first) = self.first() else {
            return String::new();
        };
        let virtualised = first.machine.virtualised == Some(true);
        format!("{}{}", first.machine.cpu, if virtualised { ", virtual machine" } else { "" })
    }

    /// Returns the day of the measurement, UTC.
    pub(crate) fn date(self) -> Option<String> {
        self.first().map(|first| first.taken_at.strftime("%Y-%m-%d").to_string())
    }

    /// Returns the measurement time of each row of the table, in seconds.
    pub(crate) fn seconds(self) -> Option<String> {
        let seconds = self.first()?.conditions.get(SECONDS_PER_ROW)?;
        Some(match seconds.parse::<f64>() {
            Ok(number) if number.is_finite() => format!("{number:.1}"),
            _ => plain(seconds),
        })
    }

    fn first(self) -> Option<&'a Record> {
        self.0.iter().find(|record| {
            record.kind == Kind::Measured && record.subject.area() == Area::Operation
        })
    }

    fn measured(self, subject: &Subject, quantity: Quantity, unit: Unit) -> Option<&'a Estimate> {
        Lookup(self.0).find(Origin::Measured, subject, quantity, unit)
    }
}

/// `RSA-2048 sign`, `RSA-1024 sign (insecure)`.
pub(crate) fn name((key, operation): &HandshakeOperation) -> String {
    let is_insecure = key.rsa_bits().is_some_and(|bits| bits < SECURE_BITS_MIN);
    let mark = if is_insecure { " (insecure)" } else { "" };
    format!("{} {operation}{mark}", names::key(key))
}

fn topic((key, operation): &HandshakeOperation) -> Topic {
    Topic::Operation { key: key.clone(), operation: operation.clone() }
}

fn subject(operation: &HandshakeOperation, contender: &Contender) -> Option<Subject> {
    let subject = Subject::new(topic(operation)).ok()?.with(BY, contender.by).ok()?;
    match &contender.batch {
        None => Some(subject),
        Some(batch) => subject.with(BATCH, batch).ok(),
    }
}
