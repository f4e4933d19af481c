//! The table of a profile: the cost of a session by part, measured in a running server.

use tollgate_record::vocabulary::{
    BY, CYCLES_PER_SESSION, DETAIL, PART, PART_IDLE, PART_SERVER, PART_SYSTEM, PART_UNKNOWN,
};
use tollgate_record::{Record, Subject, Topic, Unit};

use crate::figure::{self, difference, interval, number, optional, percent};
use crate::grid::Column;
use crate::lookup::Origin::{self, Measured, Predicted};
use crate::lookup::{Lookup, distinct};
use crate::names::{self, service, who};
use crate::session::PARTS;
use crate::table::{Row, Table};
use crate::text::wrapped;

/// The maximum number of servers in a line.
const SERVERS_MAX: usize = 2;

/// Returns tables for each service and payload. A row is a part or a detail of a part. The columns
/// show up to two servers side by side, and for each server the prediction of rung 3 for the same
/// engine.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let tables = tables(records);
    if tables.is_empty() {
        return "no server was profiled: run `tollgate explain --server KIND`\n".to_owned();
    }
    let text = |(title, table): &(String, Table)| wrapped(title) + &table.text();
    tables.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the tables of a profile as data, for a terminal or a page. Each has its title.
pub(crate) fn tables(records: &[Record]) -> Vec<(String, Table)> {
    let lookup = Lookup(records);
    let is_profiled = |record: &Record| {
        Origin::new(record) == Measured
            && matches!(record.subject.topic(), Topic::Session(_))
            && record.quantity == CYCLES_PER_SESSION
            && record.subject.parameter(PART).is_some()
    };
    let profiled = lookup.subjects(is_profiled);
    let services = distinct(profiled.iter().map(|full| full.without(&[PART, DETAIL, BY])));
    services.iter().flat_map(|service| of_service(lookup, service, &profiled)).collect()
}

/// Returns the tables of a service, each of at most [`SERVERS_MAX`] servers.
fn of_service(
    lookup: Lookup<'_>,
    service: &Subject,
    profiled: &[&Subject],
) -> Vec<(String, Table)> {
    let of_all = || profiled.iter().filter(|full| full.without(&[PART, DETAIL, BY]) == *service);
    let servers = distinct(of_all().map(|full| full.without(&[PART, DETAIL])));
    let mut parts = distinct(
        of_all().map(|full| (full.parameter(PART).unwrap_or_default(), full.parameter(DETAIL))),
    );
    parts.sort_by_key(|(part, _)| rank(part));
    // leave out a detail that is the only one of its part: it repeats the figure of the part
    let all = parts.clone();
    let details = |part: &str| all.iter().filter(|row| row.0 == part && row.1.is_some()).count();
    parts.retain(|(part, detail)| detail.is_none() || details(part) > 1);
    let table = |servers: &[Subject]| of_servers(lookup, service, servers, &parts);
    servers.chunks(SERVERS_MAX).map(table).collect()
}

/// Returns the rank of a part in the table: first the parts of rung 3, then the server, unknown
/// functions and waiting.
fn rank(part: &str) -> usize {
    let last = [PART_SERVER, PART_UNKNOWN, PART_IDLE];
    PARTS.iter().chain(&last).position(|known| *known == part).unwrap_or(PARTS.len())
}

