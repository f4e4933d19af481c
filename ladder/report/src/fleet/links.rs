//! The table of \[ETI10\]: rates of a core, cores for each link, and prices, beside the paper's.

use tollgate_record::vocabulary as word;
use tollgate_record::{Quantity, Record, Subject, Unit};

use super::find::{links, sizes};
use super::size_and_engine;
use crate::cite::Citation;
use crate::figure::{self, percent};
use crate::grid::Column;
use crate::lookup::Origin::{self, Predicted, Published};
use crate::lookup::{Lookup, MISSING, distinct};
use crate::names;
use crate::table::{Row, Table};

/// The largest number of links that fit into a line; the table of cores has all.
const LINKS_MAX: usize = 4;

/// The parameters that name a price.
const OF_PRICE: [&str; 2] = [word::CURRENCY, word::PRICED_MACHINE];

pub(super) fn table(records: &[Record]) -> Table {
    let lookup = Lookup(records);
    let fleets = sizes(records);
    let gbps = all_links(lookup, &fleets);
    let mut rows = Vec::new();
    for (origin, fleet) in &fleets {
        rows.push(fleet_row(lookup, *origin, fleet, &gbps));
        rows.extend(priced_rows(lookup, *origin, fleet, gbps.len()));
    }
    // Papers have prices of fleets whose cores they do not give.
    let of_paper = |record: &&Record| {
        let fleet = record.subject.without(&OF_PRICE);
        !fleets.iter().any(|(origin, known)| *origin == Published && *known == fleet)
    };
    for record in lookup.all(Published, word::PRICE_PER_SESSION_PER_S).filter(of_paper) {
        let fleet = record.subject.without(&OF_PRICE);
        rows.extend(priced_rows(lookup, Published, &fleet, gbps.len()));
    }
    let mut columns =
        vec![Column::words("fleet", 32), Column::figures("sess/s", 6), Column::figures("Gbps", 4)];
    columns.extend(gbps.iter().map(|gbps| Column::figures("", 5).headed(format!("{gbps} G"))));
    columns.extend([Column::figures("a sess/s", 8), Column::figures("10^6", 7)]);
    Table { columns, rows, notes: notes(lookup) }
}

/// Returns the links in Gbps, sorted by size.
fn all_links<'a>(lookup: Lookup<'a>, fleets: &[(Origin, Subject)]) -> Vec<&'a str> {
    let of = |(origin, fleet): &(Origin, Subject)| links(lookup, *origin, fleet);
    let mut all = distinct(fleets.iter().flat_map(of).map(|(gbps, _)| gbps));
    let size = |gbps: &&str| gbps.parse::<f64>().unwrap_or(f64::INFINITY);
    all.sort_by(|x, y| size(x).total_cmp(&size(y)));
    all.truncate(LINKS_MAX);
    all
}

fn fleet_row(lookup: Lookup<'_>, origin: Origin, fleet: &Subject, gbps: &[&str]) -> Row {
    let rate = |quantity| lookup.record(origin, fleet, quantity, Unit::PerSecond);
    let bits = rate(word::BITS_PER_S_PER_CORE).map(|bits| bits.estimate.point() / 1e9);
    let cores = links(lookup, origin, fleet);
    let mut cells =
        vec![figure::of(rate(word::SESSIONS_PER_S_PER_CORE)), figure::optional(bits, Unit::Ratio)];
    cells.extend(gbps.iter().map(|gbps| {
        figure::of(cores.iter().find(|(link, _)| link == gbps).map(|(_, record)| *record))
    }));
    cells.resize(cells.len() + 2, MISSING.to_owned());
    let groups = groups(fleet, any_record(lookup, origin, fleet));
    Row { groups, names: vec![size_and_engine(fleet)], cells }
}

