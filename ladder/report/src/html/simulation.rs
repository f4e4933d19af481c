//! The main result of the study of simulated processors, next to the paper's figure.

use maud::{Markup, html};
use tollgate_record::{Record, Unit};

use super::bars::{Bar, Group, bars};
use super::section::missing;
use super::source;
use crate::cite::Citation;
use crate::figure::number;
use crate::simulation::Headline;

pub(super) fn study(records: &[Record]) -> Markup {
    html! {
        h3 { "A processor that nobody has built: cycles of an exponentiation of 1024 bits" }
        @if let Some(headline) = Headline::of(records) {
            p { (headline.sentence()) }
            (bars("", &[group(&headline)], Unit::Cycles, "cycles"))
            (source::line(headline.records()))
        } @else {
            (missing("simulate study --headline"))
        }
    }
}

/// The bars without the extension, with the extension, and of the paper.
fn group(headline: &Headline<'_>) -> Group {
    let bar = |record: &Record, label: String, class| {
        let point = record.estimate.point();
        Bar::plain(label, class, point, number(point, Unit::Cycles))
    };
    let label = |what: &str| format!("LEON-2, {what}");
    let plain = headline.plain.map(|record| bar(record, label("as it is"), "predicted"));
    let extended = bar(headline.extended, label("extended"), "predicted");
    let published = headline.published.and_then(|record| {
        let cited = Citation::of(record)?.to_string();
        Some(bar(record, cited, "published"))
    });
    let bars = [plain, Some(extended), published].into_iter().flatten().collect();
    Group { heading: String::new(), bars }
}
