//! The page of a load generator's runs: first the verdicts, then the figures, then pictures.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Key, Protocol, Record, Unit};

use super::{page, picture, sections, source, tables};
use crate::chart::{Bar, Bars, Group, LIBRARY, OURS, Plane, Series, planes};
use crate::lookup::{Lookup, Origin::Measured};
use crate::{names, pairs, profile, server, session};

/// The colours of Tollgate, of other servers, and of what was lost.
const BLUE: usize = 0;
const OTHERS: [usize; 3] = [4, 2, 3];
const LOST: usize = 1;

/// The furthest quantile of a chart.
const QUANTILE_MAX: f64 = 0.999_999;

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
        Some(Bar::of(rate, label, if by.contains("tollgate") { OURS } else { LIBRARY }))
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

/// Draws times by arrival rate, rates over time and times by quantile. Empty charts are left out.
fn charts(scenario: &Scenario) -> Markup {
    let plane = |title: &str, [x, y]: [&str; 2], series: Vec<Series>, is_from_zero| Plane {
        title: title.to_owned(),
        axes: [x.to_owned(), y.to_owned()],
        series,
        is_from_zero,
    };
    let of_server = |of: fn(&Server) -> &Points| -> Vec<Series> {
        let series = |(place, server): (usize, &Server)| Series {
            name: names::who(&server.name).to_owned(),
            points: of(server).iter().map(|(q, ns)| (slower(*q), ns / 1e6)).collect(),
            colour: colour(place, &server.name),
            is_dashed: false,
        };
        scenario.servers.iter().enumerate().map(series).collect()
    };
    let nines = ["one of so many took longer", "ms"];
    let load = scenario.curve.as_ref().map(curve).unwrap_or_default();
    let all = [
        plane("Times by load, open loop", ["arrivals per second", "ms"], load, false),
        plane(
            "Sessions per second, with warm-up",
            ["seconds since the first run began", "per second"],
            seconds(&scenario.servers),
            true,
        ),
        plane("Time of a transaction", nines, of_server(|server| &server.transaction), false),
        plane("Time of a handshake", nines, of_server(|server| &server.handshake), false),
    ];
    let is_drawn = |plane: &&Plane| plane.series.iter().any(|series| !series.points.is_empty());
    html! {
        div.panels {
            @for plane in all.iter().filter(is_drawn) {
                (picture(&plane.title, planes("", core::slice::from_ref(plane))))
            }
        }
    }
}

/// Returns n, if one of n values is above the quantile.
fn slower(quantile: f64) -> f64 {
    1.0 / (1.0 - quantile.clamp(0.0, QUANTILE_MAX))
}

/// Returns the rates of each run, at the time at which it took place, and what was lost.
fn seconds(servers: &[Server]) -> Vec<Series> {
    let all = || servers.iter().flat_map(|server| server.runs.iter().flatten());
    let start = all().map(|second| second.from_s).fold(f64::INFINITY, f64::min);
    let mut series = Vec::new();
    for (place, server) in servers.iter().enumerate() {
        let name = names::who(&server.name);
        let mut add = |name: String, colour, of: fn(&Second) -> f64| {
            for (number, run) in server.runs.iter().enumerate() {
                let step = |second: &Second| {
                    let from = second.from_s - start;
                    [(from, of(second)), (from + second.width_s, of(second))]
                };
                series.push(Series {
                    name: if number == 0 { name.clone() } else { String::new() },
                    points: run.iter().flat_map(step).collect(),
                    colour,
                    is_dashed: false,
                });
            }
        };
        add(name.to_owned(), colour(place, &server.name), |second| second.completed_per_s);
        if server.runs.iter().flatten().any(|second| second.lost_per_s > 0.0) {
            let what = format!("{name}: failed or not begun");
            add(what, LOST, |second| second.lost_per_s);
        }
    }
    series
}

/// Returns the steps of a search, and the limit of its objective.
fn curve(curve: &Curve) -> Vec<Series> {
    let line = |(place, (name, points)): (usize, &(String, Points))| Series {
        name: name.clone(),
        points: points.iter().map(|(rate, ns)| (*rate, ns / 1e6)).collect(),
        colour: if place == 0 { OTHERS[0] } else { BLUE },
        is_dashed: false,
    };
    let mut series: Vec<Series> = curve.lines.iter().enumerate().map(line).collect();
    let rates = || curve.lines.iter().flat_map(|(_, points)| points).map(|point| point.0);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let limit = curve.limit_ns / 1e6;
    series.push(Series {
        name: format!("the limit, {}", curve.objective),
        points: vec![(least, limit), (most, limit)],
        colour: LOST,
        is_dashed: true,
    });
    series
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

/// Returns the colour of a server's lines.
fn colour(place: usize, name: &str) -> usize {
    if name.contains("tollgate") { BLUE } else { OTHERS[place % OTHERS.len()] }
}
