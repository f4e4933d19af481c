//! Other key types beside RSA: not another implementation, another choice.

use tollgate_record::{Nanos, Record, Subject};

use crate::grid::{Column, grid};
use crate::names::{self, contender, is_insecure, key_of, operation};
use crate::shelf::Origin::Measured;
use crate::shelf::{Shelf, cell};
use crate::text::wrapped;
use tollgate_record::vocabulary::{
    CYCLES_PER_OPERATION, EXPONENT, NS_PER_OPERATION, OPERATIONS_PER_S,
};

const COLUMNS: [Column; 5] = [
    Column::words("other key types", 18),
    Column::words("by", 12),
    Column::figures("time", 7),
    Column::figures("cycles", 6),
    Column::figures("per s", 6),
];

/// The table of every measured operation with a key that is not RSA, and a sentence for each such
/// key type on what switching to it would give. Empty if there is none.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let shelf = Shelf(records);
    let mut subjects = shelf.measured("operation");
    subjects.retain(|subject| names::rsa_bits(key_of(subject)).is_none());
    if subjects.is_empty() {
        return String::new();
    }
    let mut above = "";
    let mut rows = Vec::new();
    for subject in &subjects {
        let is_first = above != subject.path();
        above = subject.path();
        rows.push(vec![
            if is_first { operation(subject) } else { String::new() },
            contender(subject),
            cell(shelf.nanos(Measured, subject, NS_PER_OPERATION)),
            cell(shelf.cycles(Measured, subject, CYCLES_PER_OPERATION)),
            cell(shelf.per_second(Measured, subject, OPERATIONS_PER_S)),
        ]);
    }
    let mut text = grid(&COLUMNS, rows);
    let mut keys: Vec<&str> = subjects.iter().map(|subject| key_of(subject)).collect();
    keys.dedup();
    for key in keys {
        if let Some(sentence) = switching(shelf, key) {
            text += &wrapped(&sentence);
        }
    }
    text
}

/// What a server would gain and its clients lose by a key of this type instead of the smallest
/// secure RSA key of the records. Nothing is said unless all four figures are there.
fn switching(shelf: Shelf<'_>, key: &str) -> Option<String> {
    let rsa = shelf
        .measured("operation")
        .into_iter()
        .filter(|subject| !is_insecure(subject))
        .filter_map(|subject| Some((names::rsa_bits(key_of(subject))?, key_of(subject))))
        .min_by_key(|(bits, _)| *bits)?
        .1;
    let sentence = |what: &str| {
        let (old, new) = (fastest(shelf, rsa, what)?, fastest(shelf, key, what)?);
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
        sentence("sign")?,
        sentence("verify")?,
    ))
}

/// The quickest of all who did this operation with this key.
pub(crate) fn fastest<'a>(shelf: Shelf<'a>, key: &str, what: &str) -> Option<(Nanos, &'a Subject)> {
    let path = format!("operation/{key}/{what}");
    shelf
        .measured("operation")
        .into_iter()
        .filter(|subject| subject.path() == path && subject.parameter(EXPONENT).is_none())
        .filter_map(|subject| Some((shelf.nanos(Measured, subject, NS_PER_OPERATION)?, subject)))
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
    use crate::grid::widest;
    use crate::text::WIDTH;

    #[test]
    fn the_columns_fit() {
        assert!(widest(&COLUMNS) <= WIDTH);
    }

    #[test]
    fn comparisons_read_both_ways() {
        let (fast, slow) = (Nanos::new(10.0), Nanos::new(40.0));
        assert_eq!(compared(fast, slow), "takes 1/4.0 of the time");
        assert_eq!(compared(slow, fast), "takes 4.0 times as long");
    }
}
