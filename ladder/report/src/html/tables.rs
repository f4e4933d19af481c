//! Table 5 of \[ITA00\] with the error and the assumptions of the model, the main result of the study
//! of simulated processors, and the table of kernels.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Record, Subject, Unit};

use super::bars::{Bar, Group, bars};
use super::section::{missing, tables};
use super::source;
use crate::kernel;
use crate::lookup::Origin::{Measured, Predicted};
use crate::lookup::{Lookup, MISSING};
use crate::model::{self, Modelled, modelled};
use crate::simulation::Headline;

pub(super) fn section(records: &[Record]) -> Markup {
    html! {
        section id="table-5" {
            h2 { "Models and kernels" }
            (models(records))
            (study(records))
            (kernels(records))
        }
    }
}

fn models(records: &[Record]) -> Markup {
    let mut all = modelled(records);
    all.retain(|row| row.change.is_empty());
    let used = all.iter().flat_map(|row| [row.predicted, row.measured, row.published]);
    html! {
        h3 { "Table 5 of the Itanium paper: cycles of one Montgomery product" }
        @if all.is_empty() { (missing("model")) } @else {
            p {
                "The model counts instructions and divides them by what a processor can do in a \
                 cycle; the paper's figures judge it. For this machine it is a bound, a lower \
                 limit: kernels are measured against it."
            }
            (chart(&all))
            (tables(&[model::products(records)]))
            (source::line(used.flatten()))
        }
    }
}

/// Draws model and paper as bars. Each machine and size has its own scale.
fn chart(all: &[Modelled<'_>]) -> Markup {
    let judged = all.iter().filter(|row| row.error().is_some());
    let panel = |row: &Modelled<'_>| {
        let bar = |record: Option<&Record>, label, class, remark: String| {
            Some(Bar { remark, ..Bar::of(record?, label, class) })
        };
        let limit = row.limit().unwrap_or(MISSING).replace(' ', "\n");
        let model =
            bar(row.predicted, "model", "predicted", format!("{}\n{limit}", row.error_text()));
        let origin = row.origin().unwrap_or_default().to_owned();
        let paper = bar(row.published, "paper", "published", origin);
        Group { heading: String::new(), bars: [model, paper].into_iter().flatten().collect() }
    };
    let caption = |row: &Modelled<'_>| format!("{}, {} bits", row.name(), row.bits);
    html! {
        div.panels {
            @for row in judged { (bars(&caption(row), &[panel(row)], Unit::Cycles, "cycles")) }
        }
    }
}

/// Returns the main result of the study of simulated processors, next to the paper's figure.
fn study(records: &[Record]) -> Markup {
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

/// Returns the bars without the extension, with the extension, and of the paper.
fn group(headline: &Headline<'_>) -> Group {
    let bar = |record, what: &str| Bar::of(record, format!("LEON-2, {what}"), "predicted");
    let plain = headline.plain.map(|record| bar(record, "as it is"));
    let extended = bar(headline.extended, "extended");
    let published = headline.published.map(Bar::published);
    let bars = [plain, Some(extended), published].into_iter().flatten().collect();
    Group { heading: String::new(), bars }
}

fn kernels(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let subjects = lookup.measured(Area::Kernel);
    let find = |origin, subject: &Subject, quantity| {
        lookup.record(origin, subject, quantity, Unit::Cycles)
    };
    let used = subjects.iter().flat_map(|subject| {
        [
            find(Measured, subject, word::CYCLES_PER_CALL),
            find(Predicted, subject, word::BOUND_CYCLES_PER_CALL),
        ]
    });
    html! {
        h3 { "Kernels on this machine" }
        @if subjects.is_empty() { (missing("kernel")) } @else {
            (tables(&[kernel::kernels(records)]))
            (source::line(used.flatten()))
        }
    }
}
