//! The cost of sessions to a server by part, and its table.

use tollgate_record::vocabulary::{
    ASSUMPTION, BATCH, CONNECTIONS, CYCLES_PER_SESSION, DETAIL, DETAIL_CURVES, DETAIL_EVP,
    DETAIL_KEM, DETAIL_KEM_KEY, PART, PART_IDLE, PART_KEY_EXCHANGE, PART_KEY_SCHEDULE,
    PART_LIBRARY, PART_MAC, PART_RECORDS, PART_RSA, PART_SIGNATURE, PART_SYSTEM,
};
use tollgate_record::{Protocol, Record, Subject, Topic, Unit};

use crate::cite::sources;
use crate::figure::{optional, percent};
use crate::flagship::ENGINES;
use crate::grid::{Column, GAP, fitting};
use crate::lookup::Origin::{self, Measured, Predicted, Published};
use crate::lookup::{Lookup, MISSING, distinct};
use crate::names::{self, who};
use crate::table::{Row, Table};

/// Parts in stacking order.
pub(crate) const PARTS: [&str; 8] = [
    PART_RSA,
    PART_SIGNATURE,
    PART_KEY_EXCHANGE,
    PART_KEY_SCHEDULE,
    PART_RECORDS,
    PART_MAC,
    PART_LIBRARY,
    PART_SYSTEM,
];

/// Protocols in display order.
const PROTOCOLS: [Protocol; 6] = [
    Protocol::Tls13,
    Protocol::Tls12X25519,
    Protocol::Tls12P256,
    Protocol::Tls12P384,
    Protocol::Tls12Dhe,
    Protocol::Tls12Rsa,
];

/// The columns of parts; one column has the operation with the key, of whichever kind.
const COLUMNS: [Column; 11] = fitting([
    Column::words("session", 27),
    Column::figures("RSA", 5),
    Column::figures("exch.", 5),
    Column::figures("sched.", 6),
    Column::figures("recs.", 5),
    Column::figures("MAC", 5),
    Column::figures("libr.", 5),
    Column::figures("system", 6),
    Column::figures("sum", 5),
    Column::figures("meas.", 5),
    Column::figures("remain", 6),
]);

/// The columns of a hybrid key exchange.
const HALVES: [Column; 6] = fitting([
    Column::words("hybrid key exchange", 36),
    Column::figures("X25519", 7),
    Column::figures("ML-KEM key", 10),
    Column::figures("ML-KEM secret", 13),
    Column::figures("EVP", 6),
    Column::figures("sum", 6),
]);

/// The column of the MAC, which is left out if no session has a cost of it.
const MAC: usize = 5;

/// The cost of one session: the predicted, published or profiled parts, and the measured total.
#[derive(Clone, Debug)]
pub(crate) struct Session<'a> {
    /// The subject without `part`.
    pub(crate) subject: Subject,
    /// Each part and its name. The parts in `PARTS` come first, in that order; the others follow in
    /// the order of the records.
    pub(crate) parts: Vec<(&'a str, &'a Record)>,
    /// The record of the sum of the parts.
    pub(crate) total: Option<&'a Record>,
    pub(crate) measured: Option<&'a Record>,
}

impl<'a> Session<'a> {
    /// Returns the predicted or published total; without such a record, the sum of the parts.
    pub(crate) fn total(&self) -> Option<f64> {
        let sum = || self.parts.iter().map(|(_, record)| record.estimate.point()).sum();
        let sum = (!self.parts.is_empty()).then(sum);
        self.total.map(|record| record.estimate.point()).or(sum).filter(|sum| sum.is_finite())
    }

    /// Returns the cycles of one part.
    pub(crate) fn part(&self, name: &str) -> Option<f64> {
        let (_, record) = self.parts.iter().find(|(part, _)| *part == name)?;
        Some(record.estimate.point())
    }

    /// Returns the implementation.
    pub(crate) fn by(&self) -> &str {
        names::by(&self.subject)
    }

    /// Returns the payload bytes.
    pub(crate) fn bytes(&self) -> u64 {
        names::bytes(&self.subject)
    }

    /// Returns all records of the session.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a Record> {
        let parts = self.parts.iter().map(|(_, record)| *record);
        parts.chain(self.total).chain(self.measured)
    }
}

