//! The table of a public-key execution unit: its published times, and our measured cycles as times
//! at the same clocks.

use tollgate_record::{Area, Kind, PerSecond, Record, Subject, Topic};

use crate::grid::Column;
use crate::lookup::Origin::{Measured, Published};
use crate::lookup::{Lookup, MISSING, cell, distinct};
use crate::names::{INSECURE, INSECURE_NOTE, contender, is_insecure, rsa_bits, who};
use crate::table::{Row, Table};
use crate::text::wrapped;
use tollgate_record::vocabulary::{
    BY, CLOCK_MHZ, CYCLES_PER_OPERATION, EXPONENT, FULL, NS_PER_OPERATION,
};

/// Maximum number of clocks that fit in a line.
const CLOCKS_MAX: usize = 8;

/// Width of a cell of milliseconds, enough for the slowest row of the paper.
const CELL_WIDTH: usize = 7;

/// Returns the published times by modulus and exponent size, with a column for each clock. The row
/// below each published row shows the cycles measured here, converted to milliseconds at the same
/// clocks.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let lookup = Lookup(records);
    let published = lookup.subjects(|record| {
        matches!(record.kind, Kind::Published { .. }) && clock_mhz(&record.subject).is_some()
    });
    let mut clocks: Vec<u32> = published.iter().filter_map(|s| clock_mhz(s)).collect();
    clocks.sort_unstable();
    clocks.dedup();
    clocks.truncate(CLOCKS_MAX);
    if clocks.is_empty() {
        return "no published times to compare with\n".to_owned();
    }
    let sizes = distinct(published.iter().map(|s| (s.topic(), s.parameter(EXPONENT))));
    let mut text = wrapped(
        "Milliseconds per operation at the clock above the column. Our times are core cycles \
         measured here, divided by that clock: a statement about cycle counts, not about an \
         existing machine.",
    );
    let rows = rows(lookup, &published, &sizes, &clocks);
    text += &Table { columns: columns(&clocks), rows, notes: Vec::new() }.text();
    if published.iter().any(|subject| is_insecure(subject)) {
        text += &wrapped(INSECURE_NOTE);
    }
    let mut sources: Vec<&str> = Vec::new();
    for record in records {
        if let Kind::Published { source } = &record.kind
            && clock_mhz(&record.subject).is_some()
            && !sources.contains(&source.as_str())
        {
            sources.push(source);
            let by = who(record.subject.parameter(BY).unwrap_or(MISSING));
            text += &wrapped(&format!("{by}: {source}"));
        }
    }
    text
}

/// Returns two columns of words, then one column for each clock.
fn columns(clocks: &[u32]) -> Vec<Column> {
    let mut columns = vec![Column::words("bits", 11), Column::words("by", 12)];
    columns.extend(clocks.iter().enumerate().map(|(place, clock)| {
        let unit = if place == 0 { " MHz" } else { "" };
        Column::figures("", CELL_WIDTH).headed(format!("{clock}{unit}"))
    }));
    columns
}

fn rows(
    lookup: Lookup<'_>,
    published: &[&Subject],
    sizes: &[(&Topic, Option<&str>)],
    clocks: &[u32],
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, exponent) in sizes {
        let belongs = |s: &Subject| s.topic() == *path && s.parameter(EXPONENT) == *exponent;
        let of_paper = |clock: u32| {
            let found = published.iter().find(|s| belongs(s) && clock_mhz(s) == Some(clock))?;
            lookup.nanos(Published, found, NS_PER_OPERATION).map(|time| time.get() * 1e-6)
        };
        let Some(first) = published.iter().find(|s| belongs(s)) else { continue };
        let row = |by: String, ms: &dyn Fn(u32) -> Option<String>| {
            let cells = clocks.iter().map(|clock| cell(ms(*clock)));
            Row::new(size(first), [by].into_iter().chain(cells).collect())
        };
        rows.push(row(contender(first), &|clock| of_paper(clock).map(as_printed)));
        for ours in lookup.measured(Area::Operation).into_iter().filter(|s| belongs(s)) {
            let at_clock = |clock: u32| {
                let cycles = lookup.cycles(Measured, ours, CYCLES_PER_OPERATION)?;
                Some(cycles.at(PerSecond::new(f64::from(clock) * 1e6)).get() * 1e-6)
            };
            rows.push(row(contender(ours), &|clock| at_clock(clock).map(as_measured)));
        }
    }
    rows
}

/// Formats milliseconds with the paper's two decimals.
fn as_printed(ms: f64) -> String {
    format!("{ms:.2}")
}

/// Formats milliseconds with two decimals, or more if two would show only zeros.
fn as_measured(ms: f64) -> String {
    if ms >= 0.095 { format!("{ms:.2}") } else { format!("{ms:.4}") }
}

/// `1024!/3`: bits of the modulus and of the exponent.
fn size(subject: &Subject) -> String {
    let bits = rsa_bits(subject).map_or_else(|| MISSING.into(), |bits| bits.to_string());
    let mark = if is_insecure(subject) { INSECURE.to_string() } else { String::new() };
    let exponent = match subject.parameter(EXPONENT) {
        None => MISSING.to_owned(),
        Some(FULL) => bits.clone(),
        Some(value) => value
            .parse::<u64>()
            .map_or_else(|_| value.to_owned(), |e| (u64::BITS - e.leading_zeros()).to_string()),
    };
    format!("{bits}{mark}/{exponent}")
}

fn clock_mhz(subject: &Subject) -> Option<u32> {
    subject.parameter(CLOCK_MHZ)?.parse().ok().filter(|clock| *clock > 0)
}
