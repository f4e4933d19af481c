//! Changes as records.

use std::collections::BTreeMap;

use tollgate_record::{Kind, Record, Timestamp, Unit};

use super::change::Basis;
use super::pair::{Pair, Pairs};
use super::side::Side;

/// The change of the quantity `sessions_per_s` is the quantity `sessions_per_s_change`.
const SUFFIX: &str = "_change";

/// A record for each figure of both sides, with subject, machine, versions and commit of the second
/// side; the conditions contain the answer and the other side.
pub(super) fn records(before: &Side, after: &Side, pairs: &Pairs<'_>) -> Vec<Record> {
    let record = |pair: &Pair<'_>| {
        let Pair::Changed { figure, change, answer } = pair else { return None };
        let (one, other) = (before.runs(figure).last()?, after.runs(figure).last()?);
        let basis = match change.basis {
            Basis::Exact => "exact".to_owned(),
            Basis::Pairs(runs) => format!("{runs} pairs of runs in turn"),
            Basis::Runs(runs) => format!("{runs} runs on a side"),
            Basis::Intervals(samples) => format!("one run on each side, {samples} samples"),
        };
        let mut conditions = BTreeMap::from([
            ("answer".to_owned(), answer.word().to_owned()),
            ("basis".to_owned(), basis),
            ("before_taken_at".to_owned(), one.taken_at.to_string()),
        ]);
        conditions.extend(one.commit.clone().map(|commit| ("before_commit".to_owned(), commit)));
        Some(Record {
            // A quantity that is too long for the suffix gets no record.
            quantity: format!("{}{SUFFIX}", figure.quantity).parse().ok()?,
            unit: Unit::Ratio,
            estimate: change.ratio,
            kind: Kind::Measured,
            conditions,
            taken_at: Timestamp::now(),
            ..other.clone()
        })
    };
    pairs.pairs.iter().filter_map(record).collect()
}