/// Returns all published sessions, or all others: predicted sessions with their measured totals,
/// and sessions that have only a measured total. Sorted by protocol, payload and engine.
pub(crate) fn sessions(records: &[Record], published: bool) -> Vec<Session<'_>> {
    let origin = if published { Published } else { Predicted };
    let lookup = Lookup(records);
    let takes = |record: &Record| {
        let of = Origin::new(record);
        matches!(record.subject.topic(), Topic::Session(_))
            && record.quantity == CYCLES_PER_SESSION
            && record.unit == Unit::Cycles
            && record.subject.parameter(DETAIL).is_none()
            && record.subject.parameter(PART) != Some(PART_IDLE)
            && (of == origin || (of == Measured && !published))
    };
    let all = lookup.subjects(takes);
    let mut bare = distinct(all.iter().map(|subject| subject.without(&[PART])));
    bare.sort_by_key(|subject| {
        let key = (subject.key().map(ToString::to_string), names::offered(subject));
        (rank(subject.protocol()), key, names::bytes(subject), by_rank(subject))
    });
    let find = |origin, subject: &Subject| {
        lookup.record(origin, subject, CYCLES_PER_SESSION, Unit::Cycles)
    };
    let session = |subject: Subject| {
        let mut parts: Vec<(&str, &Record)> = all
            .iter()
            .filter(|full| full.without(&[PART]) == subject)
            .filter_map(|full| {
                let profiled = || find(Measured, full).filter(|_| !published);
                Some((full.parameter(PART)?, find(origin, full).or_else(profiled)?))
            })
            .collect();
        parts.sort_by_key(|(part, _)| PARTS.iter().position(|p| p == part).unwrap_or(PARTS.len()));
        let measured = find(Measured, &subject).filter(|_| !published);
        Session { parts, total: find(origin, &subject), measured, subject }
    };
    bare.into_iter().map(session).collect()
}

pub(crate) fn rank(protocol: Option<&Protocol>) -> usize {
    PROTOCOLS.iter().position(|known| Some(known) == protocol).unwrap_or(PROTOCOLS.len())
}

/// Returns the sort key of an engine: Tollgate first, and embedded servers before installed ones.
pub(crate) fn by_rank(subject: &Subject) -> usize {
    let by = names::by(subject);
    let place = |(place, engine): (usize, &&str)| {
        let server = by.strip_suffix(*engine)?;
        Some(place + if server.is_empty() { 0 } else { ENGINES.len() })
    };
    ENGINES.iter().enumerate().find_map(place).unwrap_or(2 * ENGINES.len())
}

/// Returns a row for every predicted session: its parts in core cycles, their sum, the measured
/// total, and the remainder as a share of that total. The published sessions follow.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let table = costs(records);
    if table.rows.is_empty() {
        return "no session was predicted: run `tollgate explain`\n".to_owned();
    }
    let halves = halves(records).map_or_else(String::new, |halves| format!("\n{}", halves.text()));
    let papers = sessions(records, true);
    table.text() + &halves + &sources(papers.iter().filter_map(|session| session.records().next()))
}

/// Returns a row for the hybrid key exchange of each implementation: its halves, and the rest of
/// the part. Payload and certificate do not affect them.
pub(crate) fn halves(records: &[Record]) -> Option<Table> {
    let lookup = Lookup(records);
    let details = [DETAIL_CURVES, DETAIL_KEM_KEY, DETAIL_KEM, DETAIL_EVP];
    let mut rows: Vec<Row> = Vec::new();
    let mut notes = vec![
        "Core cycles of the part exch. with X25519MLKEM768, each operation measured alone: key \
         pair and agreement of X25519; the client's key, with its hash and matrix; the \
         encapsulation; EVP: what they leave, contexts, fetches and copies of keys, below 0 where \
         a provider does both halves in one call for less"
            .to_owned(),
    ];
    for session in sessions(records, false) {
        let part = session.subject.with(PART, PART_KEY_EXCHANGE).ok()?;
        let find = |detail: &str| {
            let subject = part.with(DETAIL, detail).ok()?;
            lookup.record(Predicted, &subject, CYCLES_PER_SESSION, Unit::Cycles)
        };
        let name = who(session.by()).to_owned();
        let Some(rest) = find(DETAIL_EVP) else { continue };
        if rows.iter().any(|row| row.names == [name.as_str()]) {
            continue;
        }
        let cycles = |record: Option<&Record>| {
            optional(record.map(|record| record.estimate.point()), Unit::Cycles)
        };
        let mut cells: Vec<String> = details.iter().map(|detail| cycles(find(detail))).collect();
        cells.push(optional(session.part(PART_KEY_EXCHANGE), Unit::Cycles));
        notes.extend(rest.conditions.get(ASSUMPTION).map(|why| format!("{name}: {why}")));
        rows.push(Row { groups: Vec::new(), names: vec![name], cells });
    }
    (!rows.is_empty()).then(|| Table { columns: HALVES.into(), rows, notes })
}

