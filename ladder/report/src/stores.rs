//! The table of `tollgate bench sessions`: resumed sessions by the place where servers keep them.

use tollgate_record::{Estimate, Unit};

use crate::figure::number;
use crate::grid::{Column, fitting};
use crate::table::{Row, Table};

/// A server with its sessions in one place.
#[derive(Clone, Debug)]
pub struct Store {
    /// The server and the place.
    pub words: &'static str,
    /// The share of the sessions that were resumed.
    pub resumed: Estimate,
    /// Sessions per second.
    pub per_s: Estimate,
    /// The 99th percentile of the times of handshakes, in nanoseconds.
    pub p99_ns: Estimate,
    /// CPU time of all processes for one session, in nanoseconds.
    pub cpu_ns: Estimate,
}

/// Returns a row for each server.
#[must_use]
pub fn table(processes: &str, stores: &[Store]) -> String {
    let columns = fitting([
        Column::words("", 24).headed(processes.to_owned()),
        Column::figures("resumed", 8),
        Column::figures("sess/s", 7),
        Column::figures("p99", 8),
        Column::figures("CPU", 8),
    ]);
    let row = |store: &Store| {
        let cells = vec![
            format!("{:.1} %", 100.0 * store.resumed.point()),
            number(store.per_s.point(), Unit::PerSecond),
            number(store.p99_ns.point(), Unit::Nanos),
            number(store.cpu_ns.point(), Unit::Nanos),
        ];
        Row::new(store.words, cells)
    };
    let notes = vec![
        "resumed: share of the sessions; every connection offers one, except in rows with none; \
         sess/s: sessions per second; p99: of the handshakes; CPU: of all processes for one session, \
         user and system, that of Redis included; medians of the rounds"
            .to_owned(),
    ];
    Table { columns: columns.into(), rows: stores.iter().map(row).collect(), notes }.text()
}
