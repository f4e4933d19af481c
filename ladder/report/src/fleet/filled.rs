//! The table of links that were filled: the payload of measured open loops, and the cores that it
//! took, beside those that the session of the closed loop predicts.

use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Record, Subject, Unit};

use super::row;
use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Lookup;
use crate::lookup::Origin::Measured;
use crate::names;
use crate::table::{Row, Table};

const COLUMNS: [Column; 6] = fitting([
    Column::words("links filled here", 38),
    Column::figures("sess/s", 6),
    Column::figures("Gbps", 6),
    Column::figures("predicted", 9),
    Column::figures("measured", 8),
    Column::figures("error", 6),
]);

pub(super) fn table(records: &[Record]) -> Table {
    let lookup = Lookup(records);
    let opened = |subject: &&Subject| subject.parameter(word::OFFERED_PER_S).is_some();
    let servers = lookup.measured(Area::Server).into_iter().filter(opened);
    let note = "predicted: cores for this rate, from the CPU time of a session in a closed loop; \
                measured: CPU seconds of the server in a second of an open loop of this rate; \
                Gbps: of payload; error: predicted, compared with measured";
    Table {
        columns: COLUMNS.into(),
        rows: servers.filter_map(|server| of_server(lookup, server)).collect(),
        notes: vec![note.to_owned()],
    }
}

fn of_server(lookup: Lookup<'_>, open: &Subject) -> Option<Row> {
    let find = |subject: &Subject, quantity, unit| {
        lookup.find(Measured, subject, quantity, unit).map(|found| found.point())
    };
    let cpu_ns = |subject| find(subject, word::SERVER_CPU_NS_PER_SESSION, Unit::Nanos);
    let bytes = Some(names::bytes(open)).filter(|bytes| *bytes > 0)?;
    let per_s = find(open, word::SESSIONS_PER_S, Unit::PerSecond)?;
    let cores = |ns: f64| per_s * ns / 1e9;
    let (predicted, measured) =
        (cores(cpu_ns(&open.without(&word::OF_OPEN_LOOPS))?), cores(cpu_ns(open)?));
    #[allow(clippy::cast_precision_loss, reason = "a payload is below 2^52 bytes")]
    let gbps = per_s * bytes as f64 * 8.0 / 1e9;
    let cells = vec![
        figure::number(per_s, Unit::PerSecond),
        format!("{gbps:.2}"),
        format!("{predicted:.3}"),
        format!("{measured:.3}"),
        format!("{:+.0} %", 100.0 * (predicted / measured - 1.0)),
    ];
    Some(row(open, cells))
}
