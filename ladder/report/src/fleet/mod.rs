//! The tables of fleets: cores for a demand, rate and cost of one core, response time under load.

mod cores;
mod filled;
pub(crate) mod find;
mod links;
mod response;
mod savings;

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject};

use crate::cite::sources;
use crate::lookup::{Lookup, MISSING, distinct, latest};
use crate::names;
use crate::table::{Row, Table};
use crate::text::wrapped;

/// Returns the tables of fleets: rates, cores for links and prices, predicted and published; the
/// cores for each demand, with intervals, and the response time by load.
/// Sentences on savings follow.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let records = &latest(records);
    let tables = tables(records);
    if tables.is_empty() {
        return "no fleet was sized: run `tollgate fleet`\n".to_owned();
    }
    let mut text = tables.iter().map(Table::text).collect::<Vec<_>>().join("\n");
    let sentences: Vec<String> = sentences(records).iter().map(|line| wrapped(line)).collect();
    if !sentences.is_empty() {
        text += "\n";
        text.extend(sentences);
    }
    text + &sources(find::sized(Lookup(records)))
}

/// Returns the tables that have a row. `records` must contain only the latest record of each
/// figure.
pub(crate) fn tables(records: &[Record]) -> Vec<Table> {
    let all = [
        links::table(records),
        cores::table(records),
        filled::table(records),
        response::table(records),
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Returns sentences on savings.
pub(crate) fn sentences(records: &[Record]) -> Vec<String> {
    savings::sentences(Lookup(records))
}

/// Returns the row of a predicted fleet.
fn row(subject: &Subject, cells: Vec<String>) -> Row {
    let groups = [names::service(subject)].into_iter().chain(names::offered(subject)).collect();
    Row { groups, names: vec![size_and_engine(subject)], cells }
}

/// Returns the full name of a fleet, such as `TLS 1.3, RSA-2048, 14 KB, tollgate`.
#[must_use]
pub fn name(subject: &Subject) -> String {
    format!("{}, {}", names::handshake(subject), size_and_engine(subject))
}

/// Returns payload and engine of a fleet, such as `14 KB, tollgate`.
fn size_and_engine(subject: &Subject) -> String {
    let by = names::who(subject.parameter(word::BY).unwrap_or(MISSING));
    format!("{}, {by}", names::payload(names::bytes(subject)))
}

/// Returns the distinct values of a condition in these records.
fn conditions<'a>(records: impl Iterator<Item = &'a Record>, key: &str) -> Vec<&'a str> {
    distinct(records.filter_map(|record| record.conditions.get(key).map(String::as_str)))
}
