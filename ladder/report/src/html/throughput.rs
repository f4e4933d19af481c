//! Sessions per second of measured servers, by protocol and engine, and published rates.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Record, Subject, Topic, Unit};

use super::bars::{Bar, Group, bars, colour};
use super::section::{Section, tables};
use super::source::joined;
use crate::figure::of_record;
use crate::lookup::Lookup;
use crate::lookup::Origin::{self, Measured, Predicted, Published};
use crate::names::{self, service, who};
use crate::pairs;
use crate::server::{self, doubts};

pub(super) fn section(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let mut servers: Vec<&Record> =
        lookup.measured(Area::Server).into_iter().filter_map(|s| rate(lookup, s)).collect();
    // Sort by protocol in the order of the records, then by payload; Tollgate is first.
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
             counted by the client and confirmed by the server's own log. The mark is the prediction of \
             rung 3: core clock over cycles of a session. The thin line is the 95 % interval. \
             Hatched bars are figures of their year, with the keys of their year: RSA-1024 is \
             insecure today."
        },
        means: pairs::sentences(records),
        picture: html! {
            (bars("", &groups(lookup, &servers, &papers), Unit::PerSecond, "per s"))
            @for doubt in doubts(records) { p.warning { (doubt) } }
        },
        below: tables(&server::tables(records)),
        records: servers.iter().chain(&predicted).chain(&papers).copied().collect(),
        verb: "bench",
    }
    .markup()
}

fn rate<'a>(lookup: Lookup<'a>, subject: &Subject) -> Option<&'a Record> {
    lookup.record(Measured, subject, word::SESSIONS_PER_S, Unit::PerSecond)
}

/// Returns the published rates: of servers, and of one core measured by `s_time`.
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
    let by = names::by(&record.subject);
    let predicted =
        lookup.record(Predicted, &record.subject, word::SESSIONS_PER_S, Unit::PerSecond);
    Bar {
        mark: predicted.map(|predicted| predicted.estimate.point()),
        interval: Some(record.estimate.interval()),
        remark: predicted
            .map_or_else(String::new, |record| format!("predicted {}", of_record(record))),
        ..Bar::of(record, who(by), colour(by, false))
    }
}

fn published(record: &Record) -> Bar {
    let subject = &record.subject;
    let note = joined([names::suite(subject), payload(subject), names::of_paper(record)]);
    Bar { note, ..Bar::published(record) }
}
