//! Rung 5: cores for a link, and the cost of a million sessions.

use tollgate_record::vocabulary::{
    COST_PER_MILLION, CURRENCY, LINK_GBPS, PRICED_MACHINE, UTILISATION, WHOLE_CORES,
};
use tollgate_record::{Area, Key, Record, Subject, Topic, Unit};

use super::{Content, Figure};
use crate::figure::{number, percent};
use crate::flagship::{ENGINES, Flagship};
use crate::lookup::Lookup;
use crate::lookup::Origin::{Predicted, Published};
use crate::names::{self, who};

/// The link rate in Gbps, written as in the subjects of records.
const LINK: &str = "10";

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let lookup = Lookup(records);
    let flagship = Flagship::new(records);
    let shown = flagship.shown(Topic::Fleet, records);
    let (mut rows, mut sentences) = (Vec::new(), Vec::new());
    let of = |key: &Key, by: &str| flagship.subject(Topic::Fleet, key, by);
    let find = |key: &Key, by: &str| cores(lookup, &of(key, by)?);
    for (key, by) in flagship.rows() {
        let Some(subject) = of(key, &by) else { continue };
        let row = Figure::new(names::key_and_by(&subject), Unit::Count, "cores");
        let row = row.headed(format!("{LINK} Gbps of {}", flagship.transfer()));
        let row = row.predicted(find(key, &by));
        let is_shown = shown.contains(&by);
        rows.push(Figure { is_shown, ..row });
        if let Some(server) = by.strip_suffix(ENGINES[0]).filter(|_| is_shown) {
            let theirs = find(key, &format!("{server}{}", ENGINES[1]));
            sentences.extend(find(key, &by).map(|ours| sentence(ours, theirs)));
        }
    }
    for (key, by) in flagship.rows() {
        let subject = of(key, &by);
        let Some(cost) = subject.as_ref().and_then(|subject| cost(lookup, subject)) else {
            continue;
        };
        let currency = cost.subject.parameter(CURRENCY).unwrap_or("?");
        let what = names::key_and_by(&cost.subject);
        let row = Figure::new(what, Unit::Count, currency).headed("10^6 sessions");
        rows.push(row.predicted(Some(cost)));
    }
    rows.extend(as_published(records));
    (rows, sentences)
}

fn cores<'a>(lookup: Lookup<'a>, subject: &Subject) -> Option<&'a Record> {
    let subject = subject.with(LINK_GBPS, LINK).ok()?;
    lookup.record(Predicted, &subject, WHOLE_CORES, Unit::Count)
}

/// Returns the cost in any currency and on any machine, the first of a price file.
fn cost<'a>(lookup: Lookup<'a>, subject: &Subject) -> Option<&'a Record> {
    lookup.all(Predicted, COST_PER_MILLION).find(|record| {
        let bare = record.subject.without(&[CURRENCY, PRICED_MACHINE]);
        record.unit == Unit::Count && bare == *subject
    })
}

/// Compares Tollgate with OpenSSL on a link.
fn sentence(ours: &Record, theirs: Option<&Record>) -> String {
    let cores = |record: &Record| number(record.estimate.point(), Unit::Count);
    let busy = ours.conditions.get(UTILISATION);
    let busy = busy.and_then(|share| share.parse::<f64>().ok()).filter(|share| share.is_finite());
    let busy = busy.map_or_else(String::new, |share| format!(", busy to {}", percent(share, 1.0)));
    let theirs = theirs.map_or_else(String::new, |theirs| {
        format!(" instead of {} with {}", cores(theirs), who(names::by(&theirs.subject)))
    });
    format!(
        "{}: a link of {LINK} Gbps keeps {} cores{theirs}{busy}.",
        names::key_and_by(&ours.subject),
        cores(ours),
    )
}

/// Returns the published figure with the fewest cores for the link.
fn as_published(records: &[Record]) -> Option<Figure<'_>> {
    let fewest = Lookup(records)
        .all(Published, WHOLE_CORES)
        .filter(|r| r.unit == Unit::Count && r.subject.area() == Area::Fleet)
        .filter(|r| r.subject.parameter(LINK_GBPS) == Some(LINK))
        .min_by(|x, y| x.estimate.point().total_cmp(&y.estimate.point()))?;
    let payload = names::payload(names::bytes(&fewest.subject));
    // Ours have head room: the row says whether the paper's have it.
    let busy = fewest.conditions.get(UTILISATION).and_then(|share| share.parse::<f64>().ok());
    let how = busy
        .map_or_else(|| "published".to_owned(), |share| format!("busy {}", percent(share, 1.0)));
    let row = Figure::new(format!("10 Gbps of {payload}, {how}"), Unit::Count, "cores");
    Some(row.published(Some(fewest)))
}
