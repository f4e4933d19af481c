//! The page of a load generator's runs: first the verdicts, then the figures, then pictures.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Key, Protocol, Record, Unit};

use super::{page, picture, sections, source, tables};
use crate::chart::{Bar, Bars, Group, LIBRARY, OURS, Plane, Series};
use crate::lookup::{Lookup, Origin::Measured};
use crate::{names, pairs, profile, server, session};

/// The content of the page. The page shows findings and plans unchanged, except for the names of
/// keys, protocols and servers.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Machine, versions, workload and plan, each as a paragraph.
    pub about: Vec<String>,
    /// `true` if all runs were completed.
    pub is_complete: bool,
    /// Notes in addition to the findings.
    pub notes: Vec<String>,
    /// The measured scenarios, in the order of measurement.
    pub scenarios: Vec<Scenario>,
}

/// The runs with one key and protocol.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// Key and protocol, such as `rsa-2048 tls13`.
    pub name: String,
    /// `VALID`, or the result of a search. Empty if the scenario was stopped before it had a
    /// result.
    pub verdict: String,
    /// Findings, and the counts of client and server.
    pub lines: Vec<String>,
    /// The figures of the scenario.
    pub records: Vec<Record>,
    /// Pictures of the runs. Their series have names such as `openssl` or `openssl: failed`.
    pub charts: Vec<Plane>,
}

/// Returns the page as one HTML file, which loads nothing and needs no script.
#[must_use]
pub fn of_runs(runs: &Runs) -> String {
    let lead = html! {
        @if !runs.is_complete {
            strong.warning { "Stopped before the end: these are the results until then. " }
        }
        (lead(runs))
    };
    let sections: Vec<(String, &Scenario)> =
        (1..).map(|number: u32| format!("scenario-{number}")).zip(&runs.scenarios).collect();
    let names: Vec<String> = runs.scenarios.iter().map(|scenario| label(&scenario.name)).collect();
    let links = sections.iter().zip(&names).map(|((id, _), name)| (id.as_str(), name.as_str()));
    page(
        "TLS sessions under load",
        &lead,
        links.chain([("about", "Machine and plan")]),
        &html! {
            @for (id, scenario) in &sections { (section(id, scenario)) }
            section id="about" {
                h2 { "Machine and plan" }
                @for paragraph in &runs.about { p { (paragraph) } }
                @for note in &runs.notes { p.warning { (note) } }
            }
        },
    )
}

/// Summarises the verdicts in a sentence.
fn lead(runs: &Runs) -> String {
    let verdict = |scenario: &Scenario| {
        let verdict = if scenario.verdict.is_empty() { "no verdict" } else { &scenario.verdict };
        format!("{}: {verdict}", label(&scenario.name))
    };
    runs.scenarios.iter().map(verdict).collect::<Vec<_>>().join("; ") + "."
}

fn section(id: &str, scenario: &Scenario) -> Markup {
    html! {
        section id=(id) {
            h2 { (label(&scenario.name)) }
            @if !scenario.verdict.is_empty() { p.lead { strong { (scenario.verdict) } } }
            @if !scenario.lines.is_empty() {
                ul.findings {
                    @for line in &scenario.lines { li { (finding(line)) } }
                }
            }
            (figures(&scenario.records))
            (charts(scenario))
        }
    }
}

/// Returns bars and tables; empty if there are no figures.
fn figures(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let bar = |subject| {
        let rate = lookup.record(Measured, subject, word::SESSIONS_PER_S, Unit::PerSecond)?;
        let by = names::by(subject);
        let kind = subject.parameter(word::SESSIONS);
        let label = source::joined([names::who(by), kind.unwrap_or_default()]);
        Some(Bar::new(rate, label, if by.contains("tollgate") { OURS } else { LIBRARY }))
    };
    let bars: Vec<Bar> = lookup.measured(Area::Server).into_iter().filter_map(bar).collect();
    let profiled = profile::tables(records);
    html! {
        @if !bars.is_empty() {
            (picture("sessions per second", Bars {
                title: "Sessions per second",
                note: "",
                legend: Vec::new(),
                groups: vec![Group { heading: String::new(), bars }],
                unit: Unit::PerSecond,
            }.svg()))
            (tables(&server::tables(records)))
            @for line in pairs::sentences(records) { p.note { (line) } }
        }
        @if !profiled.is_empty() {
            h3 { "One session by part" }
            @let all = session::sessions(records, false);
            @let known: Vec<_> = all.iter().filter(|session| !session.parts.is_empty()).collect();
            (picture("one session by part", sections::stacked(&known)))
            @for (title, table) in profiled {
                p.note { (title) }
                (tables(&[table]))
            }
        }
    }
}

/// Draws the pictures that have points.
fn charts(scenario: &Scenario) -> Markup {
    let is_drawn = |plane: &&Plane| plane.series.iter().any(|series| !series.points.is_empty());
    let named = |plane: &Plane| {
        let name = |series: &Series| Series { name: finding(&series.name), ..series.clone() };
        Plane { series: plane.series.iter().map(name).collect(), ..plane.clone() }
    };
    html! {
        div.panels {
            @for plane in scenario.charts.iter().filter(is_drawn) {
                (picture(&plane.title, named(plane).svg()))
            }
        }
    }
}

/// Turns `rsa-2048 tls13, openssl` into `RSA-2048 TLS 1.3, OpenSSL`.
fn label(name: &str) -> String {
    let word = |word: &str| {
        let (bare, comma) = word.strip_suffix(',').map_or((word, ""), |bare| (bare, ","));
        let known = match (Key::from(bare), Protocol::from(bare)) {
            (key @ Key::Rsa(_), _) => names::key(&key),
            (_, Protocol::Other(by)) => names::who(&by).to_owned(),
            (_, protocol) => names::protocol(&protocol).to_owned(),
        };
        known + comma
    };
    name.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Turns `- doubtful: openssl: ...` into `doubtful: OpenSSL: ...`.
fn finding(line: &str) -> String {
    let parts = line.trim_start_matches("- ").splitn(3, ": ").map(names::who);
    parts.collect::<Vec<_>>().join(": ")
}
