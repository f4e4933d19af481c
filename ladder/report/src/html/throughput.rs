//! Sessions per second of real servers, by protocol and engine; and published ones.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Quantity, Record, Subject, Topic, Unit};

use super::bars::{Bar, Group, bars, colour};
use super::section::Section;
use super::source::joined;
use crate::cite::Citation;
use crate::figure::{self, number, percent};
use crate::lookup::Origin::{self, Measured, Predicted, Published};
use crate::lookup::{Lookup, MISSING, ratio};
use crate::names::{self, service, who};
use crate::server::doubts;

pub(super) fn section(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let mut servers: Vec<&Record> =
        lookup.measured(Area::Server).into_iter().filter_map(|s| rate(lookup, s)).collect();
    // Sort by payload, Tollgate first; keep the order of the protocols.
    let order: Vec<&Topic> = servers.iter().map(|record| record.subject.topic()).collect();
    servers.sort_by_key(|record| {
        let is_ours = record.subject.parameter(word::BY) == Some("tollgate");
        let place = order.iter().position(|topic| *topic == record.subject.topic());
        (place, names::bytes(&record.subject), !is_ours)
    });
    let predicted = servers.iter().filter_map(|measured| {
        lookup.record(Predicted, &measured.subject, word::SESSIONS_PER_S, Unit::PerSecond)
    });
    let predicted: Vec<&Record> = predicted.collect();
    let papers = papers(lookup);
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
            (bars("", &groups(lookup, &servers, &papers), Unit::PerSecond, "per s"))
            (table(lookup, &servers))
            @for doubt in doubts(records) { p.warning { (doubt) } }
        },
        below: html! {},
        records: servers.iter().chain(&predicted).chain(&papers).copied().collect(),
        verb: "bench",
    }
    .markup()
}

fn rate<'a>(lookup: Lookup<'a>, subject: &Subject) -> Option<&'a Record> {
    lookup.record(Measured, subject, word::SESSIONS_PER_S, Unit::PerSecond)
}

/// Published rates: of servers, and of one core by `s_time`.
fn papers(lookup: Lookup<'_>) -> Vec<&Record> {
    let takes = |record: &Record| {
        Origin::of(record) == Published
            && record.unit == Unit::PerSecond
            && matches!(
                (record.subject.topic(), record.quantity),
                (Topic::Server(_), word::SESSIONS_PER_S)
                    | (Topic::Fleet(_), word::SESSIONS_PER_S_PER_CORE)
            )
    };
    let mut found: Vec<&Record> = lookup.0.iter().filter(|record| takes(record)).collect();
    found.sort_by(|x, y| y.estimate.point().total_cmp(&x.estimate.point()));
    found
}

fn groups(lookup: Lookup<'_>, servers: &[&Record], papers: &[&Record]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for record in servers {
        let heading = format!("{}, {}", service(&record.subject), payload(&record.subject));
        let bar = measured(lookup, record);
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

fn measured(lookup: Lookup<'_>, record: &Record) -> Bar {
    let by = record.subject.parameter(word::BY).unwrap_or_default();
    let point = record.estimate.point();
    let predicted = lookup.find(Predicted, &record.subject, word::SESSIONS_PER_S, Unit::PerSecond);
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
    let suite = names::suite(subject);
    Bar {
        note: joined([suite, payload(subject), names::of_paper(record)]),
        ..Bar::plain(cited, "published", point, number(point, Unit::PerSecond))
    }
}

fn time(lookup: Lookup<'_>, subject: &Subject, quantity: Quantity) -> String {
    figure::of(lookup.record(Measured, subject, quantity, Unit::Nanos))
}

/// CPU time and latencies.
fn table(lookup: Lookup<'_>, servers: &[&Record]) -> Markup {
    const TIMES: [(&str, Quantity); 6] = [
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
                                (service(subject)) ", " (payload(subject)) ", "
                                (who(subject.parameter(word::BY).unwrap_or(MISSING)))
                            }
                            @for (name, quantity) in TIMES {
                                td.figure data-name=(name) {
                                    (time(lookup, subject, quantity))
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
    let lookup = Lookup(records);
    let with_ratio = |record: &Record| record.quantity == word::SESSIONS_PER_S_RATIO;
    let sentence = |subject: &Subject| {
        let find = |quantity| lookup.find(Measured, subject, quantity, Unit::Ratio);
        let cpu = find(word::SERVER_CPU_RATIO).map_or_else(String::new, |cpu| {
            format!(", for {} of its CPU time", percent(cpu.point(), 1.0))
        });
        Some(format!(
            "{}, {}: {} serves {} times the sessions of {}{cpu}.",
            service(subject),
            payload(subject),
            who(subject.parameter(word::BY)?),
            ratio(find(word::SESSIONS_PER_S_RATIO)?),
            who(subject.parameter(word::AGAINST)?),
        ))
    };
    lookup.subjects(with_ratio).into_iter().filter_map(sentence).collect()
}
