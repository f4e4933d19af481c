//! The figures of a scenario, as a table and as bars.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Quantity, Record, Subject, Unit};

use crate::figure::{interval, number, of};
use crate::html::bars::{Bar, Group, bars};
use crate::lookup::{Lookup, Origin::Measured};
use crate::names;

/// Columns: heading, quantity, unit.
const COLUMNS: [(&str, Quantity, Unit); 10] = [
    ("sess/s", word::SESSIONS_PER_S, Unit::PerSecond),
    ("server CPU", word::SERVER_CPU_NS_PER_SESSION, Unit::Nanos),
    ("client CPU", word::CLIENT_CPU_NS_PER_SESSION, Unit::Nanos),
    ("connect p50", word::CONNECT_NS_P50, Unit::Nanos),
    ("handshake p50", word::HANDSHAKE_NS_P50, Unit::Nanos),
    ("p90", word::HANDSHAKE_NS_P90, Unit::Nanos),
    ("p99", word::HANDSHAKE_NS_P99, Unit::Nanos),
    ("transaction p50", word::TRANSACTION_NS_P50, Unit::Nanos),
    ("p90", word::TRANSACTION_NS_P90, Unit::Nanos),
    ("p99", word::TRANSACTION_NS_P99, Unit::Nanos),
];

/// The table; empty without figures.
pub(super) fn table(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let subjects = lookup.measured(Area::Server);
    let rate =
        |subject: &Subject| lookup.record(Measured, subject, word::SESSIONS_PER_S, Unit::PerSecond);
    let found: Vec<(&Subject, &Record)> =
        subjects.into_iter().filter_map(|subject| Some((subject, rate(subject)?))).collect();
    let bar = |(subject, record): &(&Subject, &Record)| {
        let (low, high) = record.estimate.interval();
        let by = subject.parameter(word::BY).unwrap_or_default();
        let class = if by.contains("tollgate") { "ours-batch" } else { "library" };
        let point = record.estimate.point();
        let figure = number(point, Unit::PerSecond);
        Bar {
            interval: Some((low, high)).filter(|(low, high)| low < high),
            remark: if low < high { interval(Some(record)) } else { String::new() },
            ..Bar::plain(name(subject), class, point, figure)
        }
    };
    let group = Group { heading: String::new(), bars: found.iter().map(bar).collect() };
    html! {
        @if !found.is_empty() {
            (bars("Sessions per second", &[group], Unit::PerSecond, "per second"))
            table.figures {
                caption { "Times, and CPU time of a session" }
                thead {
                    tr {
                        th scope="col" { "server" }
                        @for (name, ..) in COLUMNS { th.figure scope="col" { (name) } }
                    }
                }
                tbody { @for (subject, _) in &found { (row(lookup, subject)) } }
            }
            @for line in ratios(records) { p.note { (line) } }
        }
    }
}

fn row(lookup: Lookup<'_>, subject: &Subject) -> Markup {
    html! {
        tr {
            th scope="row" { (name(subject)) }
            @for (name, quantity, unit) in COLUMNS {
                td.figure data-name=(name) {
                    (of(lookup.record(Measured, subject, quantity, unit)))
                }
            }
        }
    }
}

/// `OpenSSL`; `OpenSSL, resumed` if the subject covers only these sessions.
fn name(subject: &Subject) -> String {
    let by = names::who(subject.parameter(word::BY).unwrap_or_default());
    subject.parameter(word::SESSIONS).map_or(by.to_owned(), |kind| format!("{by}, {kind}"))
}

/// The ratios between servers, with intervals.
fn ratios(records: &[Record]) -> Vec<String> {
    let line = |record: &Record| {
        let what = match record.quantity {
            word::SESSIONS_PER_S_RATIO => "the sessions per second",
            word::SERVER_CPU_RATIO => "the CPU time of a session",
            _ => return None,
        };
        let by = names::who(record.subject.parameter(word::BY)?);
        let against = names::who(record.subject.parameter(word::AGAINST)?);
        let times = crate::lookup::ratio(&record.estimate);
        Some(format!("{by} has {times} times {what} of {against}."))
    };
    records.iter().filter_map(line).collect()
}
