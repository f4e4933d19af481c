//! Rung 2: an RSA signature.

use tollgate_record::vocabulary::{
    AGAINST, BATCH, BOUND_CYCLES_PER_OPERATION, BY, CYCLES_PER_OPERATION, OPERATIONS_PER_S,
    TIMES_AS_FAST,
};
use tollgate_record::{Record, Subject, Unit};

use super::{Row, Rung};
use crate::figure::percent;
use crate::names::{self, contender, key_of, rsa_bits, who};
use crate::shelf::Origin::{Measured, Predicted, Published};
use crate::shelf::{Shelf, ratio};

/// The key that stands for all, and the one of the papers.
const KEY: &str = "rsa-2048";
const PAPER_KEY: &str = "rsa-1024";

pub(super) fn rung(records: &[Record]) -> Rung<'_> {
    let shelf = Shelf(records);
    let signs = signs(shelf, &key(shelf));
    let mut rows: Vec<Row<'_>> = signs
        .iter()
        .map(|subject| {
            let what = format!("{}, {}", names::operation(subject), contender(subject));
            let find = |origin, quantity| shelf.record(origin, subject, quantity, Unit::Cycles);
            Row::new(what, Unit::Cycles, "cycles")
                .predicted(find(Predicted, CYCLES_PER_OPERATION))
                .bound(find(Predicted, BOUND_CYCLES_PER_OPERATION))
                .measured(find(Measured, CYCLES_PER_OPERATION))
        })
        .collect();
    for is_batch in [true, false] {
        let ours = signs.iter().position(|subject| {
            subject.parameter(BY) == Some("tollgate")
                && subject.parameter(BATCH).is_some() == is_batch
        });
        if let Some(row) = ours.and_then(|place| rows.get_mut(place)) {
            row.is_shown = true;
        }
    }
    rows.extend(as_published(shelf));
    let sentences = signs.iter().filter_map(|subject| sentence(shelf, subject, &rows)).collect();
    Rung {
        number: 2,
        name: "operation",
        about: "one RSA signature",
        verb: "speed",
        rows,
        sentences,
    }
}

/// The key that stands for all, if it signed; otherwise the first RSA key that did.
fn key(shelf: Shelf<'_>) -> String {
    let measured = shelf.measured("operation");
    let mut keys = measured
        .iter()
        .filter(|subject| subject.segments().nth(2) == Some("sign"))
        .map(|subject| key_of(subject))
        .filter(|key| rsa_bits(key).is_some());
    match keys.clone().find(|key| *key == KEY).or_else(|| keys.next()) {
        Some(key) => key.to_owned(),
        None => KEY.to_owned(),
    }
}

/// Everyone who signs with this key; ours in batches first, then ours one by one.
fn signs<'a>(shelf: Shelf<'a>, key: &str) -> Vec<&'a Subject> {
    let path = format!("operation/{key}/sign");
    let mut subjects = shelf.measured("operation");
    subjects.retain(|subject| subject.path() == path);
    subjects.sort_by_key(|subject| match (subject.parameter(BY), subject.parameter(BATCH)) {
        (Some("tollgate"), Some(_)) => 0,
        (Some("tollgate"), None) => 1,
        (Some("openssl"), _) => 2,
        _ => 3,
    });
    subjects
}

/// The size of the papers: our best rate beside the best one in print.
fn as_published(shelf: Shelf<'_>) -> Option<Row<'_>> {
    let rate = |record: &&Record| {
        record.quantity.as_str() == OPERATIONS_PER_S && record.unit == Unit::PerSecond
    };
    let best = |origin, key: &str| {
        shelf
            .0
            .iter()
            .filter(rate)
            .filter(|record| crate::shelf::Origin::of(record) == origin)
            .filter(|r| r.subject.segments().next() == Some("operation"))
            .filter(|r| key_of(&r.subject) == key)
            .filter(|r| matches!(r.subject.segments().nth(2), Some("sign" | "private")))
            .filter(|r| origin == Published || r.subject.parameter(BY) == Some("tollgate"))
            .max_by(|x, y| x.estimate.point().total_cmp(&y.estimate.point()))
    };
    let (ours, theirs) = (best(Measured, PAPER_KEY), best(Published, PAPER_KEY)?);
    let who = ours.map_or_else(String::new, |ours| format!(", {}", contender(&ours.subject)));
    let row = Row::new(format!("RSA-1024! sign{who}"), Unit::PerSecond, "per s");
    Some(row.measured(ours).published(Some(theirs)))
}

/// What our kernel calls explain, and how fast it is beside the libraries.
fn sentence(shelf: Shelf<'_>, subject: &Subject, rows: &[Row<'_>]) -> Option<String> {
    if subject.parameter(BY) != Some("tollgate") {
        return None;
    }
    let row = rows.iter().find(|row| row.measured.is_some_and(|r| r.subject == *subject))?;
    let measured = row.measured?.estimate.point();
    let explained = row.predicted.map(|predicted| {
        let what = if row.is_bound { "the processor's bound" } else { "its kernel calls" };
        format!(
            "{what} explain{} {} of it",
            if row.is_bound { "s" } else { "" },
            percent(predicted, measured)
        )
    });
    let mut times: Vec<String> = shelf
        .0
        .iter()
        .filter(|record| {
            let same =
                [BY, BATCH].iter().all(|k| record.subject.parameter(k) == subject.parameter(k));
            same && record.subject.path() == subject.path()
                && record.quantity.as_str() == TIMES_AS_FAST
                && record.unit == Unit::Ratio
        })
        .filter_map(|record| {
            let against = who(record.subject.parameter(AGAINST)?);
            Some(format!("{} times as fast as {against}", ratio(&record.estimate)))
        })
        .collect();
    times.dedup();
    let parts: Vec<String> = explained.into_iter().chain(times).collect();
    if parts.is_empty() {
        return None;
    }
    Some(format!(
        "{} by {}: {} cycles; {}.",
        names::operation(subject),
        contender(subject),
        crate::figure::number(measured, Unit::Cycles),
        parts.join("; ")
    ))
}
