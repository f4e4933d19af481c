//! Response time under load: the share of sessions that wait, their wait, and the response time.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Unit};

use super::find::{Curve, Point, curves};
use super::{conditions, row};
use crate::figure::{self, percent};
use crate::grid::{Column, fitting};
use crate::lookup::MISSING;
use crate::table::{Row, Table};

const COLUMNS: [Column; 7] = fitting([
    Column::words("response time", 38),
    Column::figures("load", 5),
    Column::figures("sess/s", 6),
    Column::figures("wait", 5),
    Column::figures("mean wait", 9),
    Column::figures("mean", 7),
    Column::figures("p99", 7),
]);

pub(super) fn table(records: &[Record]) -> Table {
    let curves = curves(records);
    let mut note = "load: the share of the time in which the cores are busy; wait: the share of \
                    sessions that find no core free, and the mean wait of all sessions; mean, p99: \
                    from arrival to the last byte, without network and client; random arrivals"
        .to_owned();
    for model in models(&curves) {
        note += "; ";
        note += model;
    }
    let varied = conditions(means(&curves), word::SCV);
    if !varied.is_empty() {
        let varied: Vec<String> = varied.into_iter().map(rounded).collect();
        note += &format!("; squared coefficient of variation {}", varied.join(" or "));
    }
    let rows = curves.iter().flat_map(|curve| curve.points.iter().map(|at| point(curve, at)));
    Table { columns: COLUMNS.into(), rows: rows.collect(), notes: vec![note] }
}

/// Returns a number with at most three decimals.
fn rounded(text: &str) -> String {
    let number = text.parse::<f64>().map(|number| (1e3 * number).round() / 1e3);
    number.map_or_else(|_| text.to_owned(), |number| number.to_string())
}

/// Returns the queueing models that the records name.
fn models<'a>(curves: &[Curve<'a>]) -> Vec<&'a str> {
    conditions(means(curves), word::MODEL)
}

fn means<'a>(curves: &[Curve<'a>]) -> impl Iterator<Item = &'a Record> {
    curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.mean))
}

fn point(curve: &Curve<'_>, at: &Point<'_>) -> Row {
    let waits = at.waits.map(|share| percent(share.estimate.point(), 1.0));
    let figures = vec![
        percent(at.load, 1.0),
        figure::optional(curve.rate(at.load), Unit::PerSecond),
        waits.unwrap_or_else(|| MISSING.to_owned()),
        figure::of(at.wait),
        figure::of(Some(at.mean)),
        figure::of(at.p99),
    ];
    let mut row = row(&curve.subject, figures);
    row.names[0] += &format!(", {} cores", curve.cores);
    row
}
