//! The cost of a session by the size of the transfer, with the crossover.

use maud::{Markup, html};
use tollgate_record::vocabulary::{BY, BYTES, BYTES_WHERE_DOUBLE};
use tollgate_record::{Record, Subject, Unit};

use super::plot::{Line, Names, Plot};
use super::scale::Scale;
use crate::figure::number;
use crate::lookup::Lookup;
use crate::lookup::Origin::Predicted;
use crate::lookup::distinct;
use crate::names::{self, who};
use crate::session::Session;

/// Maximum number of charts; the table of `tollgate session --curve` has all kinds of sessions.
const CHARTS_MAX: usize = 4;

/// Draws a chart for each kind of session with a predicted crossover: cycles by bytes, with a line
/// for each engine. Empty if there is no crossover.
pub(super) fn charts(records: &[Record], sessions: &[Session<'_>]) -> Markup {
    let crossovers: Vec<&Record> = Lookup(records).all(Predicted, BYTES_WHERE_DOUBLE).collect();
    let kinds = distinct(crossovers.iter().map(|record| record.subject.without(&[BY])));
    html! {
        @for kind in kinds.iter().take(CHARTS_MAX) { (chart(kind, &crossovers, sessions)) }
    }
}

fn chart(kind: &Subject, crossovers: &[&Record], sessions: &[Session<'_>]) -> Markup {
    let of_kind = |session: &&Session<'_>| session.subject.without(&[BY, BYTES]) == *kind;
    let engines = distinct(sessions.iter().filter(of_kind).map(Session::by));
    let points = |by: &str| -> Vec<(f64, f64)> {
        let own = sessions.iter().filter(of_kind).filter(|session| session.by() == by);
        let mut points: Vec<(f64, f64)> =
            own.filter_map(|session| Some((bytes(session), session.total()?))).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    };
    let all: Vec<(&str, Vec<(f64, f64)>)> =
        engines.into_iter().map(|by| (by, points(by))).collect();
    let x = Scale::of(all.iter().flat_map(|(_, points)| points).map(|point| point.0));
    let y = Scale::of(all.iter().flat_map(|(_, points)| points).map(|point| point.1));
    let line = |(by, points): &(&str, Vec<(f64, f64)>)| Line {
        name: who(by).to_owned(),
        class: match *by {
            "tollgate" => "line-ours",
            "openssl" => "line-library",
            _ => "line-other",
        },
        strokes: vec![points.iter().map(|point| (x.at(point.0), y.at(point.1))).collect()],
    };
    let is_of_kind = |record: &&&Record| record.subject.without(&[BY]) == *kind;
    let at: Vec<String> = crossovers
        .iter()
        .filter(is_of_kind)
        .map(|record| {
            let bytes = number(record.estimate.point(), Unit::Bytes);
            format!("{bytes} bytes with {}", who(names::by(&record.subject)))
        })
        .collect();
    let offered = names::offered(kind).map(|names| format!(", {names}")).unwrap_or_default();
    let plot = Plot {
        caption: html! { "Cost by size, " (names::service(kind)) (offered) },
        label: "core cycles of a session by bytes of the response".to_owned(),
        x: x.ticks_in(Unit::Bytes, " bytes"),
        y: y.ticks(Unit::Cycles),
        lines: all.iter().map(line).collect(),
        names: Names::Above,
        note: html! {
            "Across: bytes of the response. Up: predicted core cycles of the server for one \
             session. The transfer costs as much as the handshake at " (at.join(", ")) "."
        },
    };
    plot.markup()
}

#[allow(clippy::cast_precision_loss, reason = "sizes of responses")]
fn bytes(session: &Session<'_>) -> f64 {
    session.bytes() as f64
}

#[cfg(test)]
mod tests {
    use tollgate_record::vocabulary::{CYCLES_PER_SESSION, SESSION_RUNG};
    use tollgate_record::{Estimate, Kind, Machine};

    use super::*;
    use crate::session::sessions;

    #[test]
    fn a_chart_has_a_line_for_each_engine_and_names_the_crossover() {
        let record = |subject: String, quantity, unit, point| {
            let kind = Kind::Predicted { by: SESSION_RUNG.to_owned(), from: vec![] };
            let figure = (quantity, unit, Estimate::exact(point).unwrap());
            Record::new(subject.parse().unwrap(), figure, kind, Machine::unknown("x"))
        };
        let mut records = Vec::new();
        for (by, handshake) in [("openssl", 1e6), ("tollgate", 5e5)] {
            for (bytes, cost) in [(0, handshake), (1_000_000, handshake + 2e6)] {
                let subject = format!("session/rsa-2048/tls13?by={by}&bytes={bytes}");
                records.push(record(subject, CYCLES_PER_SESSION, Unit::Cycles, cost));
            }
        }
        let draw = |records: &[Record]| charts(records, &sessions(records, false)).into_string();
        assert_eq!(draw(&records), "");
        let kind = "session/rsa-2048/tls13?by=tollgate".to_owned();
        records.push(record(kind, BYTES_WHERE_DOUBLE, Unit::Bytes, 250_000.0));
        let page = draw(&records);
        assert_eq!(page.matches("points=\"0.00,").count(), 2, "{page}");
        assert!(page.contains("250k bytes with tollgate"), "{page}");
    }
}
