//! The tables of fleets: cores for a link, cost, response time under load.

use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record, Subject, Unit};

use crate::cite::Citation;
use crate::figure::{self, percent};
use crate::fleets::{Curve, curves, links, sizes};
use crate::grid::{Column, grid};
use crate::names;
use crate::shelf::Origin::{self, Predicted};
use crate::shelf::{MISSING, Shelf, latest};
use crate::text::wrapped;

const SIZES: [Column; 7] = [
    Column::words("fleet", 46),
    Column::figures("sess/s core", 11),
    Column::figures("Gbps", 6),
    Column::figures("1 Gbps", 7),
    Column::figures("10", 6),
    Column::figures("100", 6),
    Column::figures("left", 6),
];

const LOADS: [Column; 5] = [
    Column::words("response time", 44),
    Column::figures("load", 6),
    Column::figures("sess/s", 8),
    Column::figures("mean", 8),
    Column::figures("p99", 8),
];

/// Cores for links of 1, 10 and 100 Gbps, ours and the papers'; what a million sessions cost;
/// response time against load.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let records = &latest(records);
    let fleets = sizes(records);
    if fleets.is_empty() {
        return "no fleet was sized: run `tollgate fleet`\n".to_owned();
    }
    let shelf = Shelf(records);
    let mut rows = Vec::new();
    let mut above = "";
    for (origin, subject) in &fleets {
        if above != subject.path() {
            above = subject.path();
            let links = links(shelf, *origin, subject);
            let cited = links.first().and_then(|(_, record)| Citation::of(record));
            let cited = cited.map_or_else(String::new, |cited| format!("{cited} "));
            rows.push(vec![format!("{cited}{}", suite(subject))]);
        }
        rows.push(size(shelf, *origin, subject));
    }
    let mut text = grid(&SIZES, rows);
    text += &wrapped(
        "sess/s core, Gbps: of one core that does nothing else; 1, 10, 100: whole cores for a link \
         of so many Gbps; left: cores of the last machine left at 10 Gbps",
    );
    text.extend(shelf.0.iter().filter_map(cost).map(|line| wrapped(&line)));
    let curves = curves(records);
    if !curves.is_empty() {
        text.push('\n');
        text += &grid(&LOADS, curves.iter().flat_map(response).collect());
        text += &wrapped(
            "load: busy share of the cores; sess/s: at that load; mean, p99: from arrival to the \
             last byte, in a queue as the records' condition `model` says",
        );
    }
    let mut sources: Vec<String> = fleets
        .iter()
        .flat_map(|(origin, subject)| links(shelf, *origin, subject))
        .filter_map(|(_, record)| crate::model::source(record))
        .collect();
    sources.sort_unstable();
    sources.dedup();
    text.extend(sources.iter().map(|source| wrapped(source)));
    text
}

fn size(shelf: Shelf<'_>, origin: Origin, subject: &Subject) -> Vec<String> {
    let links = links(shelf, origin, subject);
    let cores = |gbps: &str| figure::of(links.iter().find(|(g, _)| *g == gbps).map(|(_, r)| *r));
    let per_core = |quantity| shelf.find(origin, subject, quantity, Unit::PerSecond);
    let sessions = per_core(word::SESSIONS_PER_S_PER_CORE);
    let gbps = per_core(word::BITS_PER_S_PER_CORE).map(|bits| bits.point() / 1e9);
    let left = subject
        .with(word::LINK_GBPS, "10")
        .ok()
        .and_then(|at| shelf.record(origin, &at, word::CORES_LEFT, Unit::Count));
    let number = |point: Option<f64>, unit| {
        point.map_or_else(|| MISSING.to_owned(), |point| figure::number(point, unit))
    };
    let by = names::who(subject.parameter(word::BY).unwrap_or(MISSING));
    vec![
        format!("  {}, {by}", names::payload(names::bytes(subject))),
        number(sessions.map(|rate| rate.point()), Unit::PerSecond),
        number(gbps, Unit::Ratio),
        cores("1"),
        cores("10"),
        cores("100"),
        figure::of(left),
    ]
}

/// `TLS 1.3, RSA-2048, 14 KB, tollgate`.
pub(crate) fn name(subject: &Subject) -> String {
    let by = names::who(subject.parameter(word::BY).unwrap_or(MISSING));
    format!("{}, {}, {by}", suite(subject), names::payload(names::bytes(subject)))
}

/// `TLS 1.3, RSA-2048`; of a paper, its suite.
pub(crate) fn suite(subject: &Subject) -> String {
    match subject.segments().nth(2) {
        Some(protocol) => {
            format!("{}, {}", names::protocol(protocol), names::key(names::key_of(subject)))
        }
        None => names::suite(names::key_of(subject)),
    }
}

/// What a million sessions cost, and what the price was.
fn cost(record: &Record) -> Option<String> {
    let currency = record.subject.parameter(word::CURRENCY)?;
    let point = figure::of(Some(record));
    let subject = names::without(&record.subject, word::CURRENCY)?;
    match record.quantity.as_str() {
        word::COST_PER_MILLION if Origin::of(record) == Predicted => {
            let price = record.conditions.get(word::PRICE_PER_CORE_HOUR);
            let price = price.map_or_else(String::new, |p| format!(" at {p} per core and hour"));
            Some(format!("{}: a million sessions cost {point} {currency}{price}.", name(&subject)))
        }
        word::PRICE_PER_SESSION_PER_S if matches!(record.kind, Kind::Published { .. }) => {
            let cited = Citation::of(record)?;
            Some(format!(
                "{}: {point} {currency} of machine for each session per second ({cited}).",
                name(&subject)
            ))
        }
        _ => None,
    }
}

fn response(curve: &Curve<'_>) -> Vec<Vec<String>> {
    let first = |place| match place {
        0 => format!("{}, {} cores", name(&curve.subject), curve.cores),
        _ => String::new(),
    };
    let row = |(place, at): (usize, &crate::fleets::Point<'_>)| {
        vec![
            first(place),
            percent(at.load, 1.0),
            curve
                .rate(at.load)
                .map_or_else(|| MISSING.to_owned(), |rate| figure::number(rate, Unit::PerSecond)),
            figure::of(Some(at.mean)),
            figure::of(at.p99),
        ]
    };
    curve.points.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::widest;
    use crate::text::WIDTH;

    #[test]
    fn the_columns_fit() {
        assert!(widest(&SIZES) <= WIDTH, "{}", widest(&SIZES));
        assert!(widest(&LOADS) <= WIDTH, "{}", widest(&LOADS));
    }
}