fn of_servers(
    lookup: Lookup<'_>,
    service_of: &Subject,
    servers: &[Subject],
    parts: &[(&str, Option<&str>)],
) -> (String, Table) {
    let named = |server: &Subject| who(names::by(server)).to_owned();
    let offered = names::offered(service_of).map_or_else(String::new, |words| format!(", {words}"));
    let bytes = names::payload(names::bytes(service_of));
    let title = format!("{}, {bytes}{offered}", service(service_of));
    let has_prediction =
        servers.iter().any(|server| sum(lookup, server, Predicted, |_| true).is_some());
    let mut columns = vec![Column::words("part", 20)];
    for server in servers {
        columns.push(Column::figures("", 15).headed(named(server)));
        columns.push(Column::figures("95 % interval", 13));
        if has_prediction {
            columns.push(Column::figures("pred.", 6));
        }
    }
    let row_of = |names, cells: Vec<[String; 3]>| {
        let cells = cells
            .into_iter()
            .flat_map(|cells| cells.into_iter().take(if has_prediction { 3 } else { 2 }));
        Row { groups: Vec::new(), names, cells: cells.collect() }
    };
    let cells = |part: &str, detail: Option<&str>| {
        servers.iter().map(|server| figures(lookup, server, part, detail)).collect()
    };
    let row = |(part, detail): &(&str, Option<&str>)| {
        let names = [Some(names::part(part).to_owned()), detail.map(names::detail)];
        row_of(names.into_iter().flatten().collect(), cells(part, *detail))
    };
    let (idle, costs): (Vec<_>, Vec<_>) = parts.iter().partition(|(part, _)| *part == PART_IDLE);
    let mut rows: Vec<Row> = costs.into_iter().map(row).collect();
    for (name, of) in
        [("user", is_user as fn(&str) -> bool), ("kernel", is_kernel), ("sum", |_| true)]
    {
        let sums = |server: &Subject| {
            let sum = |origin| optional(sum(lookup, server, origin, of), Unit::Cycles);
            [sum(Measured), String::new(), sum(Predicted)]
        };
        rows.push(row_of(vec![name.to_owned()], servers.iter().map(sums).collect()));
    }
    rows.extend(idle.into_iter().map(row));
    let mut notes = vec![
        "Core cycles for one session, from samples of the running server; idle: the server's cores \
         wait"
            .to_owned(),
    ];
    if has_prediction {
        notes[0] += if servers.iter().all(|server| has_own_prediction(lookup, server)) {
            "; pred.: as rung 3 predicts the part from the server's own calls"
        } else {
            "; pred.: as rung 3 predicts the part for the embedded server"
        };
    }
    notes.extend(servers.iter().filter_map(|server| remainder(lookup, server, &named(server))));
    (title, Table { columns, rows, notes })
}

fn is_kernel(part: &str) -> bool {
    part == PART_SYSTEM
}

fn is_user(part: &str) -> bool {
    !is_kernel(part)
}

/// Returns the figure, its interval and its prediction.
fn figures(lookup: Lookup<'_>, server: &Subject, part: &str, detail: Option<&str>) -> [String; 3] {
    let full = part_of(server, part, detail);
    let find = |origin, subject: &Option<Subject>| {
        lookup.record(origin, subject.as_ref()?, CYCLES_PER_SESSION, Unit::Cycles)
    };
    let measured = find(Measured, &full);
    let by = predicted_by(lookup, server).filter(|_| detail.is_none());
    let predicted = find(Predicted, &by.and_then(|by| part_of(&by, part, None)));
    [figure::of(measured), interval(measured), figure::of(predicted)]
}

fn part_of(server: &Subject, part: &str, detail: Option<&str>) -> Option<Subject> {
    let subject = server.clone().with(PART, part).ok()?;
    match detail {
        None => Some(subject),
        Some(detail) => subject.with(DETAIL, detail).ok(),
    }
}

/// Returns the session whose prediction is compared: the server's own if its calls are known,
/// otherwise the same session of the embedded server, `by=openssl` for `by=nginx-openssl`.
fn predicted_by(lookup: Lookup<'_>, server: &Subject) -> Option<Subject> {
    if has_own_prediction(lookup, server) { Some(server.clone()) } else { engine(server) }
}

fn has_own_prediction(lookup: Lookup<'_>, server: &Subject) -> bool {
    lookup.record(Predicted, server, CYCLES_PER_SESSION, Unit::Cycles).is_some()
}

fn engine(server: &Subject) -> Option<Subject> {
    let by = server.parameter(BY)?.rsplit('-').next()?;
    server.without(&[BY]).with(BY, by).ok()
}

