//! Rung 4: sessions per second.

use tollgate_record::vocabulary::{
    AGAINST, BATCH, BY, SERVER_CPU_RATIO, SESSIONS_PER_S, SESSIONS_PER_S_RATIO,
};
use tollgate_record::{Area, Estimate, Protocol, Quantity, Record, Topic, Unit};

use super::{Content, Figure};
use crate::figure::percent;
use crate::flagship::Flagship;
use crate::lookup::Origin::{Measured, Predicted, Published};
use crate::lookup::{Lookup, ratio};
use crate::names::{self, who};
use crate::server::mean_batch;

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let lookup = Lookup(records);
    let flagship = Flagship::new(records);
    let payload = flagship.payload();
    let mut rows = Vec::new();
    let mut sentences = Vec::new();
    for protocol in &flagship.protocols {
        let name = names::protocol(protocol);
        for by in ["tollgate", "openssl"] {
            let Some(subject) = flagship.subject(Topic::Server, protocol, by) else {
                continue;
            };
            let find = |origin| lookup.record(origin, &subject, SESSIONS_PER_S, Unit::PerSecond);
            let row =
                Figure::new(format!("{name} {payload}, {}", who(by)), Unit::PerSecond, "per s");
            let mut row = row.predicted(find(Predicted)).measured(find(Measured));
            row.is_shown = Some(protocol) == flagship.protocols.first();
            rows.push(row);
        }
        let ratio_of = |quantity| ratio_record(lookup, &flagship, protocol, quantity);
        if let Some(record) = ratio_of(SESSIONS_PER_S_RATIO) {
            let (low, high) = record.estimate.interval();
            let row = Figure::new(format!("ratio [{low:.2}-{high:.2}]"), Unit::Ratio, "times");
            rows.push(row.measured(Some(record)));
            if Some(protocol) == flagship.protocols.first() {
                let cpu = ratio_of(SERVER_CPU_RATIO).map(|record| &record.estimate);
                let against = who(record.subject.parameter(AGAINST).unwrap_or_default());
                sentences.push(compared(
                    &format!("{name}, {payload}"),
                    &record.estimate,
                    cpu,
                    against,
                ));
            }
        }
    }
    sentences.extend(explained(lookup, &rows));
    rows.extend(as_published(records, &payload));
    (rows, sentences)
}

/// Returns the ratio of Tollgate to OpenSSL for this protocol.
fn ratio_record<'a>(
    lookup: Lookup<'a>,
    flagship: &Flagship,
    protocol: &Protocol,
    quantity: Quantity,
) -> Option<&'a Record> {
    let subject =
        flagship.subject(Topic::Server, protocol, "tollgate")?.with(AGAINST, "openssl").ok()?;
    lookup.record(Measured, &subject, quantity, Unit::Ratio)
}

fn compared(what: &str, rate: &Estimate, cpu: Option<&Estimate>, against: &str) -> String {
    let cpu = cpu.map_or_else(String::new, |cpu| {
        format!(", with {} of its CPU time for each", percent(cpu.point(), 1.0))
    });
    format!("{what}: {} times the sessions per second of {against}{cpu}.", ratio(rate))
}

/// Returns a sentence on the share of the first rate that rung 3 explains, and on the batches of
/// both figures.
fn explained(lookup: Lookup<'_>, rows: &[Figure<'_>]) -> Option<String> {
    let row = rows.iter().find(|row| row.remainder().is_some())?;
    let (predicted, measured) = (row.predicted?, row.measured?);
    let batch = row.sources.iter().find_map(|record| record.conditions.get(BATCH));
    let batch = batch.map_or_else(String::new, |batch| format!(", in batches of {batch}"));
    let mean = mean_batch(lookup, &measured.subject);
    let mean = mean.map_or_else(String::new, |mean| format!(", in batches of {mean} on average"));
    Some(format!(
        "Core clock over the predicted cycles of a session gives {} sessions per second{batch}; \
         the server reached {} of them{mean} ({}).",
        crate::figure::number(predicted, Unit::PerSecond),
        percent(measured.estimate.point(), predicted),
        row.what,
    ))
}

/// Returns the best published rate with this payload; if there is none, the best with any.
fn as_published<'a>(records: &'a [Record], payload: &str) -> Option<Figure<'a>> {
    let is_same = |record: &Record| names::payload(names::bytes(&record.subject)) == payload;
    let best = Lookup(records)
        .all(Published, SESSIONS_PER_S)
        .filter(|r| r.unit == Unit::PerSecond && r.subject.area() == Area::Server)
        .filter(|r| r.subject.parameter(BY).is_some())
        .max_by(|x, y| {
            let point = |record: &Record| record.estimate.point();
            is_same(x).cmp(&is_same(y)).then(point(x).total_cmp(&point(y)))
        })?;
    let key = names::suite(&best.subject);
    let what = format!("{key} {}, published", names::payload(names::bytes(&best.subject)));
    Some(Figure::new(what, Unit::PerSecond, "per s").published(Some(best)))
}
