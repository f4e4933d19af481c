//! The sections of the report: heading, explanation, conclusions, pictures, tables, sources.

use std::collections::BTreeSet;

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Record, Subject, Topic, Unit};

use super::source::{joined, source};
use super::{missing, picture, tables};
use crate::chart::{
    Bar, Bars, COLOURS, Colour, Group, OURS, PREDICTED, Plane, REMAINDER, Series, colour, speed,
};
use crate::cite;
use crate::figure::{number, of_record, percent};
use crate::flagship::Flagship;
use crate::fleet::find::{curves, links, sizes};
use crate::lookup::Origin::{self, Measured, Predicted, Published};
use crate::lookup::{Lookup, distinct, ratio};
use crate::names::{self, service, who};
use crate::rates::{OPERATIONS, Rates, name};
use crate::rungs::{Figure, Rung, climb, figures};
use crate::session::{self, PARTS, Session};
use crate::table::Table;
use crate::{fleet, kernel, pairs, server};

/// A section of the report.
struct Section<'a> {
    id: &'static str,
    title: &'static str,
    /// The picture with its description.
    see: &'static str,
    /// Conclusions, computed from the records.
    means: Vec<String>,
    /// Charts by their labels.
    pictures: Vec<(String, String)>,
    tables: Vec<Table>,
    records: Vec<&'a Record>,
    /// The `tollgate` command that measures missing figures. An empty section names it.
    verb: &'static str,
}

impl Section<'_> {
    /// Renders the section. Without records it names the command to run.
    fn markup(&self) -> Markup {
        html! {
            section id=(self.id) {
                h2 { (self.title) }
                @if self.records.is_empty() { (missing(self.verb)) } @else {
                    p { (self.see) }
                    @for sentence in &self.means { p.finding { (sentence) } }
                    @for (label, svg) in &self.pictures { (picture(label, svg.clone())) }
                    (tables(&self.tables))
                    (source(&self.records))
                }
            }
        }
    }
}

/// The six rungs as a ladder, and as a table.
pub(super) fn ladder(records: &[Record]) -> Markup {
    let rungs = climb(records);
    let used: Vec<&Record> =
        rungs.iter().flat_map(|rung| &rung.rows).flat_map(Figure::records).collect();
    html! {
        section id="rung-ladder" {
            h2 { "Six rungs, one machine" }
            p {
                "Read from the bottom: what the processor allows, one call of a kernel, one \
                 signature, one session, a server, a fleet. On each rung the predicted bar comes \
                 from the rung below, the other one was measured; its light end, and the share in \
                 brackets, is the remainder, which nothing here explains yet."
            }
            ol.ladder {
                @for rung in rungs.iter().rev() {
                    li { div.rung {
                        h3 { span.number { (rung.number) } " " (rung.name) }
                        div.words {
                            p.about { (about(rung)) }
                            @for sentence in &rung.sentences { p { (sentence) } }
                        }
                        @if rung.is_known() { (step(rung)) } @else { (missing(rung.verb)) }
                    } }
                }
            }
            (tables(&[figures(&rungs)]))
            (source(&used))
        }
    }
}

/// Returns the description of the rung's figures, with the handshake if they have one.
fn about(rung: &Rung<'_>) -> String {
    let heading = rung.rows.iter().find_map(|row| row.heading.as_deref());
    let with = |heading| format!("{}: {heading}", rung.about);
    heading.map_or_else(|| rung.about.to_owned(), with)
}

/// Returns the bars of the rows that represent the rung. Only rows with the unit of the first row
/// are shown, since all rows share one scale.
fn step(rung: &Rung<'_>) -> Markup {
    let mut rows = rung.rows.iter().filter(|row| row.is_shown).peekable();
    let Some(first) = rows.peek().copied() else { return html! {} };
    let rows = rows.filter(|row| row.unit == first.unit && row.unit_name == first.unit_name);
    let bars = Bars {
        title: &first.unit_name,
        note: "",
        legend: Vec::new(),
        groups: rows.map(of_figure).collect(),
        unit: first.unit,
    };
    picture(rung.about, bars.svg())
}

