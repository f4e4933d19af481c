//! HTML pages without external resources: the report of all rungs, and the report of a load
//! generator's runs.

mod machine;
mod runs;
mod sections;
mod source;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use tollgate_record::{Kind, Record};

use crate::lookup::latest;
use crate::table::Table;

pub use runs::{Runs, Scenario, of_runs};

/// The style sheet, for light and dark screens, phones and paper.
const STYLE: &str = include_str!("style.css");

/// Identifiers and names of the report's sections, in order.
const SECTIONS: [(&str, &str); 8] = [
    ("rung-ladder", "Six rungs"),
    ("operation-rates", "Operations"),
    ("session-cost", "Cost of a session"),
    ("sessions-per-second", "Sessions per second"),
    ("cores-per-link", "Cores for a link"),
    ("kernels", "Kernels"),
    ("machine", "Machine"),
    ("glossary", "Words"),
];

/// The terms that every section uses.
const WORDS: [(&str, &str); 9] = [
    ("batch", "several operations in one call, one for each lane of the vector registers"),
    ("bound", "the fewest cycles that the processor's limits allow; no code can go below"),
    ("core cycle", "one tick of the measured core clock; independent of how fast the clock runs"),
    ("interval", "95 % interval, the thin line on a bar: it probably contains the true figure"),
    ("measured", "by running it on this machine"),
    ("predicted", "by arithmetic, from figures of the rung below"),
    ("published", "printed by others, on their machine, in their year"),
    ("remainder", "measured minus predicted: the part that the rung below does not explain"),
    ("session", "one TLS connection: TCP, handshake, one request, its answer, the end"),
];

/// Returns the whole report as one HTML file: the six rungs, then pictures and tables with unit and
/// source. The page loads nothing and needs no script. A section without records names the
/// `tollgate` command that measures them.
#[must_use]
pub fn report(records: &[Record]) -> String {
    let all = records;
    let records = &latest(records);
    let commit = records.iter().rev().find_map(|record| record.commit.as_deref());
    let main = html! {
        (sections::ladder(records))
        (sections::rates(records))
        (sections::sessions(records))
        (sections::servers(records))
        (sections::fleets(records))
        (sections::kernels(records))
        (machine::section(records))
        section id="glossary" {
            h2 { "Words" }
            dl.facts { @for (word, line) in WORDS { dt { (word) } dd { (line) } } }
            p {
                "To do it again: " code { "./x ladder" } " on a machine at rest"
                @if let Some(commit) = commit { ", at commit " code { (commit) } }
                "; each command named above repeats one rung, and " code { "--json FILE" }
                " writes its records."
            }
        }
    };
    page("What a TLS connection costs", &html! { (about(all)) }, SECTIONS, &main)
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

/// Returns a chart; `svg` is markup.
fn picture(label: &str, svg: String) -> Markup {
    html! { figure.chart role="img" aria-label=(label) { (PreEscaped(svg)) } }
}

/// Maximum number of rows of a table that is not folded.
const OPEN_ROWS_MAX: usize = 60;

/// Returns tables with their notes. The heading of the first column is the name of the table. A
/// table of many rows is folded.
fn tables(tables: &[Table]) -> Markup {
    html! {
        @for table in tables {
            @let rows = table.rows.len();
            details open=[(rows <= OPEN_ROWS_MAX).then_some("")] {
                summary { (table.columns[0].heading) ": " (rows) " rows" }
                (table.markup())
            }
            @for note in &table.notes { p.note { (note) @if !note.ends_with('.') { "." } } }
        }
    }
}

/// Returns the command that measures missing figures.
fn missing(verb: &str) -> Markup {
    html! { p.missing { "not measured: run " code { "tollgate " (verb) } } }
}
