//! Rung 2: a signature, and the operations of a key exchange.

use tollgate_record::vocabulary::{
    AGAINST, BATCH, BOUND_CYCLES_PER_OPERATION, BY, CYCLES_PER_OPERATION, GPU, OPERATIONS_PER_S,
    THREADS, TIMES_AS_FAST,
};
use tollgate_record::{Area, Key, Operation, Record, Subject, Topic, Unit};

use super::{Content, Figure};
use crate::figure::percent;
use crate::lookup::Origin::{Measured, Predicted, Published};
use crate::lookup::{Lookup, ratio};
use crate::names::{self, contender, who};

/// The keys of most certificates; a server's hybrid key exchange, and parts of it.
const KEYS: [Key; 2] = [Key::EcdsaP256, Key::Rsa(2048)];
const EXCHANGE: [(Key, Operation); 3] = [
    (Key::X25519MlKem768, Operation::Encaps),
    (Key::MlKem768, Operation::Encaps),
    (Key::X25519, Operation::Agree),
];

/// The key of the papers.
const PAPER_KEY: Key = Key::Rsa(1024);

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let lookup = Lookup(records);
    let keys = keys(lookup);
    let signs: Vec<&Subject> =
        keys.iter().flat_map(|key| by_all(lookup, key, &Operation::Sign)).collect();
    let row = |subject: &&Subject| {
        let what = format!("{}, {}", names::operation(subject), contender(subject));
        let find = |origin, quantity| lookup.record(origin, subject, quantity, Unit::Cycles);
        Figure::new(what, Unit::Cycles, "cycles")
            .predicted(find(Predicted, CYCLES_PER_OPERATION))
            .bound(find(Predicted, BOUND_CYCLES_PER_OPERATION))
            .measured(find(Measured, CYCLES_PER_OPERATION))
    };
    let mut rows: Vec<Figure<'_>> = signs.iter().map(row).collect();
    for (subject, row) in signs.iter().zip(&mut rows) {
        row.is_shown = subject.parameter(BY) == Some("tollgate");
    }
    let exchange = EXCHANGE.iter().flat_map(|(key, what)| by_all(lookup, key, what));
    rows.extend(exchange.collect::<Vec<_>>().iter().map(row));
    rows.extend(as_published(lookup));
    rows.extend(on_gpu(lookup));
    let sentences = signs.iter().filter_map(|subject| sentence(lookup, subject, &rows)).collect();
    (rows, sentences)
}

/// Returns the representative keys that were measured; otherwise the first measured RSA key.
fn keys(lookup: Lookup<'_>) -> Vec<Key> {
    let measured = lookup.measured(Area::Operation);
    let measured: Vec<&Key> = measured
        .iter()
        .filter_map(|subject| match subject.topic() {
            Topic::Operation { key, operation: Operation::Sign } => Some(key),
            _ => None,
        })
        .collect();
    let known: Vec<Key> = KEYS.into_iter().filter(|key| measured.contains(&key)).collect();
    match measured.into_iter().find(|key| key.rsa_bits().is_some()) {
        Some(rsa) if known.is_empty() => vec![rsa.clone()],
        _ => known,
    }
}

/// Returns an operation by all implementations: Tollgate in batches, Tollgate one by one, then the
/// others.
fn by_all<'a>(lookup: Lookup<'a>, key: &Key, operation: &Operation) -> Vec<&'a Subject> {
    let topic = Topic::Operation { key: key.clone(), operation: operation.clone() };
    let mut subjects = lookup.measured(Area::Operation);
    subjects.retain(|subject| *subject.topic() == topic);
    subjects.sort_by_key(|subject| match (subject.parameter(BY), subject.parameter(BATCH)) {
        (Some("tollgate"), Some(_)) => 0,
        (Some("tollgate"), None) => 1,
        (Some("openssl"), _) => 2,
        _ => 3,
    });
    subjects
}

/// Returns our best rate and the best published rate, both with the key of the papers.
fn as_published(lookup: Lookup<'_>) -> Option<Figure<'_>> {
    let best = |origin| {
        lookup
            .all(origin, OPERATIONS_PER_S)
            .filter(|record| record.unit == Unit::PerSecond)
            .filter(|r| {
                let topic = r.subject.topic();
                let Topic::Operation { key, operation } = topic else { return false };
                *key == PAPER_KEY && matches!(operation, Operation::Sign | Operation::Private)
            })
            .filter(|r| origin == Published || r.subject.parameter(BY) == Some("tollgate"))
            .max_by(|x, y| x.estimate.point().total_cmp(&y.estimate.point()))
    };
    let (ours, theirs) = (best(Measured), best(Published)?);
    let who = ours.map_or_else(String::new, |ours| format!(", {}", contender(&ours.subject)));
    let row = Figure::new(format!("RSA-1024! sign{who}"), Unit::PerSecond, "per s");
    Some(row.measured(ours).published(Some(theirs)))
}

/// Returns the rate of each size of key on a GPU, with the operations in a batch and the batches at
/// a time.
fn on_gpu(lookup: Lookup<'_>) -> impl Iterator<Item = Figure<'_>> {
    let mut subjects = lookup.measured(Area::Operation);
    subjects.retain(|subject| subject.parameter(BY) == Some(GPU));
    subjects.into_iter().map(move |subject| {
        let mut what = format!("{}, {}", names::operation(subject), contender(subject));
        if let Some(batches) = subject.parameter(THREADS) {
            what += &format!(" x{batches}");
        }
        let rate = lookup.record(Measured, subject, OPERATIONS_PER_S, Unit::PerSecond);
        Figure::new(what, Unit::PerSecond, "per s").measured(rate)
    })
}

/// Returns a sentence on the share that kernel calls explain, and on the speed relative to the
/// libraries.
fn sentence(lookup: Lookup<'_>, subject: &Subject, rows: &[Figure<'_>]) -> Option<String> {
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
    let mut times: Vec<String> = lookup
        .0
        .iter()
        .filter(|record| {
            let same =
                [BY, BATCH].iter().all(|k| record.subject.parameter(k) == subject.parameter(k));
            same && record.subject.topic() == subject.topic()
                && record.quantity == TIMES_AS_FAST
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
