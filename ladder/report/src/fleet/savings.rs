//! Sentences on the savings and gains of one engine compared with another.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Quantity, Record, Subject, Unit};

use super::find::demand;
use super::name;
use crate::figure;
use crate::lookup::Origin::{self, Predicted};
use crate::lookup::{Lookup, distinct, ratio};
use crate::names;

/// Returns a sentence for each pair of engines.
pub(super) fn sentences(lookup: Lookup<'_>) -> Vec<String> {
    let is_compared = |record: &Record| {
        Origin::of(record) == Predicted
            && [word::SAVED_SHARE, word::CAPACITY_GAIN].contains(&record.quantity)
            && record.subject.parameter(word::AGAINST).is_some()
    };
    lookup.subjects(is_compared).into_iter().filter_map(|pair| sentence(lookup, pair)).collect()
}

fn sentence(lookup: Lookup<'_>, pair: &Subject) -> Option<String> {
    let fleet = pair.without(&[word::AGAINST]);
    let against = names::who(pair.parameter(word::AGAINST)?);
    let capacity = lookup
        .find(Predicted, pair, word::CAPACITY_GAIN, Unit::Ratio)
        .map(|times| format!("a core serves {} times as many sessions", ratio(times)));
    let share = lookup.find(Predicted, pair, word::SAVED_SHARE, Unit::Ratio);
    let share = share.map(|share| saved(share, 100.0, "% of the CPU time"));
    let parts = [capacity, share].into_iter().flatten();
    let parts = parts.chain(per_year(lookup, pair)).chain(response(lookup, pair));
    Some(format!("{} against {against}: {}.", name(&fleet), parts.collect::<Vec<_>>().join("; ")))
}

/// Returns the money saved per year, for each demand and priced machine.
fn per_year(lookup: Lookup<'_>, pair: &Subject) -> Vec<String> {
    let demanded = [word::LINK_GBPS, word::DEMAND_PER_S, word::CURRENCY, word::PRICED_MACHINE];
    let amount = |record: &Record| {
        let currency = record.subject.parameter(word::CURRENCY)?;
        let at = demand(&record.subject)?;
        let on = record.subject.parameter(word::PRICED_MACHINE);
        let on = on.map_or_else(String::new, |machine| format!(" on {machine}"));
        let saved = saved(&record.estimate, 1.0, &format!("{currency} a year"));
        Some(format!("{saved} at {at}{on}"))
    };
    distinct(of_pair(lookup, pair, word::SAVED_PER_YEAR, &demanded).filter_map(amount))
}

/// Returns the reduction of the response time.
fn response(lookup: Lookup<'_>, pair: &Subject) -> Vec<String> {
    let placed = [word::LINE, word::STATION_CORES, word::DEMAND_PER_S];
    let gain = |record: &Record| {
        let (times, how) = match record.estimate.point() {
            slower if slower < 1.0 => (1.0 / slower, "LONG"),
            faster => (faster, "short"),
        };
        let rate = demand(&record.subject)?;
        let times = figure::number(times, Unit::Ratio);
        Some(format!("at {rate} the mean response is {times} times as {how}"))
    };
    distinct(of_pair(lookup, pair, word::RESPONSE_GAIN, &placed).filter_map(gain))
}

/// Returns the records of a pair that have these parameters.
fn of_pair<'a>(
    lookup: Lookup<'a>,
    pair: &Subject,
    quantity: Quantity,
    keys: &[&str],
) -> impl Iterator<Item = &'a Record> {
    lookup.all(Predicted, quantity).filter(|record| record.subject.without(keys) == *pair)
}

/// `saves 33.3 [30.8-36.3] % of the CPU time`, or `COSTS` if the engine takes more.
fn saved(estimate: &Estimate, factor: f64, unit: &str) -> String {
    let (verb, factor, more) = match estimate.point() < 0.0 {
        true => ("COSTS", -factor, " more"),
        false => ("saves", factor, ""),
    };
    let amount = estimate.scaled(factor).map_or_else(
        |_| "-".to_owned(),
        |amount| {
            let number = |point| figure::number(point, Unit::Count);
            let (low, high) = amount.interval();
            let ends = format!(" [{} to {}]", number(low), number(high));
            number(amount.point()) + if low < high { &ends } else { "" }
        },
    );
    format!("{verb} {amount} {unit}{more}")
}
