//! Cores for a link, cost of a million sessions, response time by load.

use std::collections::BTreeMap;

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Topic, Unit};

use super::bars::{Bar, Group, bars, colour};
use super::response;
use super::section::{Section, tables};
use super::source::joined;
use crate::figure::number;
use crate::fleet::find::{curves, links, sizes};
use crate::fleet::{self, name};
use crate::lookup::Origin::{self, Predicted, Published};
use crate::lookup::{Lookup, MISSING};
use crate::names::{self, who};
use crate::session::by_rank;

/// A fleet, and its number of whole cores for each link.
struct Fleet<'a> {
    origin: Origin,
    subject: Subject,
    links: Vec<(&'a str, &'a Record)>,
}

pub(super) fn section(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let fleets: Vec<Fleet<'_>> = sizes(records)
        .into_iter()
        .map(|(origin, subject)| Fleet { links: links(lookup, origin, &subject), origin, subject })
        .collect();
    let curves = curves(records);
    let costs = costs(lookup);
    let of_links = fleets.iter().flat_map(|fleet| fleet.links.iter().map(|(_, record)| *record));
    let of_curves = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.mean));
    Section {
        id: "cores-per-link",
        title: "Cores for a link, and what they cost",
        see: html! {
            "Whole cores that keep a link full, if every session is new and none is resumed; each \
             link has a scale of its own. Below, what a million sessions cost, and how long a \
             session takes from arrival to its end when more of them arrive: the curve rises \
             where the cores have no time left."
        },
        means: means(&fleets),
        picture: html! {
            @for gbps in all_links(&fleets) { (panel(&fleets, gbps)) }
            @for (currency, groups) in &costs {
                (bars("A million sessions", groups, Unit::Count, currency))
            }
            (response::chart(&curves))
        },
        below: html! {
            (tables(&fleet::tables(records)))
            @for sentence in fleet::sentences(records) { p { (sentence) } }
        },
        records: of_links.chain(of_curves).chain(cost_records(lookup)).collect(),
        verb: "fleet",
    }
    .markup()
}

/// Returns the links of all fleets, sorted by size.
fn all_links<'a>(fleets: &[Fleet<'a>]) -> Vec<&'a str> {
    let mut links: Vec<&str> =
        fleets.iter().flat_map(|fleet| fleet.links.iter().map(|(gbps, _)| *gbps)).collect();
    let size = |gbps: &&str| gbps.parse::<f64>().unwrap_or(f64::INFINITY);
    links.sort_by(|x, y| size(x).total_cmp(&size(y)));
    links.dedup();
    links.truncate(6);
    links
}

fn panel(fleets: &[Fleet<'_>], gbps: &str) -> Markup {
    let bar = |fleet: &Fleet<'_>| {
        let (_, record) = fleet.links.iter().find(|(link, _)| *link == gbps)?;
        let note = name_without_engine(&fleet.subject);
        Some(if fleet.origin == Published {
            Bar { note: joined([note, names::of_paper(record)]), ..Bar::published(record) }
        } else {
            Bar { note, ..of_engine(record) }
        })
    };
    let group = Group { heading: String::new(), bars: fleets.iter().filter_map(bar).collect() };
    bars(&format!("{gbps} Gbps"), &[group], Unit::Count, "cores")
}

/// Returns a bar named after the engine of the record.
fn of_engine(record: &Record) -> Bar {
    let by = record.subject.parameter(word::BY).unwrap_or(MISSING);
    Bar::of(record, who(by), colour(by, false))
}

/// Returns the name of a fleet without its engine, such as `TLS 1.3, RSA-2048, 14 KB`.
fn name_without_engine(subject: &Subject) -> String {
    let full = name(subject);
    full.rsplit_once(", ").map_or(full.clone(), |(most, _)| most.to_owned())
}

fn cost_records(lookup: Lookup<'_>) -> impl Iterator<Item = &Record> {
    let is_own = |record: &&Record| record.subject.parameter(word::AGAINST).is_none();
    lookup.all(Predicted, word::COST_PER_MILLION).filter(is_own)
}

/// Returns the cost of a million sessions, for each currency and machine.
fn costs(lookup: Lookup<'_>) -> BTreeMap<String, Vec<Group>> {
    let mut found: BTreeMap<String, Vec<Group>> = BTreeMap::new();
    let mut records: Vec<&Record> = cost_records(lookup).collect();
    let topics: Vec<&Topic> = records.iter().map(|record| record.subject.topic()).collect();
    records.sort_by_key(|record| {
        let place = topics.iter().position(|topic| *topic == record.subject.topic());
        (place, names::bytes(&record.subject), by_rank(&record.subject))
    });
    for record in records {
        let subject = record.subject.without(&[word::CURRENCY, word::PRICED_MACHINE]);
        let currency = record.subject.parameter(word::CURRENCY).unwrap_or("?").to_owned();
        let machine = record.subject.parameter(word::PRICED_MACHINE);
        let heading = machine.unwrap_or_default().to_owned();
        let bar = Bar { note: name_without_engine(&subject), ..of_engine(record) };
        let groups = found.entry(currency).or_default();
        match groups.iter_mut().find(|group| group.heading == heading) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group { heading, bars: vec![bar] }),
        }
    }
    found
}

/// Compares Tollgate with OpenSSL on the largest link.
fn means(fleets: &[Fleet<'_>]) -> Vec<String> {
    let Some(gbps) = all_links(fleets).last().copied() else {
        return Vec::new();
    };
    let cores = |by: &str, topic: &Topic| {
        let fleet = fleets.iter().find(|fleet| {
            fleet.origin == Predicted
                && fleet.subject.parameter(word::BY) == Some(by)
                && fleet.subject.topic() == topic
        })?;
        let (_, record) = fleet.links.iter().find(|(link, _)| *link == gbps)?;
        Some(record.estimate.point())
    };
    let mut topics: Vec<&Topic> = fleets.iter().map(|fleet| fleet.subject.topic()).collect();
    topics.dedup();
    let sentence = |topic: &Topic| {
        let (ours, theirs) = (cores("tollgate", topic)?, cores("openssl", topic)?);
        let subject = &fleets.iter().find(|fleet| fleet.subject.topic() == topic)?.subject;
        Some(format!(
            "{}: at {gbps} Gbps tollgate keeps {} cores busy where OpenSSL needs {}.",
            name_without_engine(subject),
            number(ours, Unit::Count),
            number(theirs, Unit::Count),
        ))
    };
    let payloads: Vec<u64> = fleets
        .iter()
        .filter(|fleet| fleet.origin == Published)
        .map(|fleet| names::bytes(&fleet.subject))
        .collect();
    let ours = fleets.iter().find(|fleet| fleet.origin == Predicted);
    let apart = ours.zip(payloads.iter().max()).and_then(|(ours, theirs)| {
        let ours = names::bytes(&ours.subject);
        (ours > 0 && *theirs >= 2 * ours).then(|| {
            format!(
                "The papers move {} in each session and have one handshake where {} need {}: \
                 their cores and ours stand side by side, not on one footing.",
                names::payload(*theirs),
                names::payload(ours),
                theirs / ours,
            )
        })
    });
    topics.into_iter().filter_map(sentence).chain(apart).collect()
}
