//! HTML pages without external resources, with inline SVG: the report of all rungs, and the report
//! of a load generator's runs.

mod bars;
mod cores;
mod details;
mod ladder;
mod machine;
mod plot;
mod rates;
mod response;
mod runs;
mod scale;
mod section;
mod session_cost;
mod source;
mod tables;
mod throughput;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use tollgate_record::{Kind, Record};

use crate::lookup::latest;
use crate::rungs::climb;

pub use runs::{Curve, Points, Runs, Scenario, Second, Server, of_runs};

/// The style sheet, for light and dark screens, phones and paper.
const STYLE: &str = include_str!("style.css");

/// Identifiers and names of the report's sections, in order.
const SECTIONS: [(&str, &str); 9] = [
    ("rung-ladder", "Six rungs"),
    ("rsa-rates", "RSA signatures"),
    ("session-cost", "Cost of a session"),
    ("sessions-per-second", "Sessions per second"),
    ("cores-per-link", "Cores for a link"),
    ("kernels", "Kernels"),
    ("machine", "Machine"),
    ("glossary", "Words"),
    ("reproduce", "Do it again"),
];

/// Returns the whole report as one HTML file: the six rungs, then pictures with unit and source.
/// The page loads nothing and needs no script. A section without records names the `tollgate`
/// command that measures them.
#[must_use]
pub fn report(records: &[Record]) -> String {
    let all = records;
    let records = &latest(records);
    let rungs = climb(records);
    let main = html! {
        (ladder::section(records, &rungs))
        (rates::section(records))
        (session_cost::section(records))
        (throughput::section(records))
        (cores::section(records))
        (tables::section(records))
        (machine::section(records))
        (details::glossary())
        (details::reproduce(records))
        (details::all(all))
    };
    page("What a TLS connection costs", &html! { (about(all)) }, SECTIONS, &main)
}

/// Returns a page with the shared style and links to its sections, by id and name.
fn page<'a>(
    title: &str,
    lead: &Markup,
    sections: impl IntoIterator<Item = (&'a str, &'a str)>,
    main: &Markup,
) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (patterns())
                header {
                    h1 { (title) }
                    p.lead { (lead) }
                    nav aria-label="Sections" {
                        @for (id, name) in sections { a href={ "#" (id) } { (name) } " " }
                    }
                }
                main { (main) }
            }
        }
    };
    page.into_string()
}

/// Returns machine, date and number of figures.
fn about(records: &[Record]) -> String {
    let Some(first) = records.iter().find(|record| record.kind == Kind::Measured) else {
        return format!("{} records, none of them measured.", records.len());
    };
    let vm = if first.machine.virtualised == Some(true) { ", virtual machine" } else { "" };
    let measured = records.iter().filter(|record| record.kind == Kind::Measured).count();
    format!(
        "Measured on {}{vm}, {}: {} records, {measured} of them measured. Each figure is explained \
         by the rung below it; what is not explained is shown as a remainder.",
        first.machine.cpu,
        source::date(first),
        records.len(),
    )
}

/// Returns the definitions of the hatching that the pictures use.
fn patterns() -> Markup {
    let hatch = |id: &str, class: &str| {
        html! {
            pattern id=(id) width="6" height="6" patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)"
            {
                rect class={ (class) "-ground" } width="6" height="6" {}
                rect class={ (class) "-stripe" } width="2.5" height="6" {}
            }
        }
    };
    html! {
        svg.patterns width="0" height="0" aria-hidden="true" {
            defs {
                (hatch("hatch-published", "published"))
                (hatch("hatch-remainder", "remainder"))
                marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"
                    markerHeight="8" orient="auto-start-reverse"
                {
                    path.arrowhead d="M0 0L8 4L0 8z" {}
                }
            }
        }
    }
}
