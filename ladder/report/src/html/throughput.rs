//! Sessions per second of real servers, by protocol and engine; and those in print.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use super::bars::{Bar, Group, bars, colour};
use super::section::Section;
use super::source::joined;
use crate::cite::Citation;
use crate::figure::{self, number, percent};
use crate::names::{self, key_of, who};
use crate::server::{doubts, heading};
use crate::shelf::Origin::{self, Measured, Predicted, Published};
use crate::shelf::{MISSING, Shelf, ratio};

pub(super) fn section(records: &[Record]) -> Markup {
    let shelf = Shelf(records);
    let mut servers: Vec<&Record> =
        shelf.measured("server").into_iter().filter_map(|s| rate(shelf, s)).collect();
    // By payload, ours first; the order of the protocols stays.
    let order: Vec<&str> = servers.iter().map(|record| record.subject.path()).collect();
    servers.sort_by_key(|record| {
        let is_ours = record.subject.parameter(word::BY) == Some("tollgate");
        let place = order.iter().position(|path| *path == record.subject.path());
        (place, names::bytes(&record.subject), !is_ours)
    });
    let predicted = servers.iter().filter_map(|measured| {
        shelf.record(Predicted, &measured.subject, word::SESSIONS_PER_S, Unit::PerSecond)
    });
    let predicted: Vec<&Record> = predicted.collect();
    let papers = papers(shelf);
    Section {
        id: "sessions-per-second",
        title: "Sessions per second",
        see: html! {
            "How many full sessions a server finished in a second, all its threads together, \
             counted by the client and confirmed by the server's own log. The mark is what rung 3 \
             predicts: core clock over cycles of a session. The thin line is the 95 % interval. \
             Hatched bars are figures of their year, with the keys of their year: RSA-1024 is \
             insecure today."
        },
        means: means(records),
        picture: html! {
            (bars("", &groups(shelf, &servers, &papers), Unit::PerSecond, "per s"))
            (table(shelf, &servers))
            @for doubt in doubts(records) { p.warning { (doubt) } }
        },
        below: html! {},
        records: servers.iter().chain(&predicted).chain(&papers).copied().collect(),
        verb: "bench",
    }
    .markup()
}

fn rate<'a>(shelf: Shelf<'a>, subject: &Subject) -> Option<&'a Record> {
    shelf.record(Measured, subject, word::SESSIONS_PER_S, Unit::PerSecond)
}

/// Rates in print: of servers, and of one core by `s_time`.
fn papers(shelf: Shelf<'_>) -> Vec<&Record> {
    let takes = |record: &Record| {
        let quantity = record.quantity.as_str();
        let rung = record.subject.segments().next();
        Origin::of(record) == Published
            && record.unit == Unit::PerSecond
            && matches!(
                (rung, quantity),
                (Some("server"), word::SESSIONS_PER_S)
                    | (Some("fleet"), word::SESSIONS_PER_S_PER_CORE)
            )
    };
    let mut found: Vec<&Record> = shelf.0.iter().filter(|record| takes(record)).collect();
    found.sort_by(|x, y| y.estimate.point().total_cmp(&x.estimate.point()));
    found
}

fn groups(shelf: Shelf<'_>, servers: &[&Record], papers: &[&Record]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for record in servers {
        let heading = format!("{}, {}", heading(&record.subject), payload(&record.subject));
        let bar = measured(shelf, record);
        match groups.iter_mut().find(|group| group.heading == heading) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group { heading, bars: vec![bar] }),
        }
    }
    if !papers.is_empty() {
        let bars = papers.iter().map(|record| published(record)).collect();
        groups.push(Group { heading: "in print, one processor or core".to_owned(), bars });
    }
    groups
}

fn payload(subject: &Subject) -> String {
    names::payload(names::bytes(subject))
}

fn measured(shelf: Shelf<'_>, record: &Record) -> Bar {
    let by = record.subject.parameter(word::BY).unwrap_or_default();
    let point = record.estimate.point();
    let predicted = shelf.find(Predicted, &record.subject, word::SESSIONS_PER_S, Unit::PerSecond);
    Bar {
        mark: predicted.map(|predicted| predicted.point()),
        interval: Some(record.estimate.interval()),
        remark: predicted.map_or_else(String::new, |predicted| {
            format!("predicted {}", number(predicted.point(), Unit::PerSecond))
        }),
        ..Bar::plain(who(by).to_owned(), colour(by, false), point, number(point, Unit::PerSecond))
    }
}

fn published(record: &Record) -> Bar {
    let point = record.estimate.point();
    let cited = Citation::of(record).map_or_else(String::new, |cited| cited.to_string());
    let subject = &record.subject;
    let suite = names::suite(key_of(subject));
    Bar {
        note: joined([suite, payload(subject), names::of_paper(record)]),
        ..Bar::plain(cited, "published", point, number(point, Unit::PerSecond))
    }
}

fn time(shelf: Shelf<'_>, subject: &Subject, quantity: &str) -> String {
    figure::of(shelf.record(Measured, subject, quantity, Unit::Nanos))
}

/// CPU time and latencies.
fn table(shelf: Shelf<'_>, servers: &[&Record]) -> Markup {
    const TIMES: [(&str, &str); 6] = [
        ("CPU of the server", word::SERVER_CPU_NS_PER_SESSION),
        ("connect p50", word::CONNECT_NS_P50),
        ("handshake p50", word::HANDSHAKE_NS_P50),
        ("p90", word::HANDSHAKE_NS_P90),
        ("p99", word::HANDSHAKE_NS_P99),
        ("transaction p99", word::TRANSACTION_NS_P99),
    ];
    html! {
        @if !servers.is_empty() {
            table.figures {
                caption { "Time of one session" }
                thead { tr {
                    th scope="col" { "server" }
                    @for (name, _) in TIMES { th.figure scope="col" { (name) } }
                } }
                tbody {
                    @for record in servers {
                        @let subject = &record.subject;
                        tr {
                            th scope="row" {
                                (heading(subject)) ", " (payload(subject)) ", "
                                (who(subject.parameter(word::BY).unwrap_or(MISSING)))
                            }
                            @for (name, quantity) in TIMES {
                                td.figure data-name=(name) {
                                    (time(shelf, subject, quantity))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The ratios of servers that were measured in turn.
fn means(records: &[Record]) -> Vec<String> {
    let shelf = Shelf(records);
    let with_ratio = |record: &Record| record.quantity.as_str() == word::SESSIONS_PER_S_RATIO;
    let sentence = |subject: &Subject| {
        let find = |quantity| shelf.find(Measured, subject, quantity, Unit::Ratio);
        let cpu = find(word::SERVER_CPU_RATIO).map_or_else(String::new, |cpu| {
            format!(", for {} of its CPU time", percent(cpu.point(), 1.0))
        });
        Some(format!(
            "{}, {}: {} serves {} times the sessions of {}{cpu}.",
            heading(subject),
            payload(subject),
            who(subject.parameter(word::BY)?),
            ratio(find(word::SESSIONS_PER_S_RATIO)?),
            who(subject.parameter(word::AGAINST)?),
        ))
    };
    shelf.subjects(with_ratio).into_iter().filter_map(sentence).collect()
}
