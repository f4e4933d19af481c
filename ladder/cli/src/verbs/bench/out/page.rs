//! `report.html`: verdicts, figures and pictures of the runs.

use tollgate_load::Point;
use tollgate_report::chart::{Plane, Series};
use tollgate_report::html::{Runs, Scenario, of_runs};

use super::{About, Finished, Judged, unwrapped};
use crate::cells::{distinct, float};
use crate::verbs::bench::search::Found;

/// The colours of Tollgate, of other servers, and of what was lost.
const BLUE: usize = 0;
const OTHERS: [usize; 3] = [4, 2, 3];
const LOST: usize = 1;

pub(super) fn of(
    about: &About<'_>,
    runs: &[Finished],
    judged: &[Judged<'_>],
    is_complete: bool,
) -> String {
    let mut labels: Vec<&str> = runs.iter().map(|run| run.scenario.as_str()).collect();
    labels.dedup();
    let scenario = |label: &str| {
        let of_label: Vec<&Finished> = runs.iter().filter(|run| run.scenario == label).collect();
        let end = judged.iter().find(|judged| judged.label == label);
        let found = end.and_then(|end| end.found);
        let lines = end.map_or(&[][..], |end| &end.lines);
        Scenario {
            name: label.to_owned(),
            verdict: end.map(|end| end.verdict.clone()).unwrap_or_default(),
            // the first line is the verdict
            lines: lines.iter().skip(1).cloned().collect(),
            records: end.map_or(&[][..], |end| end.records).to_vec(),
            charts: found.map(times_by_load).into_iter().chain([rates(&of_label)]).collect(),
        }
    };
    of_runs(&Runs {
        about: unwrapped(about.heading),
        is_complete,
        notes: unwrapped(about.notes),
        scenarios: labels.into_iter().map(scenario).collect(),
    })
}

/// Draws the rates of each run, at the time at which it took place, and what was lost.
fn rates(runs: &[&Finished]) -> Plane {
    let start = runs.iter().map(|run| run.began_at).min().unwrap_or_default();
    let names = distinct(runs.iter().map(|run| run.document.server.as_str()));
    let mut series = Vec::new();
    for (place, server) in names.into_iter().enumerate() {
        let of_server = || runs.iter().filter(|run| run.document.server == server);
        let mut add = |name: &str, colour, count: fn(&Point) -> u64| {
            for (number, run) in of_server().enumerate() {
                let begun = run.began_at.duration_since(start).as_secs_f64();
                let step = |point: &Point| {
                    let (from, per_s) = (begun + point.from_s, float(count(point)) / point.width_s);
                    [(from, per_s), (from + point.width_s, per_s)]
                };
                let name = if number == 0 { name.to_owned() } else { String::new() };
                let points = run.document.series.iter().flat_map(step).collect();
                series.push(Series { name, points, colour, is_dashed: false });
            }
        };
        let is_ours = server.contains("tollgate");
        let colour = if is_ours { BLUE } else { OTHERS[place % OTHERS.len()] };
        add(server, colour, |point| point.transactions);
        if of_server().flat_map(|run| &run.document.series).any(|point| lost(point) > 0) {
            add(&format!("{server}: failed or not begun"), LOST, lost);
        }
    }
    Plane {
        title: "Sessions per second, with warm-up".to_owned(),
        axes: ["seconds since the first run began", "per second"].map(str::to_owned),
        series,
        is_from_zero: true,
    }
}

const fn lost(point: &Point) -> u64 {
    point.failed + point.timed_out + point.dropped
}

/// Draws the steps of a search, and the limit of its objective.
fn times_by_load(found: &Found) -> Plane {
    let objective = found.curve.objective;
    let line = |(place, (name, points)): (usize, (String, Vec<(f64, f64)>))| Series {
        name,
        points: points.into_iter().map(|(rate, ns)| (rate, ns / 1e6)).collect(),
        colour: if place == 0 { OTHERS[0] } else { BLUE },
        is_dashed: false,
    };
    let mut series: Vec<Series> = found.lines().into_iter().enumerate().map(line).collect();
    let rates = || series.iter().flat_map(|series| &series.points).map(|point| point.0);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let limit_ms = 1e3 * objective.limit().as_secs_f64();
    series.push(Series {
        name: format!("the limit, {objective}"),
        points: vec![(least, limit_ms), (most, limit_ms)],
        colour: LOST,
        is_dashed: true,
    });
    Plane {
        title: "Times by load, open loop".to_owned(),
        axes: ["arrivals per second", "ms"].map(str::to_owned),
        series,
        is_from_zero: false,
    }
}
