//! The CPU time of one session, and the rate of a dedicated core.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Topic, Unit};

use super::find::sizes;
use super::row;
use crate::figure;
use crate::grid::{Column, fitting};
use crate::lookup::Lookup;
use crate::lookup::Origin::{self, Predicted};
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
    let note = "CPU: of the server for one session, from which all figures are computed; sess/s: of \
                a core that does nothing else";
    Table { columns: COLUMNS.into(), rows, notes: vec![note.to_owned()] }
}

fn of_fleet(lookup: Lookup<'_>, fleet: &Subject) -> Option<Row> {
    let cpu = rests_on(lookup, fleet);
    let rate = word::SESSIONS_PER_S_PER_CORE;
    let rate = lookup.record(Predicted, fleet, rate, Unit::PerSecond);
    cpu.or(rate)?;
    let pair = |record| [figure::of(record), figure::interval(record)];
    Some(row(fleet, [pair(cpu), pair(rate)].concat()))
}

/// Returns the record of CPU time per session from which this fleet was predicted.
fn rests_on<'a>(lookup: Lookup<'a>, fleet: &Subject) -> Option<&'a Record> {
    let is_cpu = |record: &&Record| {
        record.quantity == word::SERVER_CPU_NS_PER_SESSION
            && record.unit == Unit::Nanos
            && matches!(record.subject.topic(), Topic::Server(_))
            && record.subject.topic().service() == fleet.topic().service()
            && record.subject.parameters().eq(fleet.parameters())
    };
    lookup.0.iter().filter(is_cpu).min_by_key(|record| Origin::of(record))
}
