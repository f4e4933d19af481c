//! The table of `tollgate fleet what-if`: sessions after a change, beside measured ones.

use tollgate_record::{Estimate, Subject, Unit};

use crate::figure::{difference, number, optional};
use crate::grid::{Column, fitting};
use crate::lookup::MISSING;
use crate::names;
use crate::table::{Row as Line, Table};
use crate::text::wrapped;

const COLUMNS: [Column; 7] = fitting([
    Column::words("after the change", 38),
    Column::figures("before", 7),
    Column::figures("after", 7),
    Column::figures("95 % interval", 17),
    Column::figures("sess/s", 6),
    Column::figures("meas.", 7),
    Column::figures("error", 6),
]);

/// A session before and after a change. Times are the server's CPU time in nanoseconds.
#[derive(Clone, Debug)]
pub struct Row {
    /// The session before the change.
    pub from: Subject,
    /// The session after the change.
    pub to: Subject,
    /// The measured time before the change.
    pub before: Estimate,
    /// The predicted time after the change.
    pub after: Estimate,
    /// The change of each part.
    pub parts: Vec<(String, Estimate)>,
    /// The measured time after the change, if known.
    pub measured: Option<Estimate>,
}

/// Returns a row for each session, and sentences with the changes of their parts.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let note = "before, after: CPU time of the server for a session, measured and predicted; \
                sess/s: of a core that does nothing else; meas.: measured after the change; \
                error: after, compared with meas.";
    let lines = rows.iter().map(line).collect();
    let table = Table { columns: COLUMNS.into(), rows: lines, notes: vec![note.to_owned()] };
    let sentences: Vec<String> =
        rows.iter().filter_map(sentence).map(|line| wrapped(&line)).collect();
    let gap = if sentences.is_empty() { "" } else { "\n" };
    table.text() + gap + &sentences.concat()
}

fn line(row: &Row) -> Line {
    let nanos = |estimate: Estimate| number(estimate.point(), Unit::Nanos);
    let (low, high) = row.after.interval();
    let interval = format!("[{}-{}]", number(low, Unit::Nanos), number(high, Unit::Nanos));
    let error = row.measured.map(|measured| row.after.point() / measured.point() - 1.0);
    let cells = vec![
        nanos(row.before),
        nanos(row.after),
        interval,
        optional(Some(1e9 / row.after.point()), Unit::PerSecond),
        row.measured.map_or_else(|| MISSING.to_owned(), nanos),
        error.map_or_else(|| MISSING.to_owned(), |error| format!("{:+.0} %", 100.0 * error)),
    ];
    let Row { from, to, .. } = row;
    let group =
        names::service(to) + &origin(&[(key(from), key(to)), (protocol(from), protocol(to))]);
    let [by_from, by_to] = [from, to].map(|subject| names::who(names::by(subject)).to_owned());
    let [size_from, size_to] = [from, to].map(|subject| names::payload(names::bytes(subject)));
    let name = session(to) + &origin(&[(by_from, by_to), (size_from, size_to)]);
    Line { groups: vec![group], names: vec![name], cells }
}

/// Returns the origin of a change, `, from RSA-2048`; empty if nothing of these changes.
fn origin(pairs: &[(String, String)]) -> String {
    let changed = pairs.iter().filter(|(from, to)| from != to);
    let from: Vec<&str> = changed.map(|(from, _)| from.as_str()).collect();
    if from.is_empty() { String::new() } else { format!(", from {}", from.join(", ")) }
}

fn key(subject: &Subject) -> String {
    subject.key().map_or_else(String::new, names::key)
}

fn protocol(subject: &Subject) -> String {
    names::protocol_of(subject).to_owned()
}

/// Returns payload, engine and what differs from a full handshake.
fn session(subject: &Subject) -> String {
    let by = names::who(names::by(subject));
    let size = names::payload(names::bytes(subject));
    let offered =
        names::offered(subject).map_or_else(String::new, |offered| format!(", {offered}"));
    format!("{size}, {by}{offered}")
}

/// Returns the changes of the parts, if some are large enough.
fn sentence(row: &Row) -> Option<String> {
    let part = |(part, change): &(String, Estimate)| {
        let name = names::part(part);
        format!("{name} {}", difference(change.point(), Unit::Nanos))
    };
    let is_change = |(_, change): &&(String, Estimate)| change.point().abs() >= SMALLEST_NS;
    let parts: Vec<String> = row.parts.iter().filter(is_change).map(part).collect();
    let name = format!("{}, {}", names::service(&row.to), session(&row.to));
    let from = origin(&[(key(&row.from), key(&row.to))]);
    (!parts.is_empty()).then(|| format!("{name}{from}: {}.", parts.join(", ")))
}

/// Smaller changes of a part are not named.
const SMALLEST_NS: f64 = 1000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_the_change_and_stand_beside_measured_times() {
        let estimate = |us: f64| Estimate::new(1e3 * us, (950.0 * us, 1050.0 * us), 6).unwrap();
        let row = |from: &str, to: &str, measured| Row {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            before: estimate(300.0),
            after: estimate(500.0),
            parts: vec![("rsa".to_owned(), estimate(201.0)), ("system".to_owned(), estimate(0.5))],
            measured,
        };
        let rows = [
            row(
                "server/rsa-2048/tls13?by=tollgate&bytes=14336",
                "server/rsa-3072/tls13?by=tollgate&bytes=14336",
                Some(estimate(520.0)),
            ),
            row(
                "server/rsa-2048/tls13?by=nginx-openssl&bytes=14336",
                "server/rsa-2048/tls13?by=nginx-tollgate&bytes=14336&resumed_by=psk\
                 &resumed_share=0.5",
                None,
            ),
        ];
        let text = table(&rows);
        assert!(text.lines().all(|line| line.chars().count() <= crate::WIDTH), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "TLS 1.3, RSA-3072, from RSA-2048 14 KB, tollgate 300 µs 500 µs [475 µs-525 µs] 2.00k \
             520 µs -4 %",
            "14 KB, nginx-tollgate, resumed 0.5, ",
            "TLS 1.3, RSA-3072, 14 KB, tollgate, from RSA-2048: RSA +201 µs.",
        ] {
            assert!(words.contains(part), "{part:?} in\n{text}");
        }
    }
}
