//! Line charts with two axes. A chart is as wide as the page allows, and text keeps its size.

use maud::{Markup, html};

use super::scale::percent;
use crate::text::cut;

/// Height of the plane in pixels.
const HEIGHT: f64 = 240.0;

/// Maximum number of characters of a line's name, which is drawn next to the line's end.
const NAME_MAX: usize = 12;

/// A line chart.
pub(super) struct Plot {
    pub(super) caption: Markup,
    /// The text alternative.
    pub(super) label: String,
    /// The ticks of both axes: positions in percent, and labels.
    pub(super) x: Vec<(f64, String)>,
    pub(super) y: Vec<(f64, String)>,
    pub(super) lines: Vec<Line>,
    pub(super) names: Names,
    pub(super) note: Markup,
}

/// The place for the names of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Next to the ends of the lines. Suitable if the ends are far enough apart.
    AtEnds,
    /// Above the chart.
    Above,
}

/// A line, which may have gaps: it consists of strokes.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) class: &'static str,
    /// Coordinates in percent, from the left and from the bottom. The part above the chart is cut
    /// off.
    pub(super) strokes: Vec<Vec<(f64, f64)>>,
}

impl Plot {
    pub(super) fn markup(&self) -> Markup {
        html! {
            figure.curves {
                figcaption { (self.caption) }
                @if self.names == Names::Above { (legend(&self.lines)) }
                div.plot {
                    div.y-axis { (self.y_axis()) }
                    svg.area width="100%" height=(HEIGHT) role="img" aria-label=(self.label) {
                        (self.grid())
                        svg width="100%" height="100%" viewBox="0 0 100 100"
                            preserveAspectRatio="none"
                        {
                            @for line in &self.lines {
                                @for stroke in &line.strokes {
                                    polyline class=(line.class) points=(path(stroke)) {}
                                }
                            }
                        }
                        @if self.names == Names::AtEnds {
                            @for (place, line) in self.lines.iter().enumerate() {
                                (line.name_at(place))
                            }
                        }
                    }
                    div.x-axis { (self.x_axis()) }
                }
                p.note { (self.note) }
            }
        }
    }

    fn grid(&self) -> Markup {
        html! {
            @for (at, _) in &self.y {
                line.grid x1="0" x2="100%" y1=(percent(100.0 - at)) y2=(percent(100.0 - at)) {}
            }
            @for (at, _) in &self.x {
                line.grid x1=(percent(*at)) x2=(percent(*at)) y1="0" y2="100%" {}
            }
        }
    }

    fn y_axis(&self) -> Markup {
        html! {
            svg width="100%" height=(HEIGHT) aria-hidden="true" {
                @for (at, label) in &self.y {
                    // Shift the labels at the two ends, to keep them inside the chart.
                    @let shift = if *at <= 0.0 { -1 } else if *at >= 100.0 { 11 } else { 4 };
                    text.tick x="100%" dx="-6" y=(percent(100.0 - at)) dy=(shift)
                        text-anchor="end"
                    {
                        (label)
                    }
                }
            }
        }
    }

    fn x_axis(&self) -> Markup {
        html! {
            svg width="100%" height="18" aria-hidden="true" {
                @for (at, label) in &self.x {
                    // Centre a label on its tick, unless the tick is so near an end that half of
                    // the label would be outside the chart.
                    @let anchor = if *at <= 3.0 { "start" } else if *at >= 94.0 { "end" }
                        else { "middle" };
                    text.tick x=(percent(*at)) y="13" text-anchor=(anchor) { (label) }
                }
            }
        }
    }
}

/// Returns a path with coordinates in percent. The part above the chart is cut off.
fn path(stroke: &[(f64, f64)]) -> String {
    let at = |(x, y): &(f64, f64)| format!("{x:.2},{:.2}", 100.0 - y.clamp(0.0, 400.0));
    stroke.iter().map(at).collect::<Vec<_>>().join(" ")
}

fn legend(lines: &[Line]) -> Markup {
    html! {
        ul.legend {
            @for line in lines {
                li {
                    svg width="28" height="14" aria-hidden="true" {
                        polyline class=(line.class) points="1,7 27,7" {}
                    }
                    (line.name)
                }
            }
        }
    }
}

impl Line {
    /// Places the name at the end of the line. If the line leaves the chart at the top, names are
    /// placed below one another: the first on the left of its line, the others on the right, where
    /// there is space.
    fn name_at(&self, place: usize) -> Markup {
        let points = || self.strokes.iter().flatten();
        let end = points().next_back();
        let last = points().rfind(|point| point.1 <= 100.0).or(end).copied();
        let (at, up) = last.unwrap_or((0.0, 0.0));
        let leaves = end.is_some_and(|point| point.1 > 100.0);
        let row = f64::from(u32::try_from(place).unwrap_or(0));
        let down = if leaves { 20.0 + 18.0 * row } else { HEIGHT * (1.0 - up.min(100.0) / 100.0) };
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