/// Returns the bars of one figure: predicted and measured. A figure that was not measured also has
/// a bar for its published value.
fn of_figure(row: &Figure<'_>) -> Group {
    let mut bars = Vec::new();
    if let Some(point) = row.predicted {
        let label = if row.is_bound { "bound" } else { "predicted" };
        bars.push(Bar {
            label: label.to_owned(),
            pieces: vec![(point, PREDICTED)],
            figure: number(point, row.unit),
            ..Bar::default()
        });
    }
    if let Some(record) = row.measured {
        let point = record.estimate.point();
        let left = row.remainder().filter(|left| *left > 0.0 && *left < point).unwrap_or(0.0);
        let share = row.predicted.map_or_else(String::new, |_| {
            format!(" ({})", percent(row.remainder().unwrap_or(0.0), point))
        });
        bars.push(Bar {
            pieces: vec![(point - left, OURS), (left, REMAINDER)],
            figure: of_record(record) + &share,
            ..Bar::new(record, "measured", OURS)
        });
    }
    bars.extend(row.published.filter(|_| row.measured.is_none()).map(|r| Bar::published(r, "")));
    Group { heading: row.what.clone(), bars }
}

/// Operations of a handshake per second.
pub(super) fn rates(records: &[Record]) -> Markup {
    let rates = Rates(records);
    let contenders = rates.contenders();
    let sentence = |operation| {
        let ours = rates.ours(operation, &contenders)?;
        let against = ["openssl", "aws-lc"].into_iter().filter_map(|by| {
            Some(format!(
                "{} times as fast as {}",
                ratio(rates.times(operation, ours, by)?),
                who(by)
            ))
        });
        let against = against.collect::<Vec<_>>().join(" and ");
        (!against.is_empty())
            .then(|| format!("{}: {} is {against}.", name(operation), rates.name(ours)))
    };
    let used = records.iter().filter(|record| {
        record.quantity == word::OPERATIONS_PER_S && record.subject.area() == Area::Operation
    });
    let mut shown = Vec::new();
    if !contenders.is_empty() {
        shown.push(("operations of a handshake per second".to_owned(), speed(records)));
    }
    Section {
        id: "operation-rates",
        title: "A server's operations per second of one core",
        see: "The key exchange of a handshake, and signatures with different keys. The bars of \
              each operation are multiples of the same library's rate. Blue is tollgate, grey are \
              the libraries. A batch is eight operations in one call, which needs eight that wait \
              at the same time; a server with few clients gets the speed of one at a time.",
        means: OPERATIONS.iter().filter_map(sentence).collect(),
        pictures: shown,
        tables: crate::speed::operations(records).into_iter().collect(),
        records: used.collect(),
        verb: "speed",
    }
    .markup()
}

/// The maximum number of protocols in the picture; the table has all of them.
const PROTOCOLS_MAX: usize = 3;

/// The cost of a session by part.
pub(super) fn sessions(records: &[Record]) -> Markup {
    let (ours, papers) = (session::sessions(records, false), session::sessions(records, true));
    let flagship = Flagship::new(records);
    let mut protocols = distinct(ours.iter().filter_map(|session| session.subject.protocol()));
    protocols.truncate(PROTOCOLS_MAX);
    let drawn: Vec<&Session<'_>> = ours
        .iter()
        .filter(|session| session.subject.protocol().is_some_and(|p| protocols.contains(&p)))
        .chain(&papers)
        .collect();
    let mut means = Vec::new();
    for by in ["tollgate", "openssl"] {
        let of =
            ours.iter().filter(|session| session.by() == by && flagship.is_of(&session.subject));
        let share = |session: &Session<'_>| {
            let share = percent(session.part(word::PART_RSA)?, session.total()?);
            Some(format!("{share} of {}", names::payload(session.bytes())))
        };
        let shares: Vec<String> = of.filter_map(share).collect();
        if let [first, .., last] = &*shares {
            let by = who(by);
            means.push(format!(
                "With {by} the RSA operation is {first}, and {last}: the handshake is paid once."
            ));
        }
    }
    Section {
        id: "session-cost",
        title: "What one session costs the server",
        see: "A bar is one session, handshake and transfer, in core cycles; its pieces are the \
              parts that were measured one by one and added up. The upright mark is the time of a \
              real server, measured as a whole; the gap between the bar and the mark is the \
              remainder. It is Figure 2 of the Itanium paper, today.",
        means,
        pictures: vec![("cycles of a session by part".to_owned(), stacked(&drawn))],
        tables: [session::costs(records)].into_iter().chain(session::halves(records)).collect(),
        records: drawn.iter().flat_map(|session| session.records()).collect(),
        verb: "explain",
    }
    .markup()
}

