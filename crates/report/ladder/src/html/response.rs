//! Response time against load, as a curve.

use maud::{Markup, html};
use tollgate_record::Unit;

use super::scale::{Scale, percent};
use crate::fleet::find::Curve;
use crate::fleet::{models, suite};
use crate::names;
use crate::text::cut;
use tollgate_record::vocabulary::BY;

/// Height of the plot in pixels.
const HEIGHT: f64 = 240.0;

/// The plot ends at so many times the shortest response time: what is above is a queue that grows.
const TIMES: f64 = 8.0;

/// The most characters of a curve's name.
const NAME_MAX: usize = 12;

/// Curves that are told apart.
const CURVES_MAX: usize = 4;

/// Mean response time over sessions per second; nothing without a curve that has both.
pub(super) fn chart(curves: &[Curve<'_>]) -> Markup {
    // One protocol: its engines are what is compared.
    let path = curves.first().map(|curve| curve.subject.path());
    let of_path = curves.iter().filter(|curve| Some(curve.subject.path()) == path);
    let mut lines: Vec<Line> = of_path.filter_map(Line::of).take(CURVES_MAX).collect();
    let end = |line: &Line| line.points.last().map_or(0.0, |point| point.0);
    lines.sort_by(|one, other| end(one).total_cmp(&end(other)));
    let Some(least) = lines.iter().map(|line| line.points[0].1).reduce(f64::min) else {
        return html! {};
    };
    let times = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let y = Scale::of([times.fold(0.0, f64::max).min(TIMES * least)]);
    let x = Scale::of(lines.iter().flat_map(|line| &line.points).map(|point| point.0));
    html! {
        figure.curves {
            figcaption { "Mean response time against load, " (suite(&curves[0].subject)) }
            div.plot {
                div.y-axis { (y_axis(&y)) }
                svg.area width="100%" height=(HEIGHT) role="img"
                    aria-label="mean response time over sessions per second"
                {
                    (grid(&x, &y))
                    svg width="100%" height="100%" viewBox="0 0 100 100"
                        preserveAspectRatio="none"
                    {
                        @for line in &lines {
                            polyline class=(line.class) points=(line.path(&x, &y)) {}
                        }
                    }
                    @for (place, line) in lines.iter().enumerate() { (line.name_at(place, &x, &y)) }
                }
                div.x-axis { (x_axis(&x)) }
            }
            p.note {
                "Across: sessions per second that arrive at " (curves[0].cores) " cores. Up: mean \
                 time from arrival to the last byte, in a queue before the cores; "
                (model(curves)) "."
            }
        }
    }
}

/// What the records say the queue is.
fn model(curves: &[Curve<'_>]) -> String {
    match models(curves).as_slice() {
        [] => "model unknown".to_owned(),
        models => models.join("; "),
    }
}

/// One curve: sessions per second, nanoseconds.
struct Line {
    name: String,
    class: &'static str,
    points: Vec<(f64, f64)>,
}

impl Line {
    /// None without points.
    fn of(curve: &Curve<'_>) -> Option<Self> {
        let points: Vec<(f64, f64)> = curve
            .points
            .iter()
            .filter_map(|point| Some((curve.rate(point.load)?, point.mean.estimate.point())))
            .filter(|point| point.1 > 0.0)
            .collect();
        let by = curve.subject.parameter(BY).unwrap_or_default();
        let class = match by {
            "tollgate" => "line-ours",
            "openssl" => "line-library",
            _ => "line-other",
        };
        let name = names::who(by).to_owned();
        (!points.is_empty()).then_some(Self { name, class, points })
    }

    /// In percent of the plot; it may leave it at the top, where it is cut.
    fn path(&self, x: &Scale, y: &Scale) -> String {
        let at = |(rate, ns): &(f64, f64)| {
            let up = (100.0 * ns / y.top()).clamp(0.0, 400.0);
            format!("{:.2},{:.2}", x.at(*rate), 100.0 - up)
        };
        self.points.iter().map(at).collect::<Vec<_>>().join(" ")
    }

    /// Its name beside its end. Where lines leave the plot at the top, each name is a line lower
    /// than the one before: the first on its left, the others on their right, where there is room.
    fn name_at(&self, place: usize, x: &Scale, y: &Scale) -> Markup {
        let last = self.points.iter().rfind(|point| point.1 <= y.top());
        let (rate, ns) = last.or(self.points.last()).copied().unwrap_or((0.0, 0.0));
        let leaves = self.points.last().is_some_and(|point| point.1 > y.top());
        let row = f64::from(u32::try_from(place).unwrap_or(0));
        let down = if leaves { 20.0 + 18.0 * row } else { HEIGHT * (1.0 - y.at(ns) / 100.0) };
        let at = x.at(rate);
        let room_left = if place == 0 || !leaves { 30.0 } else { 75.0 };
        let (anchor, shift) = if at > room_left { ("end", -10) } else { ("start", 12) };
        html! {
            text.curve-name x=(percent(at)) dx=(shift) y=(format!("{:.0}", down.max(14.0)))
                text-anchor=(anchor)
            {
                (cut(&self.name, NAME_MAX))
            }
        }
    }
}

fn grid(x: &Scale, y: &Scale) -> Markup {
    html! {
        @for (at, _) in y.ticks(Unit::Nanos) {
            line.grid x1="0" x2="100%" y1=(percent(100.0 - at)) y2=(percent(100.0 - at)) {}
        }
        @for (at, _) in x.ticks(Unit::PerSecond) {
            line.grid x1=(percent(at)) x2=(percent(at)) y1="0" y2="100%" {}
        }
    }
}

fn y_axis(y: &Scale) -> Markup {
    let last = y.ticks(Unit::Nanos).len() - 1;
    html! {
        svg width="100%" height=(HEIGHT) aria-hidden="true" {
            @for (place, (at, label)) in y.ticks(Unit::Nanos).into_iter().enumerate() {
                @let shift = match place { 0 => -1, p if p == last => 11, _ => 4 };
                text.tick x="100%" dx="-6" y=(percent(100.0 - at)) dy=(shift) text-anchor="end" {
                    (label)
                }
            }
        }
    }
}

fn x_axis(x: &Scale) -> Markup {
    let ticks = x.ticks(Unit::PerSecond);
    let last = ticks.len() - 1;
    html! {
        svg width="100%" height="18" aria-hidden="true" {
            @for (place, (at, label)) in ticks.iter().enumerate() {
                @let anchor = match place { 0 => "start", p if p == last => "end", _ => "middle" };
                text.tick x=(percent(*at)) y="13" text-anchor=(anchor) {
                    (label) @if place == last { "/s" }
                }
            }
        }
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
