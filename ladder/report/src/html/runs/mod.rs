//! The page of a load generator's runs: first the verdicts, then the figures, then pictures.

mod charts;
mod figures;

use maud::{Markup, html};
use tollgate_record::{Key, Protocol, Record};

use super::page;
use crate::names;

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
    /// The servers under load.
    pub servers: Vec<Server>,
    /// Times by arrival rate, if the scenario is a search.
    pub curve: Option<Curve>,
}

/// Points of a line as (x, y).
pub type Points = Vec<(f64, f64)>;

/// One server's runs.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// The server's name.
    pub name: String,
    /// The seconds of each run.
    pub runs: Vec<Vec<Second>>,
    /// Times of transactions by quantile, in nanoseconds; empty if no run is valid.
    pub transaction: Points,
    /// Times of handshakes by quantile, in nanoseconds; empty if no run is valid.
    pub handshake: Points,
}

/// A second of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// Start, in seconds since the first run began.
    pub from_s: f64,
    /// Duration in seconds.
    pub width_s: f64,
    /// Transactions completed, per second.
    pub completed_per_s: f64,
    /// Connections that failed, were given up or never began, per second.
    pub lost_per_s: f64,
}

/// The steps of a search.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// The objective, such as `p99=20ms`.
    pub objective: String,
    /// The limit of the objective, in nanoseconds.
    pub limit_ns: f64,
    /// Lines by name, such as `p50`. A point is (arrivals per second, nanoseconds).
    pub lines: Vec<(String, Points)>,
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
            (figures::figures(&scenario.records))
            @if let Some(curve) = &scenario.curve { (charts::curve(curve)) }
            (charts::rates(&scenario.servers))
            div.panels {
                (charts::times("a transaction", &scenario.servers, |server| &server.transaction))
                (charts::times("a handshake", &scenario.servers, |server| &server.handshake))
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

/// Returns the CSS class of a server's lines. Tollgate and libraries have different classes.
fn class(place: usize, name: &str) -> &'static str {
    match (name.contains("tollgate"), place) {
        (true, _) => "line-ours",
        (false, 0) => "line-library",
        (false, _) => "line-other",
    }
}
