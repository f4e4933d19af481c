//! The charts of runs: rates over time, times by quantile, and times by arrival rate.

use maud::{Markup, html};
use tollgate_record::Unit;

use super::{Curve, Points, Second, Server, class};
use crate::html::plot::{Line, Names, Plot};
use crate::html::scale::Scale;
use crate::names;

/// The top of the chart, as a multiple of the limit.
const TIMES: f64 = 3.0;

/// CSS classes of the lines, alternating.
const CLASSES: [&str; 2] = ["line-library", "line-ours"];

/// Quantiles with a tick. The axis ends at the last recorded quantile.
const TICKS: [(f64, &str); 6] = [
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
];

/// Draws transactions per second over time, each run at the time at which it took place. The chart
/// is empty if no second was measured.
pub(super) fn rates(servers: &[Server]) -> Markup {
    let seconds = || servers.iter().flat_map(|server| server.runs.iter().flatten());
    let Some(end) = seconds().map(|second| second.from_s + second.width_s).reduce(f64::max) else {
        return html! {};
    };
    let start = seconds().map(|second| second.from_s).fold(f64::INFINITY, f64::min);
    let lost = |server: &&Server| server.runs.iter().flatten().any(|s| s.lost_per_s > 0.0);
    let x = Scale::of([end - start]);
    let y = Scale::of(seconds().flat_map(|second| [second.completed_per_s, second.lost_per_s]));
    let line = |name: String, class, server: &Server, of: fn(&Second) -> f64| {
        let stroke = |run: &Vec<Second>| {
            let step = |second: &Second| {
                let up = y.at(of(second));
                let from = second.from_s - start;
                [(x.at(from), up), (x.at(from + second.width_s), up)]
            };
            run.iter().flat_map(step).collect()
        };
        Line { name, class, strokes: server.runs.iter().map(stroke).collect() }
    };
    let rates = servers.iter().enumerate().map(|(place, server)| {
        let class = class(place, &server.name);
        line(names::who(&server.name).to_owned(), class, server, |second| second.completed_per_s)
    });
    let losses = servers.iter().filter(lost).map(|server| {
        let name = format!("{}: failed, given up or never begun", names::who(&server.name));
        line(name, "line-lost", server, |second| second.lost_per_s)
    });
    let plot = Plot {
        caption: html! { "Sessions per second" },
        label: "sessions per second over time".to_owned(),
        x: x.ticks_in(Unit::Count, " s"),
        y: y.ticks(Unit::PerSecond),
        lines: rates.chain(losses).collect(),
        names: Names::Above,
        note: html! {
            "Across: seconds since the first run began; each run is a line of its own, and begins \
             with its warm-up, which makes no figure. Up: sessions completed in that second."
        },
    };
    plot.markup()
}

/// Returns the horizontal position of a quantile. The distances from 0.9 to 0.99 and from 0.99 to
/// 0.999 are equal.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile.clamp(0.0, 0.999_999)).log10()
}

/// Draws times by quantile. The chart is empty if there are no times.
pub(super) fn times(what: &str, servers: &[Server], of: fn(&Server) -> &Points) -> Markup {
    let points = || servers.iter().flat_map(of);
    let furthest = points().map(|point| nines(point.0)).fold(0.0, f64::max);
    if furthest <= 0.0 {
        return html! {};
    }
    let y = Scale::of(points().map(|point| point.1));
    let at = |point: &(f64, f64)| (100.0 * nines(point.0) / furthest, y.at(point.1));
    let line = |(place, server): (usize, &Server)| Line {
        name: names::who(&server.name).to_owned(),
        class: class(place, &server.name),
        strokes: vec![of(server).iter().map(at).collect()],
    };
    let reached = TICKS.into_iter().map(|(q, label)| (100.0 * nines(q) / furthest, label));
    let reached = reached.filter(|tick| tick.0 <= 100.001);
    let plot = Plot {
        caption: html! { "Time of " (what) },
        label: format!("time of {what} by quantile"),
        x: reached.map(|(at, label)| (at.min(100.0), label.to_owned())).collect(),
        y: y.ticks(Unit::Nanos),
        lines: servers.iter().enumerate().map(line).collect(),
        names: Names::Above,
        note: html! {
            "Across: the share that took no longer, in percent. Up: the time, of all runs of the \
             part that counts."
        },
    };
    plot.markup()
}

/// Draws times by arrival rate: the steps of a search, and the limit of its objective. The
/// chart is empty if there are no points.
pub(super) fn curve(curve: &Curve) -> Markup {
    let points = || curve.lines.iter().flat_map(|(_, points)| points);
    let longest = points().map(|point| point.1).fold(0.0, f64::max);
    if longest <= 0.0 {
        return html! {};
    }
    let x = Scale::of(points().map(|point| point.0));
    let y = Scale::of([longest.min(TIMES * curve.limit_ns).max(curve.limit_ns)]);
    let up = |ns: f64| 100.0 * ns / y.top();
    let limit = Line {
        name: format!("the limit, {}", curve.objective),
        class: "line-lost",
        strokes: vec![vec![(0.0, up(curve.limit_ns)), (100.0, up(curve.limit_ns))]],
    };
    let line = |((name, points), class): (&(String, Points), &'static str)| Line {
        name: name.clone(),
        class,
        strokes: vec![points.iter().map(|&(rate, ns)| (x.at(rate), up(ns))).collect()],
    };
    let classes = CLASSES.into_iter().cycle();
    let plot = Plot {
        caption: html! { "Times by load" },
        label: "times by arrivals per second".to_owned(),
        x: x.ticks_in(Unit::PerSecond, "/s"),
        y: y.ticks(Unit::Nanos),
        lines: curve.lines.iter().zip(classes).map(line).chain([limit]).collect(),
        names: Names::Above,
        note: html! {
            "Across: arrivals per second of an open loop. Up: the time from the intended start, \
             waiting included; lines that leave the chart at the top have longer times, or no end."
        },
    };
    plot.markup()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nine_takes_as_much_room_as_the_one_before() {
        let at = [0.0, 0.9, 0.99, 0.999].map(nines);
        assert!(at.iter().zip([0.0, 1.0, 2.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-9), "{at:?}");
        assert!(nines(1.0).is_finite());
    }
}