/// Draws sessions as bars of their parts, grouped by protocol, key and payload.
pub(super) fn stacked(sessions: &[&Session<'_>]) -> String {
    let mut groups: Vec<Group> = Vec::new();
    let mut parts: BTreeSet<&str> = BTreeSet::new();
    for session in sessions {
        let cited = session.records().find_map(cite::Citation::new);
        let heading = match &cited {
            Some(_) => "in print".to_owned(),
            None => {
                let offered = names::offered(&session.subject);
                let offered = offered.map_or_else(String::new, |offered| format!(", {offered}"));
                let size = names::payload(session.bytes());
                format!("{}, {size}{offered}", service(&session.subject))
            }
        };
        let label = cited.map_or_else(
            || who(session.by()).to_owned(),
            |cited| format!("{cited}, {}", names::payload(session.bytes())),
        );
        let measured = session.measured.map(|record| record.estimate.point());
        let total = session.total();
        let piece = |(part, record): &(&str, &Record)| (record.estimate.point(), of_part(part));
        let mut pieces: Vec<(f64, Colour)> = session.parts.iter().map(piece).collect();
        if pieces.is_empty() {
            pieces.extend(total.or(measured).map(|whole| (whole, PREDICTED)));
        }
        let costs = session.parts.iter().filter(|(_, record)| record.estimate.point() > 0.0);
        parts.extend(costs.map(|(part, _)| *part));
        let share = session.part(word::PART_RSA).zip(total);
        let share = share.map(|(rsa, total)| format!(", RSA {}", percent(rsa, total)));
        let whole = total.or(measured).map(|point| number(point, Unit::Cycles));
        let bar = Bar {
            label,
            pieces,
            interval: None,
            mark: measured.filter(|_| total.is_some()),
            figure: whole.unwrap_or_default() + &share.unwrap_or_default(),
        };
        push(&mut groups, heading, bar);
    }
    let known = PARTS.into_iter().filter(|part| parts.contains(part));
    let others = parts.iter().copied().filter(|part| !PARTS.contains(part));
    let legend = known.chain(others).map(|part| (of_part(part), names::part(part).to_owned()));
    Bars {
        title: "Core cycles of the server for one session",
        note: "mark: measured as a whole; a bar in one piece: measured, parts unknown",
        legend: legend.collect(),
        groups,
        unit: Unit::Cycles,
    }
    .svg()
}

/// Adds a bar to the group with this heading.
fn push(groups: &mut Vec<Group>, heading: String, bar: Bar) {
    match groups.iter_mut().find(|group| group.heading == heading) {
        Some(group) => group.bars.push(bar),
        None => groups.push(Group { heading, bars: vec![bar] }),
    }
}

/// Returns the colour of a part. The operation with the key has one, of whichever kind.
fn of_part(part: &str) -> Colour {
    match part {
        word::PART_RSA | word::PART_SIGNATURE => COLOURS[1],
        word::PART_KEY_EXCHANGE => COLOURS[0],
        word::PART_KEY_SCHEDULE => COLOURS[5],
        word::PART_RECORDS => COLOURS[2],
        word::PART_MAC => COLOURS[6],
        word::PART_LIBRARY => COLOURS[4],
        word::PART_SYSTEM => COLOURS[7],
        _ => COLOURS[3],
    }
}

/// Sessions per second of measured servers, and published rates.
pub(super) fn servers(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let rate = |origin, subject: &Subject| {
        lookup.record(origin, subject, word::SESSIONS_PER_S, Unit::PerSecond)
    };
    let servers: Vec<&Record> = lookup
        .measured(Area::Server)
        .into_iter()
        .filter_map(|subject| rate(Measured, subject))
        .collect();
    let predicted: Vec<&Record> =
        servers.iter().filter_map(|measured| rate(Predicted, &measured.subject)).collect();
    let mut papers: Vec<&Record> = records
        .iter()
        .filter(|record| {
            Origin::new(record) == Published
                && record.unit == Unit::PerSecond
                && matches!(
                    (record.subject.topic(), record.quantity),
                    (Topic::Server(_), word::SESSIONS_PER_S)
                        | (Topic::Fleet(_), word::SESSIONS_PER_S_PER_CORE)
                )
        })
        .collect();
    papers.sort_by(|x, y| y.estimate.point().total_cmp(&x.estimate.point()));
    let mut groups = Vec::new();
    for record in &servers {
        let subject = &record.subject;
        let payload = names::payload(names::bytes(subject));
        let heading = format!("{}, {payload}", names::handshake(subject));
        let predicted = rate(Predicted, subject).map(|predicted| predicted.estimate.point());
        let by = names::by(subject);
        push(
            &mut groups,
            heading,
            Bar {
                mark: predicted,
                ..Bar::new(record, who(by), colour(by, by.ends_with("tollgate")))
            },
        );
    }
    for record in &papers {
        let what = joined([names::suite(&record.subject), names::of_paper(record)]);
        let heading = "in print, one processor or core, in its year".to_owned();
        push(&mut groups, heading, Bar::published(record, &what));
    }
    let bars = Bars {
        title: "Sessions per second",
        note: "mark: predicted by rung 3, core clock over cycles of a session",
        legend: Vec::new(),
        groups,
        unit: Unit::PerSecond,
    };
    let mut means = pairs::sentences(records);
    means.extend(server::doubts(records));
    Section {
        id: "sessions-per-second",
        title: "Sessions per second",
        see: "How many full sessions a server finished in a second, all its threads together, \
              counted by the client and confirmed by the server's own log. Published figures have \
              the keys of their year: RSA-1024 is insecure today.",
        means,
        pictures: vec![(bars.title.to_owned(), bars.svg())],
        tables: server::tables(records),
        records: servers.iter().chain(&predicted).chain(&papers).copied().collect(),
        verb: "bench",
    }
    .markup()
}

/// The link of the picture in Gbps; the table has all.
const LINK: &str = "10";

/// Cores for a link, and the response time by load.
pub(super) fn fleets(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let fleets = sizes(records);
    let mut used = Vec::new();
    let mut groups = Vec::new();
    for (origin, fleet) in &fleets {
        let of_links = links(lookup, *origin, fleet);
        used.extend(of_links.iter().map(|(_, record)| *record));
        let Some((_, record)) = of_links.iter().find(|(gbps, _)| *gbps == LINK) else { continue };
        let size = names::payload(names::bytes(fleet));
        let by = names::by(fleet);
        if *origin == Published {
            let what = format!("{size}, {}", names::of_paper(record));
            push(&mut groups, "in print".to_owned(), Bar::published(record, &what));
        } else {
            let heading = format!("{}, {size}", names::handshake(fleet));
            push(
                &mut groups,
                heading,
                Bar::new(record, who(by), colour(by, by.ends_with("tollgate"))),
            );
        }
    }
    let mut pictures = Vec::new();
    if !groups.is_empty() {
        let bars = Bars {
            title: "Whole cores for a link of 10 Gbps, full of new sessions",
            note: "the papers move more in each session, so their cores and ours differ in footing",
            legend: Vec::new(),
            groups,
            unit: Unit::Count,
        };
        pictures.push((bars.title.to_owned(), bars.svg()));
    }
    let curves = curves(records);
    used.extend(curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.mean)));
    pictures.extend(response(&curves).map(|svg| ("mean response time by load".to_owned(), svg)));
    Section {
        id: "cores-per-link",
        title: "Cores for a link, and what they cost",
        see: "Whole cores that keep a link full, if every session is new and none is resumed; \
              what a million sessions cost; and how long a session takes from arrival to its end \
              when more of them arrive: the curve rises where the cores have no time left.",
        means: fleet::sentences(records),
        pictures,
        tables: fleet::tables(records),
        records: used,
        verb: "fleet",
    }
    .markup()
}

