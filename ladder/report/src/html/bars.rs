//! Horizontal bars as a table: a label, the bar, the figure.
//!
//! Each bar is a separate SVG with lengths in percent. The bar is as wide as the page allows, and
//! text keeps its size.

use maud::{Markup, html};
use tollgate_record::{Record, Unit};

use super::scale::{Scale, percent};
use crate::cite::Citation;
use crate::figure::number;

/// The smallest width of a segment with a visible name, in percent of the axis.
const NAMED_MIN: f64 = 14.0;

/// A row of the table.
#[derive(Default)]
pub(super) struct Bar {
    pub(super) label: String,
    /// Small text below the label.
    pub(super) note: String,
    pub(super) segments: Vec<Segment>,
    /// The place of a mark across the bar: the measured value, if the bar is a prediction.
    pub(super) mark: Option<f64>,
    /// The 95 % interval.
    pub(super) interval: Option<(f64, f64)>,
    pub(super) figure: String,
    /// Small text below the figure; may have several lines.
    pub(super) remark: String,
}

/// A segment of a bar.
pub(super) struct Segment {
    pub(super) value: f64,
    /// The CSS class that sets its colour.
    pub(super) class: &'static str,
    /// The tooltip of the segment.
    pub(super) name: String,
}

impl Bar {
    /// Creates a bar of one segment.
    pub(super) fn plain(
        label: impl Into<String>,
        class: &'static str,
        value: f64,
        unit: Unit,
    ) -> Self {
        let label = label.into();
        let segments = vec![Segment { value, class, name: label.clone() }];
        Self { label, segments, figure: number(value, unit), ..Self::default() }
    }

    /// Returns the bar of a record.
    pub(super) fn of(record: &Record, label: impl Into<String>, class: &'static str) -> Self {
        Self::plain(label, class, record.estimate.point(), record.unit)
    }

    /// Returns the bar of a published record, named by its citation.
    pub(super) fn published(record: &Record) -> Self {
        let cited = Citation::of(record).map_or_else(String::new, |cited| cited.to_string());
        Self::of(record, cited, "published")
    }

    fn length(&self) -> f64 {
        self.segments.iter().map(|segment| segment.value.max(0.0)).sum()
    }

    /// Returns the largest value that the axis must include.
    fn reach(&self) -> f64 {
        let ends = [Some(self.length()), self.mark, self.interval.map(|(_, high)| high)];
        ends.into_iter().flatten().filter(|end| end.is_finite()).fold(0.0, f64::max)
    }
}

/// Bars under a heading; the heading may be empty.
pub(super) struct Group {
    pub(super) heading: String,
    pub(super) bars: Vec<Bar>,
}

/// Returns a table of bars on one scale, with an axis. `unit_name` is printed above the figures.
pub(super) fn bars(caption: &str, groups: &[Group], unit: Unit, unit_name: &str) -> Markup {
    let scale = Scale::of(groups.iter().flat_map(|group| &group.bars).map(Bar::reach));
    html! {
        table.bars {
            @if !caption.is_empty() { caption { (caption) } }
            thead {
                tr {
                    td {}
                    td.axis { (axis(&scale, unit)) }
                    th scope="col" { (unit_name) }
                }
            }
            @for group in groups {
                tbody {
                    @if !group.heading.is_empty() {
                        tr.group { th colspan="3" scope="rowgroup" { (group.heading) } }
                    }
                    @for bar in &group.bars { (row(bar, &scale, unit)) }
                }
            }
        }
    }
}

fn axis(scale: &Scale, unit: Unit) -> Markup {
    let ticks = scale.ticks(unit);
    let last = ticks.len() - 1;
    html! {
        svg width="100%" height="18" aria-hidden="true" {
            @for (place, (at, label)) in ticks.iter().enumerate() {
                @let anchor = match place { 0 => "start", p if p == last => "end", _ => "middle" };
                // Label only every second of many ticks: a phone has no space for more labels.
                @if last < 4 || place % 2 == 0 {
                    text.tick x=(percent(*at)) y="13" text-anchor=(anchor) { (label) }
                }
            }
        }
    }
}

fn row(bar: &Bar, scale: &Scale, unit: Unit) -> Markup {
    html! {
        tr {
            th scope="row" {
                (bar.label)
                @if !bar.note.is_empty() { small { (bar.note) } }
            }
            td { (drawn(bar, scale, unit)) }
            td.figure {
                (bar.figure)
                @for line in bar.remark.lines() { small { (line) } }
            }
        }
    }
}

fn drawn(bar: &Bar, scale: &Scale, unit: Unit) -> Markup {
    let mut from = 0.0;
    let mut pieces = Vec::new();
    for segment in &bar.segments {
        let value = segment.value.max(0.0);
        let (x, end) = (scale.at(from), scale.at(from + value));
        pieces.push((x, (end - x).max(0.0), segment));
        from += value;
    }
    html! {
        svg.bar width="100%" height="26" role="img"
            aria-label={ (bar.label) " " (bar.note) ": " (bar.figure) }
        {
            @for (at, _) in scale.ticks(unit) {
                line.grid x1=(percent(at)) x2=(percent(at)) y1="0" y2="26" {}
            }
            @for (x, width, segment) in &pieces {
                rect class=(segment.class) x=(percent(*x)) width=(percent(*width)) y="4"
                    height="18"
                {
                    title { (segment.name) }
                }
            }
            @if pieces.len() > 2 {
                @for (x, width, segment) in pieces.iter().filter(|piece| piece.1 >= NAMED_MIN) {
                    text.named x=(percent(x + width / 2.0)) y="17" text-anchor="middle" {
                        (segment.name)
                    }
                }
            }
            @if let Some((low, high)) = bar.interval {
                line.whisker x1=(percent(scale.at(low))) x2=(percent(scale.at(high)))
                    y1="13" y2="13" {}
                @for end in [low, high] {
                    line.whisker x1=(percent(scale.at(end))) x2=(percent(scale.at(end)))
                        y1="9" y2="17" {}
                }
            }
            @if let Some(mark) = bar.mark {
                line.mark x1=(percent(scale.at(mark))) x2=(percent(scale.at(mark)))
                    y1="1" y2="25" {}
            }
        }
    }
}

/// Returns a legend: CSS classes and their names.
pub(super) fn legend(entries: &[(&'static str, String)]) -> Markup {
    html! {
        ul.legend {
            @for (class, name) in entries {
                li {
                    svg width="14" height="14" aria-hidden="true" {
                        rect class=(class) width="14" height="14" {}
                    }
                    (name)
                }
            }
        }
    }
}

/// Returns the CSS class of an engine's bars.
pub(super) fn colour(by: &str, is_batch: bool) -> &'static str {
    match (by, is_batch) {
        ("tollgate", true) => "ours-batch",
        ("tollgate", false) => "ours",
        ("openssl", _) => "library",
        _ => "library-other",
    }
}
