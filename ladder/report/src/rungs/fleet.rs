//! Rung 5: cores for a link, and the cost of a million sessions.

use tollgate_record::vocabulary::{
    COST_PER_MILLION, CURRENCY, LINK_GBPS, PRICED_MACHINE, UTILISATION, WHOLE_CORES,
};
use tollgate_record::{Area, Protocol, Record, Subject, Topic, Unit};

use super::{Content, Figure};
use crate::figure::{number, percent};
use crate::flagship::Flagship;
use crate::lookup::Lookup;
use crate::lookup::Origin::{Predicted, Published};
use crate::names::{self, who};

/// Link rates in Gbps, written as in the subjects of records.
pub(crate) const LINKS: [&str; 3] = ["1", "10", "100"];

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let lookup = Lookup(records);
    let flagship = Flagship::new(records);
    let mut rows = Vec::new();
    let protocol = flagship.protocols.first().unwrap_or(&Protocol::Tls13);
    let of = |by: &str| flagship.subject(Topic::Fleet, protocol, by);
    let payload = flagship.payload();
    for gbps in LINKS {
        for by in ["tollgate", "openssl"] {
            let cores = of(by).and_then(|subject| cores(lookup, &subject, gbps));
            let row =
                Figure::new(format!("{gbps} Gbps of {payload}, {}", who(by)), Unit::Count, "cores");
            rows.push(Figure { is_shown: gbps == LINKS[1], ..row.predicted(cores) });
        }
    }
    for by in ["tollgate", "openssl"] {
        let Some(cost) = of(by).and_then(|subject| cost(lookup, &subject)) else {
            continue;
        };
        let currency = cost.subject.parameter(CURRENCY).unwrap_or("?");
        let row = Figure::new(format!("10^6 sessions, {}", who(by)), Unit::Count, currency);
        rows.push(row.predicted(Some(cost)));
    }
    let sentences = sentence(&rows, protocol, &payload).into_iter().collect();
    rows.extend(as_published(records));
    (rows, sentences)
}

fn cores<'a>(lookup: Lookup<'a>, subject: &Subject, gbps: &str) -> Option<&'a Record> {
    let subject = subject.with(LINK_GBPS, gbps).ok()?;
    lookup.record(Predicted, &subject, WHOLE_CORES, Unit::Count)
}

/// Returns the cost in any currency and on any machine, the first of a price file.
fn cost<'a>(lookup: Lookup<'a>, subject: &Subject) -> Option<&'a Record> {
    lookup.all(Predicted, COST_PER_MILLION).find(|record| {
        let bare = record.subject.without(&[CURRENCY, PRICED_MACHINE]);
        record.unit == Unit::Count && bare == *subject
    })
}

/// Compares Tollgate with OpenSSL on the middle link of `LINKS`.
fn sentence(rows: &[Figure<'_>], protocol: &Protocol, payload: &str) -> Option<String> {
    let cores = |by: &str| {
        let what = format!("{} Gbps of {payload}, {by}", LINKS[1]);
        let row = rows.iter().find(|row| row.what == what)?;
        Some((row.predicted?, *row.sources.first()?))
    };
    let (ours, record) = cores("tollgate")?;
    let busy = record.conditions.get(UTILISATION);
    let busy = busy.and_then(|share| share.parse::<f64>().ok()).filter(|share| share.is_finite());
    let busy = busy.map_or_else(String::new, |share| format!(", busy to {}", percent(share, 1.0)));
    let theirs = cores("OpenSSL").map_or_else(String::new, |(theirs, _)| {
        format!(" instead of {} with OpenSSL", number(theirs, Unit::Count))
    });
    Some(format!(
        "A link of {} Gbps, full of {} sessions of {payload}, keeps {} cores{theirs}{busy}.",
        LINKS[1],
        names::protocol(protocol),
        number(ours, Unit::Count),
    ))
}

/// Returns the published figure with the fewest cores for the middle link of `LINKS`.
fn as_published(records: &[Record]) -> Option<Figure<'_>> {
    let fewest = Lookup(records)
        .all(Published, WHOLE_CORES)
        .filter(|r| r.unit == Unit::Count && r.subject.area() == Area::Fleet)
        .filter(|r| r.subject.parameter(LINK_GBPS) == Some(LINKS[1]))
        .min_by(|x, y| x.estimate.point().total_cmp(&y.estimate.point()))?;
    let payload = names::payload(names::bytes(&fewest.subject));
    // Ours have head room: the row says whether the paper's have it.
    let busy = fewest.conditions.get(UTILISATION).and_then(|share| share.parse::<f64>().ok());
    let how = busy
        .map_or_else(|| "published".to_owned(), |share| format!("busy {}", percent(share, 1.0)));
    let row = Figure::new(format!("10 Gbps of {payload}, {how}"), Unit::Count, "cores");
    Some(row.published(Some(fewest)))
}