/// Draws the mean response time by sessions per second, of one service, to compare its engines.
fn response(curves: &[fleet::find::Curve<'_>]) -> Option<String> {
    let first = curves.first()?;
    let of_service = curves.iter().filter(|curve| curve.subject.topic() == first.subject.topic());
    let series = |(place, curve): (usize, &fleet::find::Curve<'_>)| {
        let at = |point: &fleet::find::Point<'_>| {
            Some((curve.rate(point.load)?, point.mean.estimate.point() / 1e6))
        };
        let name = format!("{}, {} cores", who(names::by(&curve.subject)), curve.cores);
        let points = curve.points.iter().filter_map(at).collect();
        Series { name, points, colour: place, is_dashed: false }
    };
    let series: Vec<Series> = of_service.take(COLOURS.len()).enumerate().map(series).collect();
    series.iter().any(|series| !series.points.is_empty()).then(|| {
        let plane = Plane {
            title: format!("Mean response time, {}", names::handshake(&first.subject)),
            axes: ["sessions per second that arrive".to_owned(), "ms".to_owned()],
            series,
            is_from_zero: false,
        };
        plane.svg()
    })
}

/// The table of kernels.
pub(super) fn kernels(records: &[Record]) -> Markup {
    let is_used = |record: &&Record| {
        record.subject.area() == Area::Kernel
            && [word::CYCLES_PER_CALL, word::BOUND_CYCLES_PER_CALL].contains(&record.quantity)
    };
    let table = kernel::kernels(records);
    let is_empty = table.rows.is_empty();
    Section {
        id: "kernels",
        title: "Kernels on this machine",
        see: "Every kernel that this processor can run, with the bound of the processor model.",
        means: Vec::new(),
        pictures: Vec::new(),
        tables: vec![table],
        records: records.iter().filter(is_used).filter(|_| !is_empty).collect(),
        verb: "kernel",
    }
    .markup()
}