/// Returns a row for each price of the fleet.
fn priced_rows(lookup: Lookup<'_>, origin: Origin, fleet: &Subject, links: usize) -> Vec<Row> {
    let money = [word::PRICE_PER_SESSION_PER_S, word::COST_PER_MILLION];
    let prices = lookup.subjects(|record| {
        Origin::new(record) == origin
            && money.contains(&record.quantity)
            && record.subject.parameter(word::CURRENCY).is_some()
            && record.subject.without(&OF_PRICE) == *fleet
    });
    let row = |price: &Subject| {
        let find = |quantity| lookup.record(origin, price, quantity, Unit::Count);
        let [per_session, per_million]: [Option<&Record>; 2] = money.map(find);
        let any = per_session.or(per_million)?;
        let of_fleet = any_record(lookup, origin, fleet).or(Some(any));
        let mut cells = vec![String::new(); 2 + links];
        cells.extend([figure::of(per_session), figure::of(per_million)]);
        Some(Row {
            groups: groups(fleet, of_fleet),
            names: vec![size_and_engine(fleet), price_name(any)],
            cells,
        })
    };
    prices.into_iter().filter_map(row).collect()
}

/// Returns a record of the fleet's cores, or of its rate.
fn any_record<'a>(lookup: Lookup<'a>, origin: Origin, fleet: &Subject) -> Option<&'a Record> {
    let cores = links(lookup, origin, fleet).first().map(|(_, record)| *record);
    cores.or_else(|| lookup.record(origin, fleet, word::SESSIONS_PER_S_PER_CORE, Unit::PerSecond))
}

/// Returns paper, service, and the share of the cores' time in use.
fn groups(fleet: &Subject, of: Option<&Record>) -> Vec<String> {
    let busy = of.and_then(|record| record.conditions.get(word::UTILISATION)?.parse().ok());
    let busy = busy.map_or_else(String::new, |share| format!(", busy {}", percent(share, 1.0)));
    let service = names::service(fleet);
    match of.and_then(Citation::new) {
        Some(paper) => vec![format!("{paper}{busy}"), service],
        None => [format!("{service}{busy}")].into_iter().chain(names::offered(fleet)).collect(),
    }
}

/// Returns the name of a price: `example-16, EUR a year`.
fn price_name(record: &Record) -> String {
    let currency = record.subject.parameter(word::CURRENCY).unwrap_or("?");
    let term = match record.conditions.get(word::TERM).map(String::as_str) {
        Some(word::YEAR) => " a year",
        _ => "",
    };
    match record.subject.parameter(word::PRICED_MACHINE) {
        Some(machine) => format!("{machine}, {currency}{term}"),
        None => currency.to_owned(),
    }
}

fn notes(lookup: Lookup<'_>) -> Vec<String> {
    let is_priced = |quantity: Quantity| lookup.all(Predicted, quantity);
    let priced: Vec<&Record> = is_priced(word::PRICE_PER_SESSION_PER_S).collect();
    let has_cost = !priced.is_empty() || is_priced(word::COST_PER_MILLION).next().is_some();
    let mut notes = vec![format!(
        "sess/s, Gbps of payload: of a core that does nothing else; 1 G and more: whole cores for \
         a link of so many Gbps, full of payload; busy: the share of their time in use; {}",
        if has_cost {
            "a sess/s: price of the machine for each session per second that it serves so; 10^6: \
             cost of a million sessions, including head room"
        } else {
            "a sess/s, 10^6: prices of sessions, unknown without --prices"
        }
    )];
    if !priced.is_empty() {
        notes.push(
            "cores of priced machines are taken to be as fast as the measured one".to_owned(),
        );
    }
    let machine = |record: &&Record| {
        let says = |key| record.conditions.get(key).map_or("?", String::as_str);
        Some(format!(
            "{}: {} cores, {} ({})",
            record.subject.parameter(word::PRICED_MACHINE)?,
            says(word::CORES_PER_MACHINE),
            says(word::PRICE),
            says(word::PRICE_SOURCE)
        ))
    };
    notes.extend(distinct(priced.iter().filter_map(machine)));
    notes
}
