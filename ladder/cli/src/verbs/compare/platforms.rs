//! The table of platforms, as in \[HP01\]: machines, rates, rates per core and per GHz.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Kind, Machine, Protocol, Record, Service, Subject, Topic, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::same_machine;
use crate::cells::{bar, or_dash, rate};

const COLUMNS: [Column; 8] = [
    Column::words("machine", 42),
    Column::figures("GHz", 5),
    Column::figures("cores", 5),
    Column::figures("per s", 6),
    Column::figures("per core", 8),
    Column::figures("per GHz", 7),
    Column::figures("to first", 8),
    Column::words("", 5),
];

/// A row: the rate of an implementation on a machine.
struct Row {
    machine: Machine,
    by: String,
    cores: Option<f64>,
    per_s: f64,
    /// True for a published figure; these rows follow the measured ones.
    published: bool,
}

/// Returns one table for each subject that has figures of several machines, or published figures.
pub(crate) fn text<'a>(
    measured: impl Iterator<Item = &'a Record>,
    published: &'a [Record],
) -> Option<String> {
    let mut groups: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for record in measured.chain(published) {
        let Some((group, row)) = row(record) else { continue };
        let rows = groups.entry(group).or_default();
        // The last of several records of one machine is used.
        rows.retain(|known| known.by != row.by || !same_machine(&known.machine, &row.machine));
        rows.push(row);
    }
    groups.retain(|_, rows| is_of_machines(rows));
    let tables: Vec<String> = groups.iter().map(|(group, rows)| table(group, rows)).collect();
    let has_published = groups.values().flatten().any(|row| row.published);
    (!tables.is_empty()).then(|| tables.join("\n") + &note(has_published))
}

/// Returns whether the rows contain a measured row and a row of a second machine.
fn is_of_machines(rows: &[Row]) -> bool {
    let measured = rows.iter().find(|row| !row.published);
    measured.is_some_and(|one| rows.iter().any(|row| !same_machine(&row.machine, &one.machine)))
}

/// Returns the table name and the row of a record; `None` unless its quantity is the main quantity
/// of the rung.
fn row(record: &Record) -> Option<(String, Row)> {
    let subject = &record.subject;
    if subject.parameter(word::AGAINST).is_some() || subject.parameter(word::PART).is_some() {
        return None;
    }
    let published = matches!(record.kind, Kind::Published { .. });
    let point = record.estimate.point();
    let clock = record.machine.core_clock_hz.map(|hz| hz.point());
    let per_s = match (record.quantity, record.unit) {
        (word::SESSIONS_PER_S | word::OPERATIONS_PER_S_PER_CORE, Unit::PerSecond) => point,
        (word::NS_PER_OPERATION, Unit::Nanos) => 1e9 / point,
        (word::CYCLES_PER_CALL, Unit::Cycles) => clock? / point,
        _ => return None,
    };
    let cores = match subject.area() {
        Area::Server if published => record.machine.logical_cores.map(f64::from),
        Area::Server => cores_of(record.conditions.get("server_cores")?),
        // All other figures are figures of one thread, or are already rates per core.
        _ => Some(1.0),
    };
    let by = subject.parameter(word::BY).unwrap_or("tollgate");
    let by = match subject.parameter(word::CLIENT) {
        Some(client) => format!("{by}, {client}"),
        None => by.to_owned(),
    };
    let row = Row { machine: record.machine.clone(), by, cores, per_s, published };
    (per_s.is_finite() && per_s > 0.0).then(|| (group(subject), row))
}

/// Returns the number of cores in a list: 2 for `0,1`; unknown for `any`.
fn cores_of(list: &str) -> Option<f64> {
    let cores = list.split(',').filter(|core| core.parse::<u32>().is_ok()).count();
    u32::try_from(cores).ok().filter(|cores| *cores > 0).map(f64::from)
}

/// Returns the key of a table: the subject without implementation and client. RSA key exchange in
/// SSL 3 and in TLS 1.2 have the same key: in both, the server decrypts a premaster secret.
fn group(subject: &Subject) -> String {
    let topic = match subject.topic() {
        Topic::Server(Service::Tls { key, protocol: Protocol::Ssl3Rsa }) => {
            let service = Service::Tls { key: key.clone(), protocol: Protocol::Tls12Rsa };
            Topic::Server(service).to_string()
        }
        other => other.to_string(),
    };
    let others = subject.parameters().filter(|(key, _)| ![word::BY, word::CLIENT].contains(key));
    let others: Vec<String> = others.map(|(key, value)| format!("{key}={value}")).collect();
    if others.is_empty() { topic } else { format!("{topic}?{}", others.join("&")) }
}

