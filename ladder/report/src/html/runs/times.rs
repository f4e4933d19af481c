//! Times by quantile.

use maud::{Markup, html};
use tollgate_record::Unit;

use super::{Points, Server, class};
use crate::html::plot::{Line, Names, Plot};
use crate::html::scale::Scale;
use crate::names;

/// Quantiles with a tick. The axis ends at the last recorded quantile.
const TICKS: [(f64, &str); 6] = [
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
];

/// The horizontal position of a quantile. The distances from 0.9 to 0.99 and from 0.99 to 0.999 are
/// equal.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile.clamp(0.0, 0.999_999)).log10()
}

/// Draws the chart; empty without times.
pub(super) fn chart(what: &str, servers: &[Server], times: fn(&Server) -> &Points) -> Markup {
    let points = || servers.iter().flat_map(times);
    let furthest = points().map(|point| nines(point.0)).fold(0.0, f64::max);
    if furthest <= 0.0 {
        return html! {};
    }
    let y = Scale::of(points().map(|point| point.1));
    let at = |point: &(f64, f64)| (100.0 * nines(point.0) / furthest, y.at(point.1));
    let line = |(place, server): (usize, &Server)| Line {
        name: names::who(&server.name).to_owned(),
        class: class(place, &server.name),
        strokes: vec![times(server).iter().map(at).collect()],
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
