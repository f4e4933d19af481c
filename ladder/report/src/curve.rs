//! The cost of sessions by the size of the transfer, with the size at which the transfer costs as
//! much as the handshake; and the cost of a request by the number of requests on a connection, with
//! the number at which the handshake is a tenth.

use tollgate_record::vocabulary::{BYTES, BYTES_WHERE_DOUBLE, END, REQUESTS, REQUESTS_WHERE_TENTH};
use tollgate_record::{Quantity, Record, Subject, Unit};

use crate::figure::optional;
use crate::grid::{Column, GAP};
use crate::lookup::Origin::{self, Measured, Predicted};
use crate::lookup::{Lookup, MISSING, distinct};
use crate::names::{self, who};
use crate::session::{Session, sessions};
use crate::table::{Row, Table};
use crate::text::WIDTH;

const NAME_WIDTH: usize = 27;
const VALUE_WIDTH: usize = 7;
const LAST_WIDTH: usize = 9;
/// Maximum number of values that fit beside the name and the last column.
const VALUES_MAX: usize =
    (WIDTH - NAME_WIDTH - LAST_WIDTH - GAP as usize) / (VALUE_WIDTH + GAP as usize);

/// A property of sessions that a table varies.
struct Axis {
    parameter: &'static str,
    /// The headings of the names and of the last column.
    headings: [&'static str; 2],
    /// The quantity of the last column, and its unit.
    last: (Quantity, Unit),
    note: &'static str,
}

const SIZES: Axis = Axis {
    parameter: BYTES,
    headings: ["session by size", "crossover"],
    last: (BYTES_WHERE_DOUBLE, Unit::Bytes),
    note: "Core cycles of the server for one session, by the size of the response. crossover: the \
           size in bytes at which the transfer costs as much as the handshake, with the cost \
           linear between sizes; a dash: not up to the largest size",
};

const NUMBERS: Axis = Axis {
    parameter: REQUESTS,
    headings: ["cost of a request", "flat from"],
    last: (REQUESTS_WHERE_TENTH, Unit::Count),
    note: "Core cycles for one request and its share of the handshake, by the number of requests \
           on a connection. flat from: the number at which the handshake takes a tenth",
};

/// Returns the table of costs by size and that of costs by number of requests: a row for each kind
/// of session as predicted, and as measured. Empty if no kind has several sizes or numbers.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let tables = [SIZES, NUMBERS].iter().filter_map(|axis| axis.costs(records));
    tables.map(|table| table.text()).collect::<Vec<_>>().join("\n")
}

impl Axis {
    fn costs(&self, records: &[Record]) -> Option<Table> {
        let all = sessions(records, false);
        let mut values: Vec<u64> = all.iter().map(|session| self.value(&session.subject)).collect();
        values.sort_unstable();
        values.dedup();
        let cut = values.len().saturating_sub(VALUES_MAX);
        // Keep the first value, and leave out the next ones.
        values.drain(1.min(cut)..1.min(cut) + cut);
        let kinds = all.iter().map(|session| session.subject.without(&[self.parameter]));
        let rows: Vec<Row> = distinct(kinds)
            .iter()
            .flat_map(|kind| [Predicted, Measured].map(|origin| (kind, origin)))
            .filter_map(|(kind, origin)| self.row(Lookup(records), &all, kind, origin, &values))
            .collect();
        if rows.is_empty() {
            return None;
        }
        let [names, last] = self.headings;
        let mut columns = vec![Column::words(names, NAME_WIDTH)];
        let column = |value: &u64| Column::figures("", VALUE_WIDTH).headed(self.head(*value));
        columns.extend(values.iter().map(column));
        columns.push(Column::figures(last, LAST_WIDTH));
        Some(Table { columns, rows, notes: vec![self.note.to_owned()] })
    }

    fn is_of_requests(&self) -> bool {
        self.parameter == REQUESTS
    }

    fn value(&self, subject: &Subject) -> u64 {
        match subject.parameter(self.parameter) {
            None => u64::from(self.is_of_requests()),
            Some(value) => value.parse().unwrap_or_default(),
        }
    }

    fn head(&self, value: u64) -> String {
        if value == 0 || self.is_of_requests() { value.to_string() } else { names::payload(value) }
    }

    fn row(
        &self,
        lookup: Lookup<'_>,
        all: &[Session<'_>],
        kind: &Subject,
        origin: Origin,
        values: &[u64],
    ) -> Option<Row> {
        let cost = |value: &u64| {
            let is_it = |session: &&Session<'_>| {
                self.value(&session.subject) == *value
                    && session.subject.without(&[self.parameter]) == *kind
            };
            let session = all.iter().find(is_it)?;
            let whole = match origin {
                Measured => session.measured.map(|record| record.estimate.point()),
                _ => session.total(),
            };
            #[allow(clippy::cast_precision_loss, reason = "at most 1000 requests")]
            let parts = if self.is_of_requests() { *value as f64 } else { 1.0 };
            whole.map(|whole| whole / parts)
        };
        let costs: Vec<Option<f64>> = values.iter().map(cost).collect();
        if costs.iter().flatten().count() < 2 {
            return None;
        }
        let (quantity, unit) = self.last;
        let last = lookup.record(origin, kind, quantity, unit);
        let rounded = |record: &Record| optional(Some(record.estimate.point().ceil()), unit);
        let mut cells: Vec<String> =
            costs.into_iter().map(|cost| optional(cost, Unit::Cycles)).collect();
        cells.push(last.map_or_else(|| MISSING.to_owned(), rounded));
        let groups = [Some(names::service(kind)), names::offered(kind)];
        let word = if origin == Measured { "measured" } else { "predicted" };
        let name = match kind.parameter(END) {
            None => format!("{}, {word}", who(names::by(kind))),
            Some(end) => format!("{}, {end}, {word}", who(names::by(kind))),
        };
        Some(Row { groups: groups.into_iter().flatten().collect(), names: vec![name], cells })
    }
}

#[cfg(test)]
mod tests {
    use tollgate_record::vocabulary::{CYCLES_PER_SESSION, SESSION_RUNG};
    use tollgate_record::{Estimate, Kind, Machine};

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
        assert_eq!(lines[3].matches("500k").count(), VALUES_MAX, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(table(&records[..1]), "", "one size is no curve");
    }

    #[test]
    fn a_request_costs_less_with_more_of_them() {
        let total = |subject: &str, cost| record(subject, CYCLES_PER_SESSION, Unit::Cycles, cost);
        let kind = "session/rsa-2048/tls13?by=openssl&bytes=1024";
        let records = [
            total(kind, 1e6),
            total(&format!("{kind}&requests=10"), 1.9e6),
            record(kind, REQUESTS_WHERE_TENTH, Unit::Count, 81.0),
        ];
        let text = table(&records);
        let lines: Vec<&str> = text.lines().collect();
        let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(cells(lines[0]), ["cost", "of", "a", "request", "1", "10", "flat", "from"]);
        let expected = ["OpenSSL,", "predicted", "1.00M", "190k", "81"];
        assert_eq!(cells(lines[3]), expected, "{text}");
    }
}