fn table(group: &str, rows: &[Row]) -> String {
    let first = &rows[0];
    let most = rows.iter().map(|row| row.per_s).fold(0.0, f64::max);
    let cells = rows.iter().map(|row| {
        let ghz = row.machine.core_clock_hz.map(|hz| hz.point() / 1e9);
        let per_core = row.cores.map(|cores| row.per_s / cores);
        let per_ghz = per_core.zip(ghz).map(|(rate, ghz)| rate / ghz);
        vec![
            name(row),
            or_dash(ghz, |ghz| format!("{ghz:.2}")),
            or_dash(row.cores, |cores| format!("{cores:.0}")),
            rate(row.per_s),
            or_dash(per_core, rate),
            or_dash(per_ghz, rate),
            format!("{:.3}", row.per_s / first.per_s),
            bar(row.per_s / most, 5),
        ]
    });
    wrapped(group) + &grid(&COLUMNS, cells.collect())
}

/// `nginx, curl on AMD EPYC, 2 cores, vm`, or a paper's name: `Itanium [HP01]`. A name that is too
/// long omits the properties that all rows of a machine share.
fn name(row: &Row) -> String {
    if row.published {
        let paper = row.by.split('-').next().unwrap_or_default().to_ascii_uppercase();
        let cpu = row.machine.cpu.split(',').next().unwrap_or_default();
        return format!("{cpu} [{paper}]");
    }
    let cores = row.machine.logical_cores.map(|cores| format!(", {cores} cores"));
    let vm = if row.machine.virtualised == Some(true) { ", vm" } else { "" };
    format!("{} on {}{}{vm}", row.by, row.machine.cpu, cores.unwrap_or_default())
}

fn note(has_published: bool) -> String {
    let published = match has_published {
        true => {
            ". In brackets: published, with SSL 3, RC4-128 and SHA-1 [HP01], where ours has what \
             the subject and docs/bench.md say"
        }
        false => "",
    };
    wrapped(&format!(
        "per s: sessions, operations or calls; per core: over the cores of the server; per GHz: of \
         a core, over its clock; to first: over the first row{published}"
    ))
}

#[cfg(test)]
mod tests {
    use tollgate_record::Estimate;

    use super::*;
    use crate::verbs::compare::tests::record;

    fn beside_papers(measured: &[Record]) -> Option<String> {
        text(measured.iter(), &tollgate_published::records())
    }

    fn measured(subject: &str, cpu: &str, per_s: f64) -> Record {
        let clock = Some(Estimate::exact(2e9).unwrap());
        let mut record = record(subject, per_s);
        record.machine = Machine { core_clock_hz: clock, ..Machine::unknown(cpu) };
        record.conditions.insert("server_cores".to_owned(), "0,1".to_owned());
        record
    }

    #[test]
    fn machines_stand_below_each_other_and_beside_the_paper() {
        let subject = "server/rsa-1024/tls12-rsa?by=tollgate&bytes=14336";
        let both = [measured(subject, "One", 6400.0), measured(subject, "Two", 12_800.0)];
        let text = beside_papers(&both).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let row = |name: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.starts_with(name));
            let line = line.unwrap_or_else(|| panic!("{name} in\n{text}"));
            line.split_whitespace().map(str::to_owned).collect()
        };
        let one = row("tollgate on One");
        assert_eq!(one[3..9], ["2.00", "2", "6.40k", "3.20k", "1.60k", "1.000"].map(str::to_owned));
        assert_eq!(row("tollgate on Two")[8], "2.000");
        let itanium = row("Itanium [HP01]");
        assert_eq!(itanium[2..8], ["0.80", "1", "315", "315", "394", "0.049"].map(str::to_owned));
        assert_eq!(row("sa7120 [HP01]")[4], "270");
    }

    #[test]
    fn one_machine_alone_has_no_table_unless_a_paper_has_the_same() {
        let of = |subject: &str| beside_papers(&[measured(subject, "One", 1.0)]).is_some();
        assert!(!of("server/rsa-2048/tls12-rsa?by=tollgate&bytes=14336"));
        assert!(!of("server/rsa-1024/tls13?by=tollgate&bytes=14336"));
        assert!(of("server/rsa-1024/tls12-rsa?by=tollgate&bytes=2048"));
        assert!(of("server/rsa-1024/tls12-rsa?by=nginx-openssl&bytes=14336&client=curl"));
    }

    #[test]
    fn cores_are_counted_where_they_are_named() {
        assert_eq!(cores_of("1"), Some(1.0));
        assert_eq!(cores_of("0,2,3"), Some(3.0));
        assert_eq!(cores_of("any"), None);
    }
}
