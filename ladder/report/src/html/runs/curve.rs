//! Times by arrival rate: the steps of a search, and the limit of its objective.

use maud::{Markup, html};
use tollgate_record::Unit;

use super::{Curve, Points};
use crate::html::plot::{Line, Names, Plot};
use crate::html::scale::Scale;

/// The top of the chart, as a multiple of the limit.
const TIMES: f64 = 3.0;

/// CSS classes of the lines, alternating.
const CLASSES: [&str; 2] = ["line-library", "line-ours"];

/// Draws the chart; empty without points.
pub(super) fn chart(curve: &Curve) -> Markup {
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
    let mut across = x.ticks(Unit::PerSecond);
    if let Some((_, label)) = across.last_mut() {
        *label += "/s";
    }
    let classes = CLASSES.into_iter().cycle();
    let plot = Plot {
        caption: html! { "Times by load" },
        label: "times by arrivals per second".to_owned(),
        x: across,
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
