//! The table of predicted cores for each demand, with intervals. A demand is a saturated link, or
//! sessions per second.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use super::find::{demand, demands, sized, sizes};
use super::{conditions, row};
use crate::figure::{self, percent};
use crate::grid::{Column, fitting};
use crate::lookup::Origin::{self, Predicted};
use crate::lookup::{Lookup, MISSING};
use crate::table::Table;

const COLUMNS: [Column; 7] = fitting([
    Column::words("cores for a demand", 38),
    Column::figures("demand", 8),
    Column::figures("cores", 6),
    Column::figures("95 % interval", 13),
    Column::figures("whole", 6),
    Column::figures("machines", 8),
    Column::figures("left", 9),
]);

pub(super) fn table(records: &[Record]) -> Table {
    let lookup = Lookup(records);
    let mut rows = Vec::new();
    let predicted = sizes(records).into_iter().filter(|(origin, _)| *origin == Predicted);
    for (_, fleet) in predicted {
        for at in demands(lookup, Predicted, &fleet) {
            rows.push(row(&fleet, figures(lookup, at)));
        }
    }
    let is_predicted = |record: &&Record| Origin::new(record) == Predicted;
    let busy: Vec<String> = conditions(sized(lookup).filter(is_predicted), word::UTILISATION)
        .iter()
        .filter_map(|share| share.parse::<f64>().ok())
        .map(|share| percent(share, 1.0))
        .collect();
    let busy = match busy.as_slice() {
        [] => String::new(),
        shares => format!(", each busy for at most {} of the time", shares.join(" or ")),
    };
    let note = format!(
        "cores: the number needed for a link full of payload, or for this number of sessions per \
         second{busy}; whole: rounded up; left: cores of the last machine for the application"
    );
    Table { columns: COLUMNS.into(), rows, notes: vec![note] }
}

fn figures(lookup: Lookup<'_>, at: &Subject) -> Vec<String> {
    let record = |quantity| lookup.record(Predicted, at, quantity, Unit::Count);
    let cores = record(word::CORES);
    let left = record(word::CORES_LEFT);
    let of = left.and_then(|left| left.conditions.get(word::CORES_PER_MACHINE));
    let of = of.map_or_else(String::new, |cores| format!(" of {cores}"));
    vec![
        demand(at).unwrap_or_else(|| MISSING.to_owned()),
        figure::of(cores),
        figure::interval(cores),
        figure::of(record(word::WHOLE_CORES)),
        figure::of(record(word::MACHINES)),
        figure::of(left) + &of,
    ]
}
