//! The six rungs as a ladder, and as a table.

use maud::{Markup, html};
use tollgate_record::Record;

use super::bars::{Bar, Group, Segment, bars, legend};
use super::section::missing;
use super::source;
use crate::cite::Citation;
use crate::figure::{self, number};
use crate::lookup::MISSING;
use crate::rungs::{Figure, Rung, beyond};

pub(super) fn section(records: &[Record], rungs: &[Rung<'_>]) -> Markup {
    let used = rungs.iter().flat_map(|rung| &rung.rows).flat_map(Figure::records);
    html! {
        section id="rung-ladder" {
            h2 { "Six rungs, one machine" }
            p {
                "Read from the bottom: what the processor allows, one call of a kernel, one \
                 signature, one session, a server, a fleet. On each rung the predicted bar comes \
                 from the rung below, the other one was measured; the hatched end is the \
                 remainder, which nothing here explains yet."
            }
            (legend(&[
                ("predicted", "predicted from below".to_owned()),
                ("measured", "measured".to_owned()),
                ("remainder", "remainder".to_owned()),
                ("published", "published".to_owned()),
            ]))
            ol.ladder {
                @for rung in rungs.iter().rev() { (step(rung)) }
            }
            @if let Some(sentence) = beyond(records) { p.beyond { (sentence) } }
            (table(rungs))
            (source::line(used))
        }
    }
}

/// Returns a rung: its representative figures as bars, and its sentences.
fn step(rung: &Rung<'_>) -> Markup {
    html! {
        li {
            div.rung {
                h3 { span.number { (rung.number) } " " (rung.name) }
                p.about { (rung.about) }
                div.bars-of-rung {
                    @if rung.is_known() {
                        (shown(rung))
                    } @else {
                        (missing(rung.verb))
                    }
                }
                div.sentences { @for sentence in &rung.sentences { p { (sentence) } } }
            }
        }
    }
}

/// Returns the bars of the rows that represent the rung. Only rows with the unit of the first row
/// are shown, since all rows share one scale.
fn shown(rung: &Rung<'_>) -> Markup {
    let mut rows = rung.rows.iter().filter(|row| row.is_shown).peekable();
    let Some(first) = rows.peek().copied() else {
        return html! {};
    };
    let rows = rows.filter(|row| row.unit == first.unit && row.unit_name == first.unit_name);
    let groups: Vec<Group> = rows.map(group).collect();
    bars("", &groups, first.unit, &first.unit_name)
}

/// Returns the bars of one figure: predicted and measured. A figure that was not measured also has
/// a bar for its published value.
fn group(row: &Figure<'_>) -> Group {
    let mut drawn = Vec::new();
    if let Some(point) = row.predicted {
        let label = if row.is_bound { "bound" } else { "predicted" };
        drawn.push(Bar::plain(label, "predicted", point, row.unit));
    }
    if let Some(record) = row.measured {
        let point = record.estimate.point();
        let mut bar = Bar {
            label: "measured".to_owned(),
            interval: Some(record.estimate.interval()),
            figure: number(point, row.unit),
            ..Bar::default()
        };
        let left = row.remainder().filter(|left| *left > 0.0 && *left < point);
        let explained = point - left.unwrap_or(0.0);
        let piece = |value, class, name: &str| Segment { value, class, name: name.to_owned() };
        bar.segments.push(piece(explained, "measured", "measured"));
        bar.segments.extend(left.map(|left| piece(left, "remainder", "remainder")));
        if row.predicted.is_some() {
            bar.remark = format!("remainder\n{}", row.remainder_text());
        }
        drawn.push(bar);
    }
    if let Some(record) = row.published.filter(|_| row.measured.is_none()) {
        drawn.push(Bar::published(record));
    }
    Group { heading: row.what.clone(), bars: drawn }
}

/// Returns the table of all figures of all rungs.
fn table(rungs: &[Rung<'_>]) -> Markup {
    html! {
        table.figures {
            caption { "The figures of the ladder" }
            thead {
                tr {
                    th scope="col" { "figure" }
                    th scope="col" { "unit" }
                    @for name in ["predicted", "measured", "remainder", "published"] {
                        th.figure scope="col" { (name) }
                    }
                }
            }
            @for rung in rungs {
                tbody {
                    tr.group { th colspan="6" scope="rowgroup" {
                        (rung.number) " " (rung.name) ": " (rung.about)
                    } }
                    @if !rung.is_known() {
                        tr { td colspan="6" { (missing(rung.verb)) } }
                    }
                    @for row in &rung.rows { (cells(row)) }
                }
            }
        }
    }
}

fn cells(row: &Figure<'_>) -> Markup {
    let cited = row.published.and_then(Citation::of).map(|cited| cited.to_string());
    let remainder = row.remainder_text();
    html! {
        tr {
            th scope="row" { (row.what) }
            td data-name="unit" { (row.unit_name) }
            td.figure.none[row.predicted.is_none()] data-name="predicted" {
                span {
                    @if row.is_bound { abbr title="a bound, which no code can go below" { ">" } }
                    (figure::optional(row.predicted, row.unit))
                }
            }
            td.figure.none[row.measured.is_none()] data-name="measured" { (interval(row)) }
            td.figure.none[remainder == MISSING] data-name="remainder" { (remainder) }
            td.figure.none[row.published.is_none()] data-name="published" {
                (figure::of(row.published)) " " (cited.unwrap_or_default())
            }
        }
    }
}

/// Returns the measured figure, with its interval in the tooltip.
fn interval(row: &Figure<'_>) -> Markup {
    html! {
        @if let Some(record) = row.measured {
            @let (low, high) = record.estimate.interval();
            span title={
                (record.subject.to_string()) ", 95 % interval " (number(low, row.unit)) " to "
                (number(high, row.unit)) ", " (record.estimate.samples()) " samples"
            } { (number(record.estimate.point(), row.unit)) }
        } @else { (MISSING) }
    }
}
