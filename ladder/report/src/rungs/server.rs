//! Rung 4: sessions per second.

use tollgate_record::vocabulary::{
    AGAINST, BATCH, BY, SERVER_CPU_RATIO, SESSIONS_PER_S, SESSIONS_PER_S_RATIO,
};
use tollgate_record::{Area, Estimate, Key, Quantity, Record, Topic, Unit};

use super::{Content, Figure};
use crate::figure::percent;
use crate::flagship::{ENGINES, Flagship};
use crate::lookup::Origin::{Measured, Predicted, Published};
use crate::lookup::{Lookup, ratio};
use crate::names::{self, who};
use crate::server::mean_batch;

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let lookup = Lookup(records);
    let flagship = Flagship::new(records);
    let shown = flagship.shown(Topic::Server, records);
    let mut rows = Vec::new();
    let mut sentences = Vec::new();
    for (key, by) in flagship.rows() {
        let Some(subject) = flagship.subject(Topic::Server, key, &by) else { continue };
        let find = |origin| lookup.record(origin, &subject, SESSIONS_PER_S, Unit::PerSecond);
        let row = Figure::new(names::key_and_by(&subject), Unit::PerSecond, "per s");
        let row = row.headed(flagship.words()).predicted(find(Predicted)).measured(find(Measured));
        rows.push(Figure { is_shown: shown.contains(&by), ..row });
        let Some(server) = by.strip_suffix(ENGINES[1]) else { continue };
        let ratio_of = |quantity| ratio_record(lookup, &flagship, (key, server), quantity);
        if let Some(record) = ratio_of(SESSIONS_PER_S_RATIO) {
            let (low, high) = record.estimate.interval();
            let server = if server.is_empty() { "ratio" } else { server.trim_end_matches('-') };
            let what = format!("{}, {server} [{low:.2}-{high:.2}]", names::key(key));
            let row = Figure::new(what, Unit::Ratio, "times").headed(flagship.words());
            rows.push(row.measured(Some(record)));
            let cpu = ratio_of(SERVER_CPU_RATIO).map(|record| &record.estimate);
            let ours = names::key_and_by(&record.subject.without(&[AGAINST]));
            sentences.push(compared(&ours, &record.estimate, cpu, who(&by)));
        }
    }
    sentences.extend(explained(lookup, &rows));
    rows.extend(as_published(records, &flagship.payload()));
    (rows, sentences)
}

/// Returns the ratio of Tollgate to OpenSSL for this key and server.
fn ratio_record<'a>(
    lookup: Lookup<'a>,
    flagship: &Flagship,
    (key, server): (&Key, &str),
    quantity: Quantity,
) -> Option<&'a Record> {
    let [ours, theirs] = ENGINES.map(|engine| format!("{server}{engine}"));
    let subject = flagship.subject(Topic::Server, key, &ours)?.with(AGAINST, theirs).ok()?;
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
