//! The table of the engine: the cost of its queue, compared with the same operations without it.

use tollgate_record::vocabulary::{
    AGAINST, BATCH, BY, ENGINE, LOAD, MEAN_FILL, NS_PER_OPERATION, OPERATIONS_PER_S_PER_CORE,
    OPERATIONS_PER_S_RATIO, RESPONSE_NS_P99, RESPONSE_SERVICES_P99, SERVICE_NS, THREADS,
    TIMES_AS_FAST,
};
use tollgate_record::{Area, Nanos, Quantity, Record, Subject, Unit};

use crate::grid::{Column, fitting};
use crate::lookup::Origin::Measured;
use crate::lookup::{Lookup, MISSING, cell};
use crate::names::{INSECURE_NOTE, is_insecure, operation};
use crate::table::{Row, Table};

const COLUMNS: [Column; 6] = fitting([
    Column::words("operation", 14),
    Column::words("what", 26),
    Column::figures("engine", 12),
    Column::figures("without", 12),
    Column::figures("ratio", 18),
    Column::figures("fill", 5),
]);

/// Returns a block for each key with measurements of the engine.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let lookup = Lookup(records);
    let subjects: Vec<&Subject> = lookup
        .measured(Area::Queue)
        .into_iter()
        .filter(|subject| subject.parameter(BY) == Some(ENGINE))
        .collect();
    if subjects.is_empty() {
        return "the engine was not measured: run `tollgate speed queue`\n".to_owned();
    }
    let rows = subjects.iter().map(|subject| row(lookup, subject)).collect();
    let note = "threads: throughput per core. The threads submit without a pause, one request at a \
                time or many before they wait. Without the engine, one thread per core signs \
                batches of eight. alone: the time of an operation of one thread. p99 at load: the \
                response time, from the intended arrival, that 99 of 100 requests do not exceed. \
                Arrivals are random, at this share of the full engine's throughput. Without the \
                engine, the figure is the service time of a batch of eight at the same moments. \
                fill: the mean number of requests in a call";
    let is_insecure = subjects.iter().any(|subject| is_insecure(subject));
    let notes = [Some(note), is_insecure.then_some(INSECURE_NOTE)].into_iter().flatten();
    let notes = notes.map(str::to_owned).collect();
    Table { columns: COLUMNS.into(), rows, notes }.text()
}

fn row(lookup: Lookup<'_>, subject: &Subject) -> Row {
    let threads = subject.parameter(THREADS).unwrap_or(MISSING);
    let fill = lookup.find(Measured, subject, MEAN_FILL, Unit::Ratio);
    let fill = cell(fill.map(|fill| format!("{:.1}", fill.point())));
    let ratio = |subject: Option<Subject>, quantity| {
        let found = lookup.find(Measured, &subject?, quantity, Unit::Ratio)?;
        let (low, high) = found.interval();
        let digits = if high < 100.0 { 2 } else { 0 };
        Some(format!("{:.digits$} ({low:.digits$}-{high:.digits$})", found.point()))
    };
    let against = || subject.with(AGAINST, "tollgate").ok();
    let (what, with, without, ratio) = if let Some(load) = subject.parameter(LOAD) {
        let service = lookup
            .record(Measured, subject, RESPONSE_NS_P99, Unit::Nanos)
            .and_then(|record| record.conditions.get(SERVICE_NS)?.parse().ok())
            .map(Nanos::new);
        let response = lookup.nanos(Measured, subject, RESPONSE_NS_P99);
        let services = ratio(Some(subject.clone()), RESPONSE_SERVICES_P99);
        (format!("p99 at load {load}"), cell(response), cell(service), services)
    } else if threads == "1" {
        let nanos = |subject: &Subject| lookup.nanos(Measured, subject, NS_PER_OPERATION);
        let alone = other(lookup, subject, NS_PER_OPERATION);
        let times = ratio(against(), TIMES_AS_FAST);
        ("alone".to_owned(), cell(nanos(subject)), cell(alone.and_then(nanos)), times)
    } else {
        let rate =
            |subject: &Subject| lookup.per_second(Measured, subject, OPERATIONS_PER_S_PER_CORE);
        let direct = other(lookup, subject, OPERATIONS_PER_S_PER_CORE);
        let share = ratio(against(), OPERATIONS_PER_S_RATIO);
        let each = subject.parameter(BATCH).map(|many| format!(" x {many}"));
        (
            format!("{threads} threads{}, per core", each.unwrap_or_default()),
            cell(rate(subject)),
            cell(direct.and_then(rate)),
            share,
        )
    };
    Row::new(operation(subject), vec![what, with, without, cell(ratio), fill])
}

/// Returns the subject of the same operation without the engine.
fn other<'a>(lookup: Lookup<'a>, subject: &Subject, quantity: Quantity) -> Option<&'a Subject> {
    lookup
        .subjects(|record| {
            record.subject.topic() == subject.topic()
                && record.subject.parameter(BY) != Some(ENGINE)
                && record.quantity == quantity
                && record.subject.parameter(BATCH).is_some()
                    == (quantity == OPERATIONS_PER_S_PER_CORE)
        })
        .first()
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_says_how_to() {
        assert!(table(&[]).contains("speed queue"));
    }
}
