//! Key types other than RSA.

use tollgate_record::{Area, Key, Nanos, Operation, Record, Subject, Topic};

use crate::grid::{Column, fitting};
use crate::lookup::Origin::Measured;
use crate::lookup::{Lookup, cell};
use crate::names::{self, contender, is_insecure, operation, rsa_bits};
use crate::speed::fastest_library;
use crate::table::{Row, Table};
use tollgate_record::vocabulary::{
    CYCLES_PER_OPERATION, EXPONENT, NS_PER_OPERATION, OPERATIONS_PER_S,
};

const COLUMNS: [Column; 7] = fitting([
    Column::words("other key types", 19),
    Column::words("by", 12),
    Column::figures("time", 7),
    Column::figures("cycles", 6),
    Column::figures("per s", 6),
    Column::figures("times as fast", 16),
    Column::words("as", 7),
]);

/// Returns the table of every measured operation with a key type other than RSA. Sentences below
/// the table state the effect of switching to each of these key types. Empty if no such operation
/// was measured.
#[must_use]
pub fn table(records: &[Record]) -> String {
    others(records).map_or_else(String::new, |table| table.text())
}

/// Returns the same table as data; `None` if no such operation was measured.
pub(crate) fn others(records: &[Record]) -> Option<Table> {
    let lookup = Lookup(records);
    let mut subjects = lookup.measured(Area::Operation);
    subjects.retain(|subject| rsa_bits(subject).is_none());
    if subjects.is_empty() {
        return None;
    }
    let row = |subject: &&Subject| {
        let (times, against) = fastest_library(lookup, subject);
        let cells = vec![
            contender(subject),
            cell(lookup.nanos(Measured, subject, NS_PER_OPERATION)),
            cell(lookup.cycles(Measured, subject, CYCLES_PER_OPERATION)),
            cell(lookup.per_second(Measured, subject, OPERATIONS_PER_S)),
            times,
            against,
        ];
        Row::new(operation(subject), cells)
    };
    let rows = subjects.iter().map(row).collect();
    let mut keys: Vec<&Key> = subjects.iter().filter_map(|subject| subject.key()).collect();
    keys.dedup();
    let notes = keys.into_iter().filter_map(|key| switching(lookup, key)).collect();
    Some(Table { columns: COLUMNS.into(), rows, notes })
}

/// Returns a sentence on replacing the smallest secure RSA key of the records by a key of this
/// type: the gain of the server, and the loss of its clients. `None` unless all four figures are
/// known.
fn switching(lookup: Lookup<'_>, key: &Key) -> Option<String> {
    let rsa = lookup
        .measured(Area::Operation)
        .into_iter()
        .filter(|subject| !is_insecure(subject))
        .filter_map(|subject| Some((rsa_bits(subject)?, subject.key()?)))
        .min_by_key(|(bits, _)| *bits)?
        .1;
    let sentence = |what: Operation| {
        let (old, new) = (fastest(lookup, rsa, &what)?, fastest(lookup, key, &what)?);
        Some(format!(
            "{} ({} by {}, {} by {})",
            compared(new.0, old.0),
            new.0,
            contender(new.1),
            old.0,
            contender(old.1),
        ))
    };
    Some(format!(
        "A key of type {} instead of {}: a signature {}, a verification {}.",
        names::key(key),
        names::key(rsa),
        sentence(Operation::Sign)?,
        sentence(Operation::Verify)?,
    ))
}

/// Returns the fastest implementation of this operation with this key.
pub(crate) fn fastest<'a>(
    lookup: Lookup<'a>,
    key: &Key,
    operation: &Operation,
) -> Option<(Nanos, &'a Subject)> {
    let topic = Topic::Operation { key: key.clone(), operation: operation.clone() };
    lookup
        .measured(Area::Operation)
        .into_iter()
        .filter(|subject| *subject.topic() == topic && subject.parameter(EXPONENT).is_none())
        .filter_map(|subject| Some((lookup.nanos(Measured, subject, NS_PER_OPERATION)?, subject)))
        .min_by(|x, y| x.0.get().total_cmp(&y.0.get()))
}

fn compared(new: Nanos, old: Nanos) -> String {
    let times = old / new;
    if times >= 1.0 {
        format!("takes 1/{times:.1} of the time")
    } else {
        format!("takes {:.1} times as long", new / old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_read_both_ways() {
        let (fast, slow) = (Nanos::new(10.0), Nanos::new(40.0));
        assert_eq!(compared(fast, slow), "takes 1/4.0 of the time");
        assert_eq!(compared(slow, fast), "takes 4.0 times as long");
    }
}
