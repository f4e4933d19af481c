//! The cost of a session by part, for each size of the transfer.

use std::collections::BTreeSet;

use maud::{Markup, html};
use tollgate_record::vocabulary::{
    PART_KEY_EXCHANGE, PART_KEY_SCHEDULE, PART_LIBRARY, PART_MAC, PART_RECORDS, PART_RSA,
    PART_SIGNATURE, PART_SYSTEM,
};
use tollgate_record::{Protocol, Record, Unit};

use super::bars::{Bar, Group, Segment, bars, legend};
use super::section::{Section, tables};
use crate::cite::Citation;
use crate::figure::{number, percent};
use crate::flagship::Flagship;
use crate::lookup::distinct;
use crate::names::{self, who};
use crate::session::{self, PARTS, Session, sessions};

/// The maximum number of protocols in the picture; the table has all of them.
const PROTOCOLS_MAX: usize = 3;

pub(super) fn section(records: &[Record]) -> Markup {
    let (ours, papers) = (sessions(records, false), sessions(records, true));
    let flagship = Flagship::of(records);
    let mut protocols = distinct(ours.iter().filter_map(|session| session.subject.protocol()));
    protocols.truncate(PROTOCOLS_MAX);
    let drawn =
        |session: &&Session<'_>| session.subject.protocol().is_some_and(|p| protocols.contains(&p));
    let all = ours.iter().filter(drawn).chain(&papers);
    Section {
        id: "session-cost",
        title: "What one session costs the server",
        see: html! {
            "A bar is one session, handshake and transfer, in core cycles; its pieces are the \
             parts that were measured one by one and added up. The upright mark is the time of a \
             real server, measured as a whole; the gap between the bar and the mark is the \
             remainder. Downwards the transfer grows; below each figure stands the share of RSA. \
             It is Figure 2 of the Itanium paper, today."
        },
        means: means(&ours, &flagship),
        picture: html! {
            (legend(&entries(all.clone())))
            @if ours.iter().any(|session| session.total().is_none()) {
                p.missing { "bars in one piece: measured, parts unknown; run "
                    code { "tollgate explain" } }
            }
            @for protocol in &protocols { (panel(protocol, &ours, &flagship)) }
            @if !papers.is_empty() { (then_and_now(&ours, &papers, &flagship)) }
        },
        below: tables(&[session::costs(records)]),
        records: all.flat_map(Session::records).collect(),
        verb: "explain",
    }
    .markup()
}

/// Returns the sessions of a profile: bars with the parts of each server, and their legend.
pub(super) fn profiled(records: &[Record]) -> Markup {
    let all = sessions(records, false);
    let ours: Vec<Session<'_>> =
        all.into_iter().filter(|session| !session.parts.is_empty()).collect();
    let flagship = Flagship::of(records);
    let protocols: BTreeSet<&Protocol> =
        ours.iter().filter_map(|session| session.subject.protocol()).collect();
    html! {
        (legend(&entries(ours.iter())))
        @for protocol in protocols { (panel(protocol, &ours, &flagship)) }
    }
}

/// Returns the picture of one protocol: a group of bars for each payload.
fn panel(protocol: &Protocol, ours: &[Session<'_>], flagship: &Flagship) -> Markup {
    let sessions: Vec<&Session<'_>> =
        ours.iter().filter(|session| session.subject.protocol() == Some(protocol)).collect();
    let sizes: BTreeSet<u64> = sessions.iter().map(|session| session.bytes()).collect();
    let groups: Vec<Group> = sizes
        .into_iter()
        .map(|bytes| Group {
            heading: names::payload(bytes),
            bars: sessions
                .iter()
                .filter(|session| session.bytes() == bytes)
                .map(|session| bar(session, flagship))
                .collect(),
        })
        .collect();
    bars(names::protocol(protocol), &groups, Unit::Cycles, "cycles")
}

/// Draws the published sessions, and our sessions with the nearest payload, on one scale.
fn then_and_now(ours: &[Session<'_>], papers: &[Session<'_>], flagship: &Flagship) -> Markup {
    let wanted = papers.first().map_or(0, Session::bytes);
    let of_flagship = || ours.iter().filter(|session| flagship.is_of(&session.subject));
    let nearest = of_flagship().map(Session::bytes).min_by_key(|bytes| bytes.abs_diff(wanted));
    let now: Vec<&Session<'_>> =
        of_flagship().filter(|session| Some(session.bytes()) == nearest).collect();
    let drawn = |sessions: Vec<&Session<'_>>| -> Vec<Bar> {
        sessions.into_iter().map(|session| bar(session, flagship)).collect()
    };
    let mut groups =
        vec![Group { heading: "in print".to_owned(), bars: drawn(papers.iter().collect()) }];
    if let Some(first) = now.first() {
        let service = names::service(&first.subject);
        let heading = format!("here: {service}, {}", names::payload(first.bytes()));
        groups.push(Group { heading, bars: drawn(now) });
    }
    bars("Then and now", &groups, Unit::Cycles, "cycles")
}

