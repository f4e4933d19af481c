//! The table of `tollgate bench proxy`: CPU time of TLS proxies in front of the same back end.

use tollgate_record::{Estimate, Unit};

use crate::figure::number;
use crate::grid::{Column, fitting};
use crate::lookup::ratio;
use crate::table::{Row, Table};

/// A proxy with one load.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// The name of the proxy.
    pub words: &'static str,
    /// CPU time of all its processes for one request, in nanoseconds.
    pub cpu_ns: Estimate,
    /// The same divided by that of the first proxy.
    pub relative: Estimate,
    /// Requests per second.
    pub per_s: Estimate,
}

/// Returns a row for each proxy: CPU time for one request, and its ratio to the first one.
#[must_use]
pub fn table(load: &str, proxies: &[Proxy]) -> String {
    let columns = fitting([
        Column::words("", 36).headed(load.to_owned()),
        Column::figures("CPU", 8),
        Column::figures("relative", 18),
        Column::figures("requests/s", 10),
    ]);
    let row = |proxy: &Proxy| {
        let cells = vec![
            number(proxy.cpu_ns.point(), Unit::Nanos),
            ratio(&proxy.relative),
            number(proxy.per_s.point(), Unit::PerSecond),
        ];
        Row::new(proxy.words, cells)
    };
    let notes = vec![
        "CPU: of all processes of the proxy for one request, user and system; relative: to the first \
         row, the median of the rounds with its 95 % interval; the back end shares the client's core"
            .to_owned(),
    ];
    Table { columns: columns.into(), rows: proxies.iter().map(row).collect(), notes }.text()
}
