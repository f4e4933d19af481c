//! The rate of a dedicated core, and the cost of a million sessions.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Topic, Unit};

use super::find::sizes;
use super::row;
use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{self, Predicted};
use crate::lookup::{Lookup, MISSING, distinct};
use crate::table::Table;

const COLUMNS: [Column; 7] = fitting([
    Column::words("one core", 38),
    Column::figures("CPU", 7),
    Column::figures("95 % interval", 17),
    Column::figures("sess/s", 6),
    Column::figures("Gbps", 4),
    Column::figures("cost", 10),
    Column::figures("kJ", 6),
]);

pub(super) fn table(records: &[Record]) -> Table {
    let lookup = Lookup(records);
    let of_fleet = |(origin, fleet): (Origin, Subject)| {
        let cited = lookup.record(origin, &fleet, word::SESSIONS_PER_S_PER_CORE, Unit::PerSecond);
        let figures = figures(lookup, origin, &fleet);
        let says = figures.iter().any(|figure| figure != MISSING);
        says.then(|| row(&fleet, cited, figures))
    };
    let rows = sizes(records).into_iter().filter_map(of_fleet).collect();
    let price = |record: &Record| {
        let currency = record.subject.parameter(word::CURRENCY)?;
        let price = record.conditions.get(word::PRICE_PER_CORE_HOUR)?;
        Some(format!("{price} {currency}"))
    };
    let cost = match distinct(costs(lookup).filter_map(price)).as_slice() {
        [] => "unknown without a price".to_owned(),
        prices => {
            let prices = prices.join(" or ");
            format!("of a million sessions at {prices} per core and hour, including head room")
        }
    };
    let is_energy = |record: &Record| record.quantity == word::JOULES_PER_MILLION;
    let energy = match records.iter().any(is_energy) {
        true => "of a million sessions",
        false => "unknown without watts",
    };
    let note = format!(
        "CPU: of the server for one session, from which all figures are computed; sess/s, Gbps of \
         payload: of a core that does nothing else; cost: {cost}; kJ: {energy}"
    );
    Table { columns: COLUMNS.into(), rows, notes: vec![note] }
}

fn figures(lookup: Lookup<'_>, origin: Origin, fleet: &Subject) -> Vec<String> {
    let cpu = rests_on(lookup, fleet).filter(|_| origin == Predicted);
    let per_core = |quantity| lookup.record(origin, fleet, quantity, Unit::PerSecond);
    let gbps = per_core(word::BITS_PER_S_PER_CORE).map(|bits| bits.estimate.point() / 1e9);
    let joules = lookup.find(origin, fleet, word::JOULES_PER_MILLION, Unit::Count);
    vec![
        figure::of(cpu),
        figure::interval(cpu),
        figure::of(per_core(word::SESSIONS_PER_S_PER_CORE)),
        figure::optional(gbps, Unit::Ratio),
        cost(lookup, fleet).unwrap_or_else(|| MISSING.to_owned()),
        figure::optional(joules.map(|joules| joules.point() / 1e3), Unit::Ratio),
    ]
}

/// Returns the record of CPU time per session from which this fleet was predicted.
fn rests_on<'a>(lookup: Lookup<'a>, fleet: &Subject) -> Option<&'a Record> {
    let is_cpu = |record: &&Record| {
        record.quantity == word::SERVER_CPU_NS_PER_SESSION
            && record.unit == Unit::Nanos
            && matches!(record.subject.topic(), Topic::Server(_))
            && record.subject.topic().service() == fleet.topic().service()
            && record.subject.parameters().eq(fleet.parameters())
    };
    lookup.0.iter().filter(is_cpu).min_by_key(|record| Origin::of(record))
}

/// Returns the cost in the currency of the last record, such as `0.0061 USD`.
fn cost(lookup: Lookup<'_>, fleet: &Subject) -> Option<String> {
    let of_fleet = |record: &&Record| record.subject.without(&[word::CURRENCY]) == *fleet;
    let cost = costs(lookup).rev().find(of_fleet)?;
    Some(format!("{} {}", figure::of(Some(cost)), cost.subject.parameter(word::CURRENCY)?))
}

fn costs(lookup: Lookup<'_>) -> impl DoubleEndedIterator<Item = &Record> {
    lookup.all(Predicted, word::COST_PER_MILLION)
}