fn bar(session: &Session<'_>, flagship: &Flagship) -> Bar {
    let cited = session.records().find_map(Citation::of);
    let measured = session.measured.map(|record| record.estimate.point());
    let mut segments: Vec<Segment> = session
        .parts
        .iter()
        .map(|(part, record)| Segment {
            value: record.estimate.point(),
            class: class(part),
            name: names::part(part).to_owned(),
        })
        .collect();
    let total = session.total();
    if segments.is_empty() {
        let name = "measured as a whole".to_owned();
        let value = total.or(measured).unwrap_or(0.0);
        segments.push(Segment { value, class: "measured", name });
    }
    let note = match &cited {
        Some(_) => {
            format!("{}, {}", names::suite(&session.subject), names::payload(session.bytes()))
        }
        None => {
            let key = session.subject.key().filter(|key| **key != flagship.key).map(names::key);
            let names: Vec<String> =
                key.into_iter().chain(names::offered(&session.subject)).collect();
            names.join(", ")
        }
    };
    Bar {
        label: cited.map_or_else(|| who(session.by()).to_owned(), |cited| cited.to_string()),
        note,
        segments,
        mark: measured.filter(|_| total.is_some()),
        interval: None,
        figure: total.or(measured).map_or_else(String::new, |point| number(point, Unit::Cycles)),
        remark: remark(session, measured.filter(|_| total.is_some())),
    }
}

/// Returns the share of the RSA operation, and the measured total.
fn remark(session: &Session<'_>, measured: Option<f64>) -> String {
    let share = session.part(PART_RSA).zip(session.total());
    let share = share.map(|(rsa, total)| format!("RSA {}\n", percent(rsa, total)));
    let measured = measured.map(|point| format!("measured {}", number(point, Unit::Cycles)));
    share.unwrap_or_default() + &measured.unwrap_or_default()
}

/// Returns the CSS class that sets a part's colour.
pub(super) fn class(part: &str) -> &'static str {
    match part {
        PART_RSA | PART_SIGNATURE => "part-rsa",
        PART_KEY_EXCHANGE => "part-key-exchange",
        PART_KEY_SCHEDULE => "part-key-schedule",
        PART_RECORDS => "part-records",
        PART_MAC => "part-mac",
        PART_LIBRARY => "part-library",
        PART_SYSTEM => "part-system",
        _ => "part-other",
    }
}

/// Returns legend entries for the parts that occur, in stacking order.
fn entries<'a>(sessions: impl Iterator<Item = &'a Session<'a>>) -> Vec<(&'static str, String)> {
    let costs = |(_, record): &&(&str, &Record)| record.estimate.point() > 0.0;
    let parts: BTreeSet<&str> =
        sessions.flat_map(|session| &session.parts).filter(costs).map(|(part, _)| *part).collect();
    let known = PARTS.into_iter().filter(|part| parts.contains(part));
    let others = parts.iter().copied().filter(|part| !PARTS.contains(part));
    known.chain(others).map(|part| (class(part), names::part(part).to_owned())).collect()
}

/// Returns sentences on the share of the RSA operation at the smallest and the largest transfer.
fn means(sessions: &[Session<'_>], flagship: &Flagship) -> Vec<String> {
    let mut sentences = Vec::new();
    for by in ["tollgate", "openssl"] {
        let of = || {
            sessions.iter().filter(|session| session.by() == by && flagship.is_of(&session.subject))
        };
        let (Some(first), Some(last)) = (of().next(), of().next_back()) else { continue };
        let share =
            |session: &Session<'_>| Some(percent(session.part(PART_RSA)?, session.total()?));
        let (Some(least), Some(most)) = (share(first), share(last)) else { continue };
        sentences.push(format!(
            "{} with {}: the RSA operation is {least} of the session with {}, and {most} with {}.",
            names::protocol_of(&first.subject),
            who(by),
            at(first.bytes()),
            at(last.bytes()),
        ));
    }
    if !sentences.is_empty() {
        sentences.push(
            "The handshake is paid once: the longer the transfer, the less a faster signature \
             gains."
                .to_owned(),
        );
    }
    sentences
}

fn at(bytes: u64) -> String {
    if bytes == 0 { "no transfer".to_owned() } else { names::payload(bytes) }
}
