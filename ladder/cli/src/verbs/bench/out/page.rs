//! `report.html`: verdicts, figures and pictures of the runs.

use tollgate_load::{Latency, Point};
use tollgate_record::Timestamp;
use tollgate_report::html::{Curve, Runs, Scenario, Second, Server, of_runs};

use super::{About, Finished, Judged, unwrapped};
use crate::cells::{distinct, float};
use crate::verbs::bench::search::Found;

/// The number of points of a curve between two quantiles that differ by one nine, such as 0.9 and
/// 0.99.
const POINTS_PER_NINE: u32 = 20;

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
            servers: servers(&of_label, found.is_none()),
            curve: found.map(curve),
        }
    };
    of_runs(&Runs {
        about: unwrapped(about.heading),
        is_complete,
        notes: unwrapped(about.notes),
        scenarios: labels.into_iter().map(scenario).collect(),
    })
}

/// Returns the runs and times of each server. Times are left out unless `with_times` is true,
/// because the times of runs at different rates cannot be combined.
fn servers(runs: &[&Finished], with_times: bool) -> Vec<Server> {
    let Some(start) = runs.iter().map(|run| run.began_at).min() else { return Vec::new() };
    let names = distinct(runs.iter().map(|run| run.document.server.as_str()));
    let server = |name: &str| {
        let of_server = || runs.iter().filter(|run| run.document.server == name);
        let times = |which: usize| {
            let all = of_server().filter_map(|run| Some(&run.times.as_ref()?[which]));
            Latency::sum(all).filter(|_| with_times).map(|sum| quantiles(&sum)).unwrap_or_default()
        };
        Server {
            name: name.to_owned(),
            runs: of_server().map(|run| seconds(run, start)).collect(),
            transaction: times(0),
            handshake: times(1),
        }
    };
    names.into_iter().map(server).collect()
}

fn seconds(run: &Finished, start: Timestamp) -> Vec<Second> {
    let begun = run.began_at.duration_since(start).as_secs_f64();
    let second = |point: &Point| {
        let per_s = |count: u64| float(count) / point.width_s;
        Second {
            from_s: begun + point.from_s,
            width_s: point.width_s,
            completed_per_s: per_s(point.transactions),
            lost_per_s: per_s(point.failed + point.timed_out + point.dropped),
        }
    };
    run.document.series.iter().map(second).collect()
}

/// Returns the quantiles that can be read from this number of measured times: up to 0.999 from a
/// thousand measured times.
fn quantiles(times: &Latency) -> Vec<(f64, f64)> {
    let furthest = float(times.count().max(1)).log10();
    let point = |step: u32| {
        let nines = f64::from(step) / f64::from(POINTS_PER_NINE);
        let quantile = 1.0 - 10f64.powf(-nines);
        let ns = float(times.quantile_ns(quantile)?);
        (nines <= furthest).then_some((quantile, ns))
    };
    (0..=6 * POINTS_PER_NINE).map_while(point).collect()
}

fn curve(found: &Found) -> Curve {
    let objective = found.curve.objective;
    #[allow(clippy::cast_precision_loss, reason = "limits are below a day: 10^14 ns")]
    let limit_ns = objective.limit().as_nanos() as f64;
    Curve { objective: objective.to_string(), limit_ns, lines: found.lines() }
}
