//! The cost of sessions by the size of the transfer, and the size at which the transfer costs as
//! much as the handshake.

use tollgate_record::vocabulary::{BYTES, BYTES_WHERE_DOUBLE};
use tollgate_record::{Record, Subject, Unit};

use crate::figure::optional;
use crate::grid::{Column, GAP};
use crate::lookup::Origin::{self, Measured, Predicted};
use crate::lookup::{Lookup, MISSING, distinct};
use crate::names::{self, who};
use crate::session::{Session, sessions};
use crate::table::{Row, Table};
use crate::text::WIDTH;

const NAME_WIDTH: usize = 27;
const SIZE_WIDTH: usize = 7;
const CROSSOVER_WIDTH: usize = 9;
/// Maximum number of sizes that fit beside the name and the crossover.
const SIZES_MAX: usize =
    (WIDTH - NAME_WIDTH - CROSSOVER_WIDTH - GAP as usize) / (SIZE_WIDTH + GAP as usize);

/// Returns the table of costs by size: a row for each kind of session as predicted, and as
/// measured. Empty if no kind has several sizes.
#[must_use]
pub fn table(records: &[Record]) -> String {
    costs(records).map_or_else(String::new, |table| table.text())
}

fn costs(records: &[Record]) -> Option<Table> {
    let all = sessions(records, false);
    let mut sizes: Vec<u64> = all.iter().map(Session::bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cut = sizes.len().saturating_sub(SIZES_MAX);
    // Keep the handshake, and leave out the next sizes.
    sizes.drain(1.min(cut)..1.min(cut) + cut);
    let kinds: Vec<Subject> = distinct(all.iter().map(|session| session.subject.without(&[BYTES])));
    let rows: Vec<Row> = kinds
        .iter()
        .flat_map(|kind| [Predicted, Measured].map(|origin| (kind, origin)))
        .filter_map(|(kind, origin)| row(Lookup(records), &all, kind, origin, &sizes))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let head = |bytes: &u64| match bytes {
        0 => "0".to_owned(),
        bytes => names::payload(*bytes),
    };
    let mut columns = vec![Column::words("session by size", NAME_WIDTH)];
    columns.extend(sizes.iter().map(|bytes| Column::figures("", SIZE_WIDTH).headed(head(bytes))));
    columns.push(Column::figures("crossover", CROSSOVER_WIDTH));
    let note = "Core cycles of the server for one session, by the size of the response. crossover: \
                the size in bytes at which the transfer costs as much as the handshake, with the \
                cost linear between sizes; a dash: not up to the largest size";
    Some(Table { columns, rows, notes: vec![note.to_owned()] })
}

fn row(
    lookup: Lookup<'_>,
    all: &[Session<'_>],
    kind: &Subject,
    origin: Origin,
    sizes: &[u64],
) -> Option<Row> {
    let cost = |bytes: &u64| {
        let is_it = |session: &&Session<'_>| {
            session.bytes() == *bytes && session.subject.without(&[BYTES]) == *kind
        };
        let session = all.iter().find(is_it)?;
        match origin {
            Measured => session.measured.map(|record| record.estimate.point()),
            _ => session.total(),
        }
    };
    let costs: Vec<Option<f64>> = sizes.iter().map(cost).collect();
    if costs.iter().flatten().count() < 2 {
        return None;
    }
    let crossover = lookup.record(origin, kind, BYTES_WHERE_DOUBLE, Unit::Bytes);
    let size = |record: &Record| optional(Some(record.estimate.point()), Unit::Bytes);
    let mut cells: Vec<String> =
        costs.into_iter().map(|cost| optional(cost, Unit::Cycles)).collect();
    cells.push(crossover.map_or_else(|| MISSING.to_owned(), size));
    let groups = [Some(names::service(kind)), names::offered(kind)];
    let word = if origin == Measured { "measured" } else { "predicted" };
    let name = format!("{}, {word}", who(names::by(kind)));
    Some(Row { groups: groups.into_iter().flatten().collect(), names: vec![name], cells })
}

#[cfg(test)]
mod tests {
    use tollgate_record::vocabulary::{CYCLES_PER_SESSION, SESSION_RUNG};
    use tollgate_record::{Estimate, Kind, Machine, Quantity};

    use super::*;

    fn record(subject: &str, quantity: Quantity, unit: Unit, point: f64) -> Record {
        let kind = Kind::Predicted { by: SESSION_RUNG.to_owned(), from: vec![] };
        let estimate = Estimate::exact(point).unwrap();
        let machine = Machine::unknown("Some Processor 9000");
        Record::new(subject.parse().unwrap(), (quantity, unit, estimate), kind, machine)
    }

    #[test]
    fn a_row_has_each_size_and_the_crossover() {
        let total = |bytes: u64, cost| {
            let subject = format!("session/ecdsa-p256/tls13?by=openssl&bytes={bytes}");
            record(&subject, CYCLES_PER_SESSION, Unit::Cycles, cost)
        };
        let sizes = (0..12).map(|power| 1024 << power).chain([0]);
        let mut records: Vec<Record> = sizes.map(|bytes| total(bytes, 5e5)).collect();
        let kind = "session/ecdsa-p256/tls13?by=openssl";
        records.push(record(kind, BYTES_WHERE_DOUBLE, Unit::Bytes, 131_072.0));
        let text = table(&records);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("session by size") && lines[0].contains(" 2048 KB  crossover")
        );
        assert_eq!(lines[2], "TLS 1.3, ECDSA P-256");
        assert!(
            lines[3].starts_with("  OpenSSL, predicted") && lines[3].ends_with("131k"),
            "{text}"
        );
        assert_eq!(lines[3].matches("500k").count(), SIZES_MAX, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(table(&records[..1]), "", "one size is no curve");
    }
}
