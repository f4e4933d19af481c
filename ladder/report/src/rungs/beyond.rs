//! The alternative to faster RSA: a different key type.

use tollgate_record::vocabulary::{EXPONENT, NS_PER_OPERATION, SESSIONS_PER_S};
use tollgate_record::{Area, Key, Nanos, Operation, Record, Subject, Topic, Unit};

use crate::figure::number;
use crate::flagship::Flagship;
use crate::lookup::Lookup;
use crate::lookup::Origin::Measured;
use crate::names::{self, contender, who};

/// The key type that servers use most after RSA.
const OTHER: Key = Key::EcdsaP256;

/// Compares RSA with an ECDSA certificate. `None` unless both kinds of signature were measured.
pub(crate) fn beyond(records: &[Record]) -> Option<String> {
    let lookup = Lookup(records);
    let flagship = Flagship::new(records);
    let (rsa, rsa_by) = fastest(lookup, &flagship.key, &Operation::Sign)?;
    let (other, other_by) = fastest(lookup, &OTHER, &Operation::Sign)?;
    let key = names::key(&OTHER);
    let signs = format!(
        "{other} ({}) instead of {rsa} ({}, {})",
        contender(other_by),
        names::key(&flagship.key),
        contender(rsa_by),
    );
    if other / rsa >= 1.0 {
        return Some(format!(
            "A certificate with {key} would gain nothing: a signature takes {signs}."
        ));
    }
    Some(format!(
        "A certificate with {key} would beat all of this, where clients accept it: a signature \
         takes {signs}{}.",
        of_server(lookup, &flagship).unwrap_or_default()
    ))
}

/// Returns a sentence on the measured sessions per second with that key type.
fn of_server(lookup: Lookup<'_>, flagship: &Flagship) -> Option<String> {
    let protocol = flagship.protocols.first()?;
    let best = |key: &Key| {
        let flagship = Flagship { key: key.clone(), ..flagship.clone() };
        let rate = |by| {
            let subject = flagship.subject(Topic::Server, protocol, by)?;
            let record = lookup.record(Measured, &subject, SESSIONS_PER_S, Unit::PerSecond)?;
            Some((record.estimate.point(), by))
        };
        let rates = ["tollgate", "openssl"].into_iter().filter_map(rate);
        rates.max_by(|x, y| x.0.total_cmp(&y.0))
    };
    let (other, rsa) = (best(&OTHER)?, best(&flagship.key)?);
    let text = |(rate, by): (f64, &str)| format!("{} ({})", number(rate, Unit::PerSecond), who(by));
    Some(format!(
        "; a {} server serves {} sessions per second with it instead of {}",
        names::protocol(protocol),
        text(other),
        text(rsa)
    ))
}

/// Returns the fastest implementation of this operation with this key.
fn fastest<'a>(
    lookup: Lookup<'a>,
    key: &Key,
    operation: &Operation,
) -> Option<(Nanos, &'a Subject)> {
    let topic = Topic::Operation { key: key.clone(), operation: operation.clone() };
    lookup
        .measured(Area::Operation)
        .into_iter()
        .filter(|subject| *subject.topic() == topic && subject.parameter(EXPONENT).is_none())
        .filter_map(|subject| {
            let time = lookup.find(Measured, subject, NS_PER_OPERATION, Unit::Nanos)?;
            Some((Nanos::new(time.point()), subject))
        })
        .min_by(|x, y| x.0.get().total_cmp(&y.0.get()))
}
