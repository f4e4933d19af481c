//! Signing rates by key size, for the chart and the Markdown table.

use tollgate_record::{
    Area, Estimate, Key, Kind, Operation, PerSecond, Quantity, Record, Subject, Topic, Unit,
};

use crate::lookup::{Lookup, Origin};
use crate::names::{SECURE_BITS_MIN, who};
use crate::text::plain;
use tollgate_record::vocabulary::{
    AGAINST, BATCH, BY, OPERATIONS_PER_S, SECONDS_PER_ROW, TIMES_AS_FAST,
};

/// Sizes of keys in bits. The first one is insecure, but the papers use it.
pub(crate) const SIZES: [u32; 4] = [1024, 2048, 3072, 4096];

/// A signer: an implementation that signs one by one or in batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signer {
    pub(crate) by: &'static str,
    pub(crate) batch: Option<String>,
}

/// Records of signing, for lookup.
#[derive(Clone, Copy)]
pub(crate) struct Signing<'a>(pub(crate) &'a [Record]);

impl<'a> Signing<'a> {
    /// Returns the signers with a rate for any of the sizes, in this order: Tollgate in batches (of
    /// the first recorded batch size), Tollgate one by one, OpenSSL, AWS-LC.
    pub(crate) fn signers(self) -> Vec<Signer> {
        let measured = Lookup(self.0).measured(Area::Operation);
        let batch = measured.into_iter().find_map(|subject| {
            let is_ours = subject.parameter(BY) == Some("tollgate");
            let signs = SIZES.iter().any(|bits| *subject.topic() == topic(*bits));
            subject.parameter(BATCH).filter(|_| is_ours && signs)
        });
        let mut signers = vec![
            Signer { by: "tollgate", batch: None },
            Signer { by: "openssl", batch: None },
            Signer { by: "aws-lc", batch: None },
        ];
        if let Some(batch) = batch {
            signers.insert(0, Signer { by: "tollgate", batch: Some(batch.to_owned()) });
        }
        signers.retain(|signer| SIZES.iter().any(|bits| self.rate(*bits, signer).is_some()));
        signers
    }

    /// Returns the signatures per second of one thread; `None` if there is no valid measured rate.
    pub(crate) fn rate(self, bits: u32, signer: &Signer) -> Option<PerSecond> {
        let rate = self.measured(&subject(bits, signer)?, OPERATIONS_PER_S, Unit::PerSecond)?;
        (rate.point() > 0.0).then_some(PerSecond::new(rate.point()))
    }

    /// Returns the ratio to the rate of `library`. The signer and the library were measured in
    /// turn.
    pub(crate) fn times(self, bits: u32, signer: &Signer, library: &str) -> Option<&'a Estimate> {
        let subject = subject(bits, signer)?.with(AGAINST, library).ok()?;
        self.measured(&subject, TIMES_AS_FAST, Unit::Ratio)
    }

    /// Returns the signer's name: `tollgate, batch of 8`, `OpenSSL 3.0.19`.
    pub(crate) fn name(self, signer: &Signer) -> String {
        let name = who(signer.by);
        match (signer.by, &signer.batch) {
            (_, Some(batch)) => format!("{name}, batch of {batch}"),
            ("tollgate", None) => format!("{name}, single"),
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

/// `RSA-2048`, `RSA-1024 (insecure)`.
pub(crate) fn key(bits: u32) -> String {
    let mark = if bits < SECURE_BITS_MIN { " (insecure)" } else { "" };
    format!("RSA-{bits}{mark}")
}

const fn topic(bits: u32) -> Topic {
    Topic::Operation { key: Key::Rsa(bits), operation: Operation::Sign }
}

fn subject(bits: u32, signer: &Signer) -> Option<Subject> {
    let subject = Subject::new(topic(bits)).ok()?.with(BY, signer.by).ok()?;
    match &signer.batch {
        None => Some(subject),
        Some(batch) => subject.with(BATCH, batch).ok(),
    }
}
