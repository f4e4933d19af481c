//! RSA signatures per second by key size: Tollgate, libraries, papers.

use maud::{Markup, html};
use tollgate_record::vocabulary::{BATCH, OPERATIONS_PER_S, TIMES_AS_FAST};
use tollgate_record::{Area, Key, Operation, Record, Subject, Topic, Unit};

use super::bars::{Bar, Group, bars, colour};
use super::section::Section;
use crate::lookup::Origin::{self, Measured, Published};
use crate::lookup::{Lookup, ratio};
use crate::names;
use crate::signing::{SIZES, Signing, key};

pub(super) fn section(records: &[Record]) -> Markup {
    let panels: Vec<Panel<'_>> = SIZES.iter().map(|bits| Panel::of(records, *bits)).collect();
    let panels: Vec<Panel<'_>> = panels.into_iter().filter(|p| !p.records.is_empty()).collect();
    Section {
        id: "rsa-rates",
        title: "RSA signatures per second of one core",
        see: html! {
            "One block of bars for each key size, each block on a scale of its own: twice the key \
             takes about seven times the work. Blue is tollgate, grey are the libraries, hatched \
             is what papers printed. A batch is eight signatures in one call, each figure is for \
             one core. The thin line is the 95 % interval."
        },
        means: means(records),
        picture: html! {
            div.panels {
                @for panel in &panels {
                    (bars(&key(panel.bits), &[panel.group()], Unit::PerSecond, "per s"))
                }
            }
        },
        below: html! {},
        records: panels.iter().flat_map(|panel| panel.records.iter().copied()).collect(),
        verb: "speed",
    }
    .markup()
}

/// The bars of one key size.
struct Panel<'a> {
    bits: u32,
    records: Vec<&'a Record>,
}

impl<'a> Panel<'a> {
    fn of(records: &'a [Record], bits: u32) -> Self {
        let lookup = Lookup(records);
        let wanted = |what: &[Operation], subject: &Subject| {
            let Topic::Operation { key, operation } = subject.topic() else { return false };
            *key == Key::Rsa(bits) && what.contains(operation)
        };
        let rate = |origin, subject: &Subject| {
            lookup.record(origin, subject, OPERATIONS_PER_S, Unit::PerSecond)
        };
        let mut ours: Vec<&Record> = lookup
            .measured(Area::Operation)
            .into_iter()
            .filter(|subject| wanted(&[Operation::Sign], subject))
            .filter_map(|subject| rate(Measured, subject))
            .collect();
        ours.sort_by_key(|record| {
            let subject = &record.subject;
            let order = ["tollgate", "openssl", "aws-lc"];
            let by = names::by(subject);
            let rank = order.iter().position(|known| *known == by).unwrap_or(order.len());
            (rank, subject.parameter(BATCH).is_none())
        });
        let of_papers = lookup.subjects(|record| {
            record.quantity == OPERATIONS_PER_S
                && Origin::of(record) == Published
                && wanted(&[Operation::Sign, Operation::Private], &record.subject)
        });
        ours.extend(of_papers.into_iter().filter_map(|subject| rate(Published, subject)));
        Self { bits, records: ours }
    }

    fn group(&self) -> Group {
        Group { heading: String::new(), bars: self.records.iter().map(|r| bar(r)).collect() }
    }
}

fn bar(record: &Record) -> Bar {
    if Origin::of(record) == Published {
        return Bar { note: names::of_paper(record), ..Bar::published(record) };
    }
    let by = names::by(&record.subject);
    let batch = record.subject.parameter(BATCH);
    let note = match (batch, by) {
        (Some(batch), _) => format!("batch of {batch}"),
        (None, "tollgate") => "one at a time".to_owned(),
        _ => String::new(),
    };
    let interval = Some(record.estimate.interval());
    Bar { note, interval, ..Bar::of(record, names::who(by), colour(by, batch.is_some())) }
}

/// Returns sentences on the speed relative to each library, at the representative key size.
fn means(records: &[Record]) -> Vec<String> {
    let signing = Signing(records);
    let signers = signing.signers();
    let sentence = |bits: u32| {
        let first = signers.first().filter(|signer| signer.by == "tollgate")?;
        let against: Vec<String> = ["openssl", "aws-lc"]
            .into_iter()
            .filter_map(|by| {
                let times = signing.times(bits, first, by)?;
                Some(format!("{} times as fast as {}", ratio(times), names::who(by)))
            })
            .collect();
        let joined = against.join(" and ");
        (!joined.is_empty()).then(|| format!("{}: {} is {joined}.", key(bits), signing.name(first)))
    };
    let mut sentences: Vec<String> = SIZES.iter().filter_map(|bits| sentence(*bits)).collect();
    if records.iter().any(|record| record.quantity == TIMES_AS_FAST) {
        sentences.push(
            "A batch needs eight signatures that wait at the same time; a server with few \
             clients gets the speed of one at a time."
                .to_owned(),
        );
    }
    sentences
}
