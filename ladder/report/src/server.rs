//! The table of servers: sessions per second, CPU time, latencies, ratios.

use std::collections::BTreeSet;

use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Record, Subject, Unit};

use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{Measured, Predicted};
use crate::lookup::{Lookup, MISSING};
use crate::names::{self, service, who};
use crate::pairs;
use crate::table::{Row, Table};
use crate::text::wrapped;

const COLUMNS: [Column; 7] = fitting([
    Column::words("server", 36),
    Column::figures("sess/s", 6),
    Column::figures("95 % interval", 13),
    Column::figures("pred.", 6),
    Column::figures("batch", 5),
    Column::figures("CPU", 7),
    Column::figures("client", 7),
]);

/// The cell of the mean batch in a row of [`COLUMNS`].
const BATCH: usize = 3;

const TIMES: [Column; 8] = fitting([
    Column::words("times", 31),
    Column::figures("connect", 7),
    Column::figures("handshake", 9),
    Column::figures("p90", 7),
    Column::figures("p99", 7),
    Column::figures("transaction", 11),
    Column::figures("p90", 7),
    Column::figures("p99", 7),
]);

/// Returns the tables of every measured server: sessions per second with interval and prediction,
/// CPU time of server and client per session, times of connect, handshake and transaction.
/// Sentences on the ratio between servers, and on doubts about the
/// measurement, follow.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let tables = tables(records);
    if tables.is_empty() {
        return "no server was measured: run `tollgate bench`\n".to_owned();
    }
    let mut text = tables.iter().map(Table::text).collect::<Vec<_>>().join("\n");
    text.extend(pairs::sentences(records).iter().map(|line| wrapped(line)));
    text.extend(doubts(records).iter().map(|line| wrapped(line)));
    text
}

/// Returns the rates and times of every measured server, for a terminal or a page; empty if there
/// is none.
pub(crate) fn tables(records: &[Record]) -> Vec<Table> {
    let lookup = Lookup(records);
    let subjects = lookup.measured(Area::Server);
    if subjects.is_empty() {
        return Vec::new();
    }
    let table = |columns, cells: fn(Lookup<'_>, &Subject) -> Vec<String>, note: &str| {
        let rows = subjects.iter().map(|subject| row(subject, cells(lookup, subject))).collect();
        Table { columns, rows, notes: vec![note.to_owned()] }
    };
    let mut rates =
        "sess/s: sessions per second; pred.: as rung 3 predicts them; CPU: of the server \
                     for one session; client: CPU of the load generator for one"
            .to_owned();
    let latencies = "medians, 90th and 99th percentiles; connect: TCP connection; handshake: from \
                     the ClientHello until the server confirmed the handshake; transaction: from \
                     the start of the connection, in an open loop from the intended start, to the \
                     last byte of the response";
    let mut columns: Vec<Column> = COLUMNS.into();
    let has_batches = subjects.iter().any(|subject| mean_batch(lookup, subject).is_some());
    if has_batches {
        rates += "; batch: signatures and decryptions that the engine runs at once, on average";
    } else {
        columns.remove(BATCH + 1);
    }
    let mut rates = table(columns, figures, &rates);
    if !has_batches {
        rates.rows.iter_mut().for_each(|row| _ = row.cells.remove(BATCH));
    }
    vec![rates, table(TIMES.into(), times, latencies)]
}

/// Returns the mean number of operations with the server's key in a batch, such as `7.4`.
pub(crate) fn mean_batch(lookup: Lookup<'_>, server: &Subject) -> Option<String> {
    let mean = lookup.find(Measured, server, word::OPERATIONS_PER_BATCH, Unit::Count)?;
    Some(format!("{:.1}", mean.point()))
}

fn row(subject: &Subject, cells: Vec<String>) -> Row {
    let manner = [names::sizes(subject), names::offered(subject)].into_iter().flatten();
    let by = who(subject.parameter(word::BY).unwrap_or(MISSING));
    let name = format!("{}, {by}", names::payload(names::bytes(subject)));
    let part = subject.parameter(word::SESSIONS).map(str::to_owned);
    Row {
        groups: [service(subject)].into_iter().chain(manner).collect(),
        names: [name].into_iter().chain(part).collect(),
        cells,
    }
}

fn figures(lookup: Lookup<'_>, subject: &Subject) -> Vec<String> {
    let of = |origin, quantity, unit| lookup.record(origin, subject, quantity, unit);
    let rate = of(Measured, word::SESSIONS_PER_S, Unit::PerSecond);
    let time = |quantity| figure::of(of(Measured, quantity, Unit::Nanos));
    vec![
        figure::of(rate),
        figure::interval(rate),
        figure::of(of(Predicted, word::SESSIONS_PER_S, Unit::PerSecond)),
        mean_batch(lookup, subject).unwrap_or_else(|| MISSING.to_owned()),
        time(word::SERVER_CPU_NS_PER_SESSION),
        time(word::CLIENT_CPU_NS_PER_SESSION),
    ]
}

fn times(lookup: Lookup<'_>, subject: &Subject) -> Vec<String> {
    let [handshake, transaction] = [word::HANDSHAKE_NS, word::TRANSACTION_NS];
    [word::CONNECT_NS_P50]
        .into_iter()
        .chain(handshake)
        .chain(transaction)
        .map(|quantity| figure::of(lookup.record(Measured, subject, quantity, Unit::Nanos)))
        .collect()
}

/// Returns the reasons for doubt that the load generator recorded. Texts that differ only in
/// figures appear once.
pub(crate) fn doubts(records: &[Record]) -> Vec<String> {
    let mut found: Vec<(String, &str, BTreeSet<&str>)> = Vec::new();
    for record in records {
        for doubt in record.doubts.iter().map(String::as_str) {
            let shape: String =
                doubt.chars().filter(|c| !c.is_ascii_digit() && !".+-".contains(*c)).collect();
            match found.iter_mut().find(|(known, ..)| *known == shape) {
                Some((_, _, all)) => _ = all.insert(doubt),
                None => found.push((shape, doubt, BTreeSet::from([doubt]))),
            }
        }
    }
    let text = |(_, first, all): (String, &str, BTreeSet<&str>)| match all.len() {
        1 => format!("doubtful: {first}"),
        more => format!("doubtful: {first} (and {} like it)", more - 1),
    };
    found.into_iter().map(text).collect()
}
