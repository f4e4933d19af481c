//! What one core does that does nothing else, and what a million sessions cost.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use super::find::sizes;
use super::{Row, Sheet, once};
use crate::figure;
use crate::grid::Column;
use crate::names;
use crate::shelf::Origin::{self, Predicted};
use crate::shelf::{MISSING, Shelf};

pub(super) static COLUMNS: [Column; 7] = [
    Column::words("one core", 38),
    Column::figures("CPU", 7),
    Column::figures("95 % interval", 17),
    Column::figures("sess/s", 6),
    Column::figures("Gbps", 4),
    Column::figures("cost", 10),
    Column::figures("kJ", 6),
];

pub(super) fn sheet(records: &[Record]) -> Sheet {
    let shelf = Shelf(records);
    let row = |(origin, fleet): (Origin, Subject)| {
        let cited = shelf.record(origin, &fleet, word::SESSIONS_PER_S_PER_CORE, Unit::PerSecond);
        let figures = figures(shelf, origin, &fleet);
        let says = figures.iter().any(|figure| figure != MISSING);
        says.then(|| Row::of(&fleet, cited, figures))
    };
    let rows = sizes(records).into_iter().filter_map(row).collect();
    let price = |record: &Record| {
        let currency = record.subject.parameter(word::CURRENCY)?;
        let price = record.conditions.get(word::PRICE_PER_CORE_HOUR)?;
        Some(format!("{price} {currency}"))
    };
    let cost = match once(records.iter().filter(is_cost).filter_map(price)).as_slice() {
        [] => "unknown without a price".to_owned(),
        prices => {
            let prices = prices.join(" or ");
            format!("of a million sessions at {prices} per core and hour, head room paid for")
        }
    };
    let is_energy = |record: &Record| record.quantity.as_str() == word::JOULES_PER_MILLION;
    let energy = match records.iter().any(is_energy) {
        true => "of a million sessions",
        false => "unknown without watts",
    };
    let note = format!(
        "CPU: of the server for one session, on which all here rests; sess/s, Gbps of payload: of \
         a core that does nothing else; cost: {cost}; kJ: {energy}"
    );
    Sheet { columns: &COLUMNS, rows, note }
}

fn figures(shelf: Shelf<'_>, origin: Origin, fleet: &Subject) -> Vec<String> {
    let cpu = rests_on(shelf, fleet).filter(|_| origin == Predicted);
    let per_core = |quantity| shelf.record(origin, fleet, quantity, Unit::PerSecond);
    let gbps = per_core(word::BITS_PER_S_PER_CORE).map(|bits| bits.estimate.point() / 1e9);
    let joules = shelf.find(origin, fleet, word::JOULES_PER_MILLION, Unit::Count);
    let number = |point: Option<f64>, unit| {
        point.map_or_else(|| MISSING.to_owned(), |point| figure::number(point, unit))
    };
    vec![
        figure::of(cpu),
        figure::interval(cpu),
        figure::of(per_core(word::SESSIONS_PER_S_PER_CORE)),
        number(gbps, Unit::Ratio),
        cost(shelf, fleet).unwrap_or_else(|| MISSING.to_owned()),
        number(joules.map(|joules| joules.point() / 1e3), Unit::Ratio),
    ]
}

/// The CPU time of a session that predictions of this fleet come from.
fn rests_on<'a>(shelf: Shelf<'a>, fleet: &Subject) -> Option<&'a Record> {
    let is_cpu = |record: &&Record| {
        record.quantity.as_str() == word::SERVER_CPU_NS_PER_SESSION
            && record.unit == Unit::Nanos
            && record.subject.path().strip_prefix("server") == fleet.path().strip_prefix("fleet")
            && record.subject.parameters().eq(fleet.parameters())
    };
    shelf.0.iter().filter(is_cpu).min_by_key(|record| Origin::of(record))
}

/// `0.0061 USD`, of whatever currency came last.
fn cost(shelf: Shelf<'_>, fleet: &Subject) -> Option<String> {
    let of_fleet = |record: &&Record| {
        is_cost(record)
            && names::without(&record.subject, &[word::CURRENCY]).as_ref() == Some(fleet)
    };
    let cost = shelf.0.iter().rev().find(of_fleet)?;
    Some(format!("{} {}", figure::of(Some(cost)), cost.subject.parameter(word::CURRENCY)?))
}

fn is_cost(record: &&Record) -> bool {
    Origin::of(record) == Predicted && record.quantity.as_str() == word::COST_PER_MILLION
}
