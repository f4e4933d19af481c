//! Pairs the figures of two sides, and writes the changes as records.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_record::{Kind, Record, Timestamp, Unit};

use super::answer::{Answer, answer};
use super::change::{Basis, Change, change};
use super::drift::{Drift, is_yardstick};
use super::side::{Figure, Side, same_machine};

pub(super) enum ComparedPair<'a> {
    Changed {
        figure: &'a Figure,
        change: Change,
        answer: Answer,
    },
    /// The figure is not comparable, for this reason.
    Incomparable {
        figure: &'a Figure,
        why: String,
    },
    /// The sides are different machines; the table of platforms shows the figure.
    OtherMachine,
}

/// The change of a figure, and true if the figure is a yardstick. An error contains the result for
/// a figure whose change cannot be judged.
type Found<'a> = Result<(Change, bool), ComparedPair<'a>>;

/// Two sides, figure by figure, and the machine's drift according to the yardsticks.
pub(super) struct Pairs<'a> {
    pub(super) pairs: Vec<ComparedPair<'a>>,
    pub(super) drift: Drift,
}

impl<'a> Pairs<'a> {
    /// Pairs every figure of the first side, then the figures that only the second side has.
    /// Figures without a yardstick are assumed to drift by up to the share `drift`.
    pub(super) fn of(before: &'a Side, after: &'a Side, drift: f64) -> Self {
        let found: Vec<(&Figure, Found<'_>)> =
            before.figures.iter().map(|figure| (figure, found(figure, before, after))).collect();
        let yardsticks = found.iter().filter_map(|(figure, found)| match found {
            Ok((change, true)) => Some((*figure, change.ratio.point())),
            _ => None,
        });
        let drift = Drift::of(yardsticks, drift);
        let judged = |(figure, found): (&'a Figure, Found<'a>)| match found {
            Ok((change, true)) => {
                ComparedPair::Changed { figure, change, answer: Answer::Yardstick }
            }
            Ok((change, false)) => {
                let answer = answer(figure, &change, drift.moved(figure).0);
                ComparedPair::Changed { figure, change, answer }
            }
            Err(pair) => pair,
        };
        let mut pairs: Vec<ComparedPair<'_>> = found.into_iter().map(judged).collect();
        let only = after.figures.iter().filter(|figure| before.runs(figure).is_empty());
        pairs.extend(only.map(|figure| {
            let why = "only the second side has it".to_owned();
            ComparedPair::Incomparable { figure, why }
        }));
        Self { pairs, drift }
    }

    /// Returns the number of figures with these answers.
    pub(super) fn count(&self, wanted: impl Fn(&Answer) -> bool) -> usize {
        let is = |pair: &&ComparedPair<'_>| matches!(pair, ComparedPair::Changed { answer, .. } if wanted(answer));
        self.pairs.iter().filter(is).count()
    }

    pub(super) fn incomparable(&self) -> usize {
        self.pairs.iter().filter(|pair| matches!(pair, ComparedPair::Incomparable { .. })).count()
    }
}

/// Returns the change of a figure of the first side, and true if the figure is a yardstick.
fn found<'a>(figure: &'a Figure, before: &Side, after: &Side) -> Found<'a> {
    let incomparable = |why: String| ComparedPair::Incomparable { figure, why };
    let (first, second) = (before.runs(figure), after.runs(figure));
    let (Some(one), Some(other)) = (first.last(), second.last()) else {
        return Err(incomparable("only the first side has it".to_owned()));
    };
    if !same_machine(&one.machine, &other.machine) {
        return Err(ComparedPair::OtherMachine);
    }
    if let Some(why) = first.iter().chain(second).find_map(|record| obstacle(one, record)) {
        return Err(incomparable(why));
    }
    let zero = || incomparable("a figure or the end of its interval is 0 or less".to_owned());
    let change = change(first, second).ok_or_else(zero)?;
    Ok((change, is_yardstick(figure, one, other)))
}

/// Conditions that may differ between comparable figures: they vary from run to run, describe a
/// choice of the code under test, or give the duration and number of repetitions.
const FREE: [&str; 20] = [
    "calls",
    "client_verified",
    "costs",
    "counts",
    "cut",
    "drift_max",
    "form",
    "governor",
    "kernel",
    "lanes",
    "limits",
    "load_average",
    "plan",
    "rounds",
    "rounds_repeated",
    "seconds_per_row",
    "sustain_ms",
    "transactions",
    "verdict",
    "warm_up_ms",
];

/// Returns the reason why the figures of two runs are not comparable, if there is one.
fn obstacle(before: &Record, after: &Record) -> Option<String> {
    for (side, record) in [("first", before), ("second", after)] {
        if record.conditions.get("verdict").is_some_and(|verdict| verdict == "INVALID") {
            return Some(format!("the run of the {side} side is INVALID"));
        }
    }
    let names: BTreeSet<&String> =
        before.conditions.keys().chain(after.conditions.keys()).collect();
    let value = |record: &Record, name: &String| {
        record.conditions.get(name).cloned().unwrap_or_else(|| "not recorded".to_owned())
    };
    names.into_iter().filter(|name| !FREE.contains(&name.as_str())).find_map(|name| {
        let (one, other) = (value(before, name), value(after, name));
        (one != other).then(|| format!("{name} is {one}, then {other}"))
    })
}

/// The change of the quantity `sessions_per_s` is the quantity `sessions_per_s_change`.
const SUFFIX: &str = "_change";

/// Returns a record for each figure of both sides, with subject, machine, versions and commit of
/// the second side; the conditions contain the answer and the other side.
pub(super) fn records(before: &Side, after: &Side, pairs: &Pairs<'_>) -> Vec<Record> {
    let record = |pair: &ComparedPair<'_>| {
        let ComparedPair::Changed { figure, change, answer } = pair else { return None };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::compare::tests::record;

    #[test]
    fn what_was_asked_must_be_the_same_and_what_happened_need_not() {
        let before = record("server/x", 1.0);
        let with = |name: &str, value: &str| {
            let mut record = before.clone();
            record.conditions.insert(name.to_owned(), value.to_owned());
            record
        };
        assert_eq!(obstacle(&before, &with("load_average", "3.1")), None);
        assert_eq!(obstacle(&with("kernel", "a"), &with("kernel", "b")), None);
        let why = obstacle(&with("connections", "16"), &with("connections", "32"));
        assert_eq!(why.as_deref(), Some("connections is 16, then 32"));
        let why = obstacle(&before, &with("rate", "100"));
        assert_eq!(why.as_deref(), Some("rate is not recorded, then 100"));
        let why = obstacle(&before, &with("verdict", "INVALID"));
        assert_eq!(why.as_deref(), Some("the run of the second side is INVALID"));
    }
}
