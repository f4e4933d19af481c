//! Sentences on the savings of one engine compared with another.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use super::name;
use crate::figure;
use crate::lookup::Lookup;
use crate::lookup::Origin::{self, Predicted};
use crate::names;

/// Returns a sentence for each pair of engines.
pub(super) fn sentences(lookup: Lookup<'_>) -> Vec<String> {
    let is_compared = |record: &Record| {
        Origin::new(record) == Predicted
            && record.quantity == word::SAVED_SHARE
            && record.subject.parameter(word::AGAINST).is_some()
    };
    lookup.subjects(is_compared).into_iter().filter_map(|pair| sentence(lookup, pair)).collect()
}

/// Returns `... saves 33.3 [30.8 to 36.3] % of the CPU time`, or `COSTS` if the engine takes more.
fn sentence(lookup: Lookup<'_>, pair: &Subject) -> Option<String> {
    let against = names::who(pair.parameter(word::AGAINST)?);
    let share = lookup.find(Predicted, pair, word::SAVED_SHARE, Unit::Ratio)?;
    let (verb, factor, more) = match share.point() < 0.0 {
        true => ("COSTS", -100.0, " more"),
        false => ("saves", 100.0, ""),
    };
    let percent = share.scaled(factor).ok()?;
    let number = |point| figure::number(point, Unit::Count);
    let (low, high) = percent.interval();
    let ends =
        if low < high { format!(" [{} to {}]", number(low), number(high)) } else { String::new() };
    let fleet = name(&pair.without(&[word::AGAINST]));
    let point = number(percent.point());
    Some(format!("{fleet} against {against}: {verb} {point}{ends} % of the CPU time{more}."))
}
