//! Rung 3: the cost of one session to a server.

use tollgate_record::vocabulary::{CYCLES_PER_SESSION, PART_RSA, PART_SIGNATURE};
use tollgate_record::{Record, Topic, Unit};

use super::{Content, Figure};
use crate::figure::{number, percent};
use crate::flagship::Flagship;
use crate::names;
use crate::session::{Session, sessions};

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let flagship = Flagship::new(records);
    let all = sessions(records, false);
    let shown = flagship.shown(Topic::Session, records);
    let mut rows = Vec::new();
    let mut sentences = Vec::new();
    for (key, by) in flagship.rows() {
        let wanted = flagship.subject(Topic::Session, key, &by);
        let session = all.iter().find(|session| Some(&session.subject) == wanted.as_ref());
        let Some(session) = session else { continue };
        let row = row(session, &flagship);
        let is_shown = shown.contains(&by);
        rows.push(Figure { is_shown, ..row });
        sentences.extend(sentence(session).filter(|_| is_shown));
    }
    rows.extend(as_published(records));
    (rows, sentences)
}

fn row<'a>(session: &Session<'a>, flagship: &Flagship) -> Figure<'a> {
    let mut row = Figure::new(names::key_and_by(&session.subject), Unit::Cycles, "cycles");
    row = row.headed(flagship.words()).measured(session.measured);
    row.predicted = session.total();
    row.sources = session.records().filter(|r| Some(*r) != session.measured).collect();
    row
}

/// Returns the most expensive published session.
fn as_published(records: &[Record]) -> Option<Figure<'_>> {
    let all = sessions(records, true);
    let dearest = all
        .iter()
        .filter_map(|session| Some((session.total()?, session)))
        .max_by(|x, y| x.0.total_cmp(&y.0))?
        .1;
    let what = format!(
        "{} {}, published",
        names::suite(&dearest.subject),
        names::payload(dearest.bytes())
    );
    let row = Figure::new(what, Unit::Cycles, "cycles");
    Some(row.published(dearest.total.filter(|r| r.quantity == CYCLES_PER_SESSION)))
}

/// Returns a sentence on the shares of the signature and of the remainder.
fn sentence(session: &Session<'_>) -> Option<String> {
    let total = session.total()?;
    let (what, signature) = match session.part(PART_RSA) {
        Some(rsa) => ("RSA operation", rsa),
        None => ("signature", session.part(PART_SIGNATURE)?),
    };
    let (whole, of) = match session.measured {
        Some(measured) => (measured.estimate.point(), "measured"),
        None => (total, "predicted"),
    };
    let left = session.measured.map_or_else(String::new, |measured| {
        let measured = measured.estimate.point();
        format!("; the sum of all parts leaves {} unexplained", percent(measured - total, measured))
    });
    Some(format!(
        "{}: the {what} is {} of the {} cycles {of}{left}.",
        names::key_and_by(&session.subject),
        percent(signature, whole),
        number(whole, Unit::Cycles),
    ))
}
