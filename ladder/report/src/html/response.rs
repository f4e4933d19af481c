//! Response time by load, as a curve.

use maud::{Markup, html};
use tollgate_record::Unit;

use super::plot::{Line, Names, Plot};
use super::scale::Scale;
use crate::fleet::find::Curve;
use crate::fleet::models;
use crate::names;

/// The top of the chart, as a multiple of the shortest response time. Near full load, the response
/// time grows without limit.
const TIMES: f64 = 8.0;

/// Maximum number of curves. More curves would be hard to distinguish.
const CURVES_MAX: usize = 4;

/// Draws the mean response time by sessions per second. Empty if no curve has a point with both
/// figures.
pub(super) fn chart(curves: &[Curve<'_>]) -> Markup {
    // Show one protocol only, to compare its engines.
    let topic = curves.first().map(|curve| curve.subject.topic());
    let of_topic = curves.iter().filter(|curve| Some(curve.subject.topic()) == topic);
    let mut all: Vec<Points> = of_topic.filter_map(Points::of).take(CURVES_MAX).collect();
    let end = |line: &Points| line.points.last().map_or(0.0, |point| point.0);
    all.sort_by(|one, other| end(one).total_cmp(&end(other)));
    let Some(least) = all.iter().map(|line| line.points[0].1).reduce(f64::min) else {
        return html! {};
    };
    let times = all.iter().flat_map(|line| &line.points).map(|point| point.1);
    let y = Scale::of([times.fold(0.0, f64::max).min(TIMES * least)]);
    let x = Scale::of(all.iter().flat_map(|line| &line.points).map(|point| point.0));
    let plot = Plot {
        caption: html! { "Mean response time by load, " (names::service(&curves[0].subject)) },
        label: "mean response time by sessions per second".to_owned(),
        x: x.ticks_in(Unit::PerSecond, "/s"),
        y: y.ticks(Unit::Nanos),
        lines: all.into_iter().map(|line| line.drawn(&x, &y)).collect(),
        names: Names::AtEnds,
        note: html! {
            "Across: sessions per second that arrive at " (curves[0].cores) " cores. Up: mean \
             time from arrival to the last byte, in a queue before the cores; "
            (model(curves)) "."
        },
    };
    plot.markup()
}

/// Returns the queueing model that the records name.
fn model(curves: &[Curve<'_>]) -> String {
    match models(curves).as_slice() {
        [] => "model unknown".to_owned(),
        models => models.join("; "),
    }
}

/// A curve as points: sessions per second and nanoseconds.
struct Points {
    name: String,
    class: &'static str,
    points: Vec<(f64, f64)>,
}

impl Points {
    /// Converts a curve; `None` if it has no points.
    fn of(curve: &Curve<'_>) -> Option<Self> {
        let points: Vec<(f64, f64)> = curve
            .points
            .iter()
            .filter_map(|point| Some((curve.rate(point.load)?, point.mean.estimate.point())))
            .filter(|point| point.1 > 0.0)
            .collect();
        let by = names::by(&curve.subject);
        let class = match by {
            "tollgate" => "line-ours",
            "openssl" => "line-library",
            _ => "line-other",
        };
        let name = names::who(by).to_owned();
        (!points.is_empty()).then_some(Self { name, class, points })
    }

    fn drawn(self, x: &Scale, y: &Scale) -> Line {
        let at = |(rate, ns): &(f64, f64)| (x.at(*rate), 100.0 * ns / y.top());
        let stroke = self.points.iter().map(at).collect();
        Line { name: self.name, class: self.class, strokes: vec![stroke] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_draws_nothing() {
        assert_eq!(chart(&[]).into_string(), "");
    }
}
