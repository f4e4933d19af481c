//! Checks whether two figures were measured under the same conditions.

use std::collections::BTreeSet;

use tollgate_record::Record;

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

/// The reason why the figures of two runs are not comparable, if there is one.
pub(super) fn obstacle(before: &Record, after: &Record) -> Option<String> {
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
