//! The CPU time of one session, and the rate of a dedicated core.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use super::find::{of_server, sizes};
use super::row;
use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Lookup;
use crate::lookup::Origin::Predicted;
use crate::table::{Row, Table};

const COLUMNS: [Column; 5] = fitting([
    Column::words("one core", 38),
    Column::figures("CPU", 7),
    Column::figures("95 % interval", 17),
    Column::figures("sess/s", 6),
    Column::figures("95 % interval", 15),
]);

pub(super) fn table(records: &[Record]) -> Table {
    let lookup = Lookup(records);
    let predicted = sizes(records).into_iter().filter(|(origin, _)| *origin == Predicted);
    let rows = predicted.filter_map(|(_, fleet)| of_fleet(lookup, &fleet)).collect();
    let note = "CPU: of the server for one session, from which all figures are computed; sess/s: \
                of a core that does nothing else";
    Table { columns: COLUMNS.into(), rows, notes: vec![note.to_owned()] }
}

fn of_fleet(lookup: Lookup<'_>, fleet: &Subject) -> Option<Row> {
    let cpu = of_server(lookup, fleet, word::SERVER_CPU_NS_PER_SESSION, Unit::Nanos);
    let rate = word::SESSIONS_PER_S_PER_CORE;
    let rate = lookup.record(Predicted, fleet, rate, Unit::PerSecond);
    cpu.or(rate)?;
    let pair = |record| [figure::of(record), figure::interval(record)];
    Some(row(fleet, [pair(cpu), pair(rate)].concat()))
}