/// Returns the same table as data, for a terminal or a page.
pub(crate) fn costs(records: &[Record]) -> Table {
    let (ours, papers) = (sessions(records, false), sessions(records, true));
    let is_other = |session: &Session<'_>| session.part(PART_SIGNATURE).is_some();
    let has_others = ours.iter().any(is_other);
    let mut columns: Vec<Column> = COLUMNS.into();
    if has_others {
        columns[1] = Column::figures("sign.", 5);
    }
    let is_absent = |part: &str| {
        let has = |session: &Session<'_>| session.part(part).is_some_and(|cycles| cycles != 0.0);
        !ours.iter().chain(&papers).any(has)
    };
    let has_mac = !is_absent(PART_MAC);
    if !has_mac {
        columns.remove(MAC);
        // the names get the space
        columns[0].width += COLUMNS[MAC].width + GAP as usize;
    }
    let mut notes = vec![
        "Core cycles of the server for one session. exch.: key exchange; sched.: key schedule and \
         hashes of the transcript; recs.: encryption of records; libr.: all other work of the TLS \
         library; system: TCP and system calls; meas.: measured; remain: measured - sum, as a \
         share of measured"
            .to_owned(),
    ];
    if has_mac {
        notes.push("MAC: of records, where it is separate".to_owned());
    }
    if has_others {
        notes.push("sign.: the RSA operation, or the signature with another key".to_owned());
    }
    notes.extend(batches(&ours));
    let rows = ours.iter().chain(&papers).map(|session| row(session, has_mac)).collect();
    Table { columns, rows, notes }
}

fn row(session: &Session<'_>, has_mac: bool) -> Row {
    let cycles = |point| optional(point, Unit::Cycles);
    let measured = session.measured.map(|record| record.estimate.point());
    let share = match (measured, session.total()) {
        (Some(measured), Some(total)) => percent(measured - total, measured),
        _ => MISSING.to_owned(),
    };
    // One column has the operation with the key, of whichever kind.
    let key_operation = session.part(PART_RSA).or(session.part(PART_SIGNATURE));
    let others = PARTS[2..].iter().map(|part| session.part(part));
    let mut cells: Vec<String> = [key_operation].into_iter().chain(others).map(cycles).collect();
    cells.extend([cycles(session.total()), cycles(measured), share]);
    if !has_mac {
        cells.remove(MAC - 1);
    }
    let name = named(session);
    let groups = [Some(names::service(&session.subject)), names::offered(&session.subject)];
    Row { groups: groups.into_iter().flatten().collect(), names: vec![name], cells }
}

/// Returns the payload and the engine: `14 KB, tollgate`.
fn named(session: &Session<'_>) -> String {
    format!("{}, {}", names::payload(session.bytes()), who(session.by()))
}

/// Returns a sentence on the batches of the predictions; `None` if all operations run alone.
fn batches(sessions: &[Session<'_>]) -> Option<String> {
    let batch = |session: &Session<'_>| {
        let conditions = &session.total?.conditions;
        let [batch, connections] = [BATCH, CONNECTIONS].map(|word| conditions.get(word));
        let (by, batch, connections) = (who(session.by()), batch?, connections?);
        Some(format!("{by} in batches of {batch}, with {connections} connections in flight"))
    };
    let all = distinct(sessions.iter().filter_map(batch)).join("; ");
    (!all.is_empty()).then(|| format!("Predicted operations with the server's key: {all}."))
}