/// Returns the sum of the parts that `of` selects, without waiting.
fn sum(lookup: Lookup<'_>, server: &Subject, origin: Origin, of: fn(&str) -> bool) -> Option<f64> {
    let server = match origin {
        Predicted => predicted_by(lookup, server)?,
        _ => server.clone(),
    };
    let parts = lookup.subjects(|record| {
        let part = record.subject.parameter(PART);
        Origin::new(record) == origin
            && record.quantity == CYCLES_PER_SESSION
            && part.is_some_and(|part| part != PART_IDLE && of(part))
            && record.subject.parameter(DETAIL).is_none()
            && record.subject.without(&[PART]) == server
    });
    let cycles = parts.iter().filter_map(|full| {
        Some(lookup.find(origin, full, CYCLES_PER_SESSION, Unit::Cycles)?.point())
    });
    let all: Vec<f64> = cycles.collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

/// Compares the prediction with the measured cost. Leaves out the server's own code, which rung 3
/// does not predict.
fn remainder(lookup: Lookup<'_>, server: &Subject, name: &str) -> Option<String> {
    let comparable = |part: &str| part != PART_SERVER;
    let measured = sum(lookup, server, Measured, comparable)?;
    let predicted = sum(lookup, server, Predicted, |_| true)?;
    let rest = measured - predicted;
    Some(format!(
        "{name}: measured without the server's own code {}, predicted {}: remainder {} ({}).",
        number(measured, Unit::Cycles),
        number(predicted, Unit::Cycles),
        difference(rest, Unit::Cycles),
        percent(rest, measured),
    ))
}

#[cfg(test)]
mod tests {
    use tollgate_record::{Estimate, Kind, Machine};

    use super::*;

    fn record(subject: &str, kind: Kind, point: f64) -> Record {
        let estimate = Estimate::new(point, (0.9 * point, 1.1 * point), 6).unwrap();
        let figure = (CYCLES_PER_SESSION, Unit::Cycles, estimate);
        Record::new(subject.parse().unwrap(), figure, kind, Machine::unknown("Some Processor 9000"))
    }

    #[test]
    fn parts_stand_beside_their_predictions() {
        let of = |by: &str, rest: &str| format!("session/rsa-2048/tls13?by={by}&bytes=14336{rest}");
        let predicted = || Kind::Predicted { by: "3-session".into(), from: vec![] };
        let mut records = vec![record(&of("openssl", "&part=rsa"), predicted(), 900e3)];
        records.push(record(&of("openssl", "&part=system"), predicted(), 300e3));
        let measured = |by, rest: &str, point| record(&of(by, rest), Kind::Measured, point);
        for (by, rsa) in [("nginx-openssl", 1000e3), ("nginx-tollgate", 400e3)] {
            records.push(measured(by, "&part=rsa", rsa));
            records.push(measured(by, "&detail=rsa&part=rsa", rsa));
            records.push(measured(by, "&part=system", 300e3));
            records.push(measured(by, "&detail=kernel-tcp&part=system", 200e3));
            records.push(measured(by, "&detail=kernel-files&part=system", 100e3));
            records.push(measured(by, "&part=server", 50e3));
            records.push(measured(by, "&part=idle", 10e3));
        }
        let text = table(&records);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in [
            "RSA 1.00M [900k-1.10M] 900k 400k [360k-440k] - system 300k",
            "kernel tcp 200k [180k-220k] - 200k",
            "user 1.05M 900k 450k - kernel 300k 300k 300k - sum 1.35M 1.20M 750k - idle",
            "own code 1.30M, predicted 1.20M: remainder +100k (8 %).",
        ] {
            assert!(words.contains(row), "{row}\n{text}");
        }
        assert_eq!(text.matches("\nRSA").count(), 1, "the only detail is left out: {text}");
        assert!(words.contains("for the embedded server"), "{text}");
    }

    #[test]
    fn a_servers_own_prediction_comes_first() {
        let of = |by: &str, rest: &str| format!("session/rsa-2048/tls13?by={by}&bytes=14336{rest}");
        let predicted = |by, rest: &str, point| {
            record(&of(by, rest), Kind::Predicted { by: "3-session".into(), from: vec![] }, point)
        };
        let measured = |by, rest: &str, point| record(&of(by, rest), Kind::Measured, point);
        let mut records = vec![predicted("openssl", "&part=system", 100e3)];
        records.push(predicted("nginx-openssl", "&part=system", 290e3));
        records.push(predicted("nginx-openssl", "", 290e3));
        records.push(measured("nginx-openssl", "&part=system", 300e3));
        let words =
            |records: &[Record]| table(records).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = words(&records);
        for row in [
            "system 300k [270k-330k] 290k",
            "from the server's own calls",
            "measured without the server's own code 300k, predicted 290k: remainder +10.0k (3 %)",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        // without the total there is no prediction of its own
        records.remove(2);
        let text = words(&records);
        assert!(text.contains("predicted 100k") && text.contains("embedded server"), "{text}");
        assert!(table(&[]).contains("tollgate explain"));
    }
}
