//! The handshake as a sequence of messages, with the cost of each to the server.

use maud::{Markup, html};
use tollgate_record::vocabulary::{CYCLES_PER_MESSAGE, MESSAGE};
use tollgate_record::{Protocol, Record, Topic, Unit};

use super::scale::{Scale, percent};
use super::section::Section;
use crate::figure::{self, number};
use crate::flagship::Flagship;
use crate::lookup::Origin::Predicted;
use crate::lookup::{Lookup, MISSING};
use crate::names;

/// Messages of TLS 1.2 in their order. Other messages follow in the order of their records.
const TLS12: [&str; 12] = [
    "client-hello",
    "server-hello",
    "certificate",
    "server-key-exchange",
    "server-hello-done",
    "client-key-exchange",
    "client-finished",
    "server-finished",
    "finished",
    "request",
    "application-data",
    "response",
];

/// Messages of TLS 1.3 in their order; the server sends its Finished first.
const TLS13: [&str; 12] = [
    "client-hello",
    "server-hello",
    "encrypted-extensions",
    "certificate",
    "certificate-verify",
    "server-finished",
    "finished",
    "client-finished",
    "new-session-ticket",
    "request",
    "application-data",
    "response",
];

/// Height of one message, and of the space above the first one, in pixels.
const STEP: u32 = 44;
const HEAD: u32 = 56;
/// Horizontal positions of the client, the server and the costs, in percent.
const CLIENT: f64 = 12.0;
const SERVER: f64 = 60.0;
const COST: f64 = 75.0;
/// Maximum number of characters of a message's name.
const NAME_MAX: usize = 22;

pub(super) fn section(records: &[Record]) -> Markup {
    let diagrams = diagrams(records);
    Section {
        id: "handshake",
        title: "The handshake, message by message",
        see: html! {
            "Time runs downwards. Each arrow is a message. On the server's side are its costs \
             in core cycles: the upper bar and figure with tollgate, the lower bar and figure \
             with OpenSSL. It is Figure 1 of the Itanium paper, with \
             costs."
        },
        means: diagrams.iter().filter_map(Diagram::dearest).collect(),
        picture: html! {
            div.panels { @for diagram in &diagrams { (diagram.markup()) } }
        },
        below: html! {},
        records: diagrams.iter().flat_map(Diagram::records).collect(),
        verb: "session",
    }
    .markup()
}

/// The diagram of one protocol.
struct Diagram<'a> {
    protocol: Protocol,
    messages: Vec<Message<'a>>,
}

struct Message<'a> {
    name: &'a str,
    ours: Option<&'a Record>,
    theirs: Option<&'a Record>,
}

fn diagrams(records: &[Record]) -> Vec<Diagram<'_>> {
    let flagship = Flagship::of(records);
    let protocols = flagship.protocols.iter();
    let of = |protocol: &Protocol| Diagram {
        protocol: protocol.clone(),
        messages: messages(records, &flagship, protocol),
    };
    protocols.map(of).filter(|diagram| !diagram.messages.is_empty()).collect()
}

/// Returns the messages of the summary's session. If no record has the summary's payload, any
/// payload counts.
fn messages<'a>(
    records: &'a [Record],
    flagship: &Flagship,
    protocol: &Protocol,
) -> Vec<Message<'a>> {
    let lookup = Lookup(records);
    let subjects = lookup.subjects(|record| {
        record.quantity == CYCLES_PER_MESSAGE
            && record.unit == Unit::Cycles
            && matches!(record.subject.topic(), Topic::Session(_))
            && record.subject.key() == Some(&flagship.key)
            && record.subject.protocol() == Some(protocol)
    });
    let mut found: Vec<Message<'_>> = Vec::new();
    for subject in subjects {
        let Some(name) = subject.parameter(MESSAGE) else { continue };
        let cost = lookup.record(Predicted, subject, CYCLES_PER_MESSAGE, Unit::Cycles);
        let place = found.iter().position(|message| message.name == name).unwrap_or_else(|| {
            found.push(Message { name, ours: None, theirs: None });
            found.len() - 1
        });
        let side = match names::by(subject) {
            "tollgate" => &mut found[place].ours,
            _ => &mut found[place].theirs,
        };
        *side = cost.or(*side);
    }
    let order = if *protocol == Protocol::Tls13 { TLS13 } else { TLS12 };
    let rank = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
    found.sort_by_key(|message| rank(message.name));
    found
}

