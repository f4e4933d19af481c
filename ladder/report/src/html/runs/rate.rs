//! Transactions per second over time. Each run is drawn at the time at which it took place.

use maud::{Markup, html};
use tollgate_record::Unit;

use super::{Second, Server, class};
use crate::html::plot::{Line, Names, Plot};
use crate::html::scale::Scale;
use crate::names;

/// Draws the chart; empty without a measured second.
pub(super) fn chart(servers: &[Server]) -> Markup {
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
    let mut across = x.ticks(Unit::Count);
    if let Some((_, label)) = across.last_mut() {
        *label += " s";
    }
    let plot = Plot {
        caption: html! { "Sessions per second" },
        label: "sessions per second over time".to_owned(),
        x: across,
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
