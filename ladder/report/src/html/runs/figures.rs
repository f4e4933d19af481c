//! The figures of a scenario, as a table and as bars.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Record, Subject, Unit};

use crate::figure::interval;
use crate::html::bars::{Bar, Group, bars};
use crate::html::section::tables;
use crate::html::session_cost;
use crate::lookup::{Lookup, Origin::Measured};
use crate::{names, pairs, profile, server};

/// Returns bars and tables; empty if there are no figures.
pub(super) fn figures(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let subjects = lookup.measured(Area::Server);
    let rate =
        |subject: &Subject| lookup.record(Measured, subject, word::SESSIONS_PER_S, Unit::PerSecond);
    let found: Vec<(&Subject, &Record)> =
        subjects.into_iter().filter_map(|subject| Some((subject, rate(subject)?))).collect();
    let bar = |(subject, record): &(&Subject, &Record)| {
        let (low, high) = record.estimate.interval();
        let is_ours = names::by(subject).contains("tollgate");
        let class = if is_ours { "ours-batch" } else { "library" };
        Bar {
            interval: Some((low, high)).filter(|(low, high)| low < high),
            remark: if low < high { interval(Some(record)) } else { String::new() },
            ..Bar::of(record, name(subject), class)
        }
    };
    let group = Group { heading: String::new(), bars: found.iter().map(bar).collect() };
    html! {
        @if !found.is_empty() {
            (bars("Sessions per second", &[group], Unit::PerSecond, "per second"))
            (tables(&server::tables(records)))
            @for line in pairs::sentences(records) { p.note { (line) } }
        }
        @let profiled = profile::tables(records);
        @if !profiled.is_empty() {
            h3 { "One session by part" }
            (session_cost::profiled(records))
            @for (title, table) in profiled {
                p.note { (title) }
                (tables(&[table]))
            }
        }
    }
}

/// Returns the server's name: `OpenSSL`, or `OpenSSL, resumed` if the subject covers only resumed
/// sessions.
fn name(subject: &Subject) -> String {
    let by = names::who(names::by(subject));
    subject.parameter(word::SESSIONS).map_or(by.to_owned(), |kind| format!("{by}, {kind}"))
}