impl<'a> Message<'a> {
    fn is_of_client(&self) -> bool {
        self.name.starts_with("client-") || matches!(self.name, "connect" | "request" | "get")
    }

    fn costs(&self) -> [Option<&'a Record>; 2] {
        [self.ours, self.theirs]
    }
}

impl<'a> Diagram<'a> {
    fn records(&self) -> impl Iterator<Item = &'a Record> {
        self.messages.iter().flat_map(Message::costs).flatten()
    }

    /// Returns a sentence on the message with the highest cost.
    fn dearest(&self) -> Option<String> {
        let cost = |message: &Message<'_>| Some(message.ours.or(message.theirs)?.estimate.point());
        let all: Vec<(f64, &str)> =
            self.messages.iter().filter_map(|m| Some((cost(m)?, m.name))).collect();
        let sum: f64 = all.iter().map(|(cycles, _)| cycles).sum();
        let (most, name) = all.into_iter().max_by(|x, y| x.0.total_cmp(&y.0))?;
        Some(format!(
            "{}: {} of the handshake goes into {}, where the server signs with its RSA key or \
             undoes what was encrypted to it.",
            names::protocol(&self.protocol),
            figure::percent(most, sum),
            words(name),
        ))
    }

    fn markup(&self) -> Markup {
        let scale = Scale::of(self.records().map(|record| record.estimate.point()));
        let count = u32::try_from(self.messages.len()).unwrap_or(0);
        let height = HEAD + STEP * count + 10;
        html! {
            figure.sequence {
                figcaption { (names::protocol(&self.protocol)) }
                svg width="100%" height=(height) role="img"
                    aria-label={ "messages of " (names::protocol(&self.protocol)) }
                {
                    @for (at, who) in [(CLIENT, "client"), (SERVER, "server")] {
                        text.actor x=(percent(at)) y="18" text-anchor="middle" { (who) }
                        line.lifeline x1=(percent(at)) x2=(percent(at)) y1="26" y2=(height) {}
                    }
                    text.tick x="100%" y="18" text-anchor="end" { "cycles" }
                    @for (message, place) in self.messages.iter().zip(0_u32..) {
                        (arrow(message, HEAD + STEP * place, &scale))
                    }
                }
            }
        }
    }
}

fn arrow(message: &Message<'_>, y: u32, scale: &Scale) -> Markup {
    let (from, to) = if message.is_of_client() { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let name: String = words(message.name).chars().take(NAME_MAX).collect();
    let classes = ["ours", "library"];
    html! {
        text.message x=(percent((CLIENT + SERVER) / 2.0)) y=(y - 6) text-anchor="middle" { (name) }
        line.arrow x1=(percent(from)) x2=(percent(to)) y1=(y) y2=(y) marker-end="url(#arrow)" {}
        @for ((cost, class), place) in message.costs().iter().zip(classes).zip(0_u32..) {
            @if let Some(record) = cost {
                @let width = scale.at(record.estimate.point()) * (100.0 - COST) / 100.0;
                @let middle = y - 7 + 14 * place;
                text.cost x=(percent(COST)) dx="-5" y=(middle + 4) text-anchor="end" {
                    (number(record.estimate.point(), Unit::Cycles))
                }
                rect class=(class) x=(percent(COST)) y=(middle - 5) width=(percent(width))
                    height="10" {}
            }
        }
        @if message.costs().iter().all(Option::is_none) {
            text.cost x=(percent(COST)) dx="-5" y=(y + 4) text-anchor="end" { (MISSING) }
        }
    }
}

/// Turns `server-key-exchange` into `server key exchange`.
fn words(name: &str) -> String {
    name.replace('-', " ")
}
