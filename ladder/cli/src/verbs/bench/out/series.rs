//! `series.csv`: each run second by second.

use tollgate_load::{Outcome, Point};

use super::Run;
use super::csv::row;

pub(super) const HEADING: [&str; 14] = [
    "sitting",
    "server",
    "run",
    "verdict",
    "from_s",
    "width_s",
    "stage",
    "begun",
    "completed",
    "failed",
    "gave_up",
    "never_began",
    "p50_ns",
    "p99_ns",
];

/// A row for each second; missing times are empty.
pub(super) fn rows(run: &Run, outcome: &Outcome) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
    let of = |point: &Point| {
        row([
            run.scenario.clone(),
            run.server.clone(),
            run.number.to_string(),
            outcome.verdict().word().to_owned(),
            format!("{:.3}", point.from.as_secs_f64()),
            format!("{:.3}", point.width.as_secs_f64()),
            point.stage.to_string(),
            point.attempts.to_string(),
            point.transactions.to_string(),
            point.failed.to_string(),
            point.timed_out.to_string(),
            point.dropped.to_string(),
            time(point.p50_ns),
            time(point.p99_ns),
        ])
    };
    outcome.series().iter().map(of).collect()
}
