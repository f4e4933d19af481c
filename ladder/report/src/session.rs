//! The table of sessions: the cost of each to a server, by part.

use tollgate_record::{Record, Unit};

use crate::figure::{difference, number, percent};
use crate::grid::{Column, grid};
use crate::lookup::MISSING;
use crate::names::{self, who};
use crate::sessions::{PARTS, Session, sessions};
use crate::text::wrapped;

const COLUMNS: [Column; 11] = [
    Column::words("session", 25),
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
];

/// Every predicted session: its parts in core cycles, their sum, the measured total, and the
/// remainder as a share of that; then the published ones.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let (ours, papers) = (sessions(records, false), sessions(records, true));
    if ours.is_empty() && papers.is_empty() {
        return "no session was predicted: run `tollgate session`\n".to_owned();
    }
    let mut text = grid(&COLUMNS, rows(&ours, &papers));
    text += &wrapped(
        "Core cycles of the server for one session. exch.: key exchange; sched.: key schedule and \
         hashes of the transcript; recs.: encryption of records; MAC: where it is separate; libr.: \
         what the TLS library does beside these; system: TCP and system calls; meas.: measured; \
         remain: measured - sum, as a share of measured",
    );
    for session in ours.iter().filter(|session| session.measured.is_some()) {
        text.extend(remainder(session).map(|line| wrapped(&line)));
    }
    let sources = papers.iter().flat_map(|session| session.records().next());
    let mut lines: Vec<String> = sources.filter_map(crate::model::source).collect();
    lines.sort_unstable();
    lines.dedup();
    text.extend(lines.iter().map(|line| wrapped(line)));
    text
}

/// A heading of protocol and key, then a row for each payload and engine.
fn rows(ours: &[Session<'_>], papers: &[Session<'_>]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut above = None;
    for session in ours.iter().chain(papers) {
        let topic = session.subject.topic();
        if above != Some(topic) {
            above = Some(topic);
            rows.push(vec![names::service(&session.subject)]);
        }
        rows.push(cells(session));
    }
    rows
}

fn cells(session: &Session<'_>) -> Vec<String> {
    let cycles = |point: Option<f64>| {
        point.map_or_else(|| MISSING.to_owned(), |point| number(point, Unit::Cycles))
    };
    let measured = session.measured.map(|record| record.estimate.point());
    let share = match (measured, session.total()) {
        (Some(measured), Some(total)) => percent(measured - total, measured),
        _ => MISSING.to_owned(),
    };
    let mut cells = vec![format!("  {}, {}", names::payload(session.bytes()), who(session.by()))];
    cells.extend(PARTS.iter().map(|part| cycles(session.part(part))));
    cells.extend([cycles(session.total()), cycles(measured), share]);
    cells
}

fn remainder(session: &Session<'_>) -> Option<String> {
    let (measured, total) = (session.measured?.estimate.point(), session.total()?);
    Some(format!(
        "{}, {}, {}: {} cycles measured that no part explains ({}).",
        names::service(&session.subject),
        names::payload(session.bytes()),
        who(session.by()),
        difference(measured - total, Unit::Cycles),
        percent(measured - total, measured),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::widest;
    use crate::text::WIDTH;

    #[test]
    fn the_columns_fit() {
        assert!(widest(&COLUMNS) <= WIDTH, "{}", widest(&COLUMNS));
    }
}
