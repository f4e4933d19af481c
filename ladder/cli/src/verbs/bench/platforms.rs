//! The table of platforms, as in \[HP01\]: a measured server and those of the paper, per core and
//! GHz.

use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Kind, Protocol, Record, Service, Subject, Topic, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::cells::{distinct, or_dash, rate};

const COLUMNS: [Column; 6] = [
    Column::words("sessions per second", 46),
    Column::figures("GHz", 5),
    Column::figures("cores", 5),
    Column::figures("per s", 6),
    Column::figures("per core", 8),
    Column::figures("per GHz", 7),
];

const NOTE: &str = "per GHz: of a core, over its clock. In brackets: published, with SSL 3, \
                    RC4-128 and SHA-1 [HP01], where ours has what the subject and docs/bench.md \
                    say";

/// Returns a table for each load that the measured servers have in common with published ones.
pub(super) fn text(measured: &[Record], published: &[Record]) -> String {
    let is_rate = |record: &&Record| {
        record.quantity == word::SESSIONS_PER_S
            && record.unit == Unit::PerSecond
            && record.subject.area() == Area::Server
            && record.subject.parameter(word::AGAINST).is_none()
    };
    let mut text = String::new();
    for load in distinct(measured.iter().filter(is_rate).map(|record| load(&record.subject))) {
        let of_load = |record: &&Record| is_rate(record) && self::load(&record.subject) == load;
        let papers: Vec<&Record> = published.iter().filter(of_load).collect();
        if !papers.is_empty() {
            let rows = measured.iter().filter(of_load).chain(papers).map(cells).collect();
            text += &format!("\n{}{}", wrapped(&load), grid(&COLUMNS, rows));
        }
    }
    if text.is_empty() { text } else { text + &wrapped(NOTE) }
}

fn cells(record: &Record) -> Vec<String> {
    let machine = &record.machine;
    let by = record.subject.parameter(word::BY).unwrap_or_default();
    let is_published = matches!(record.kind, Kind::Published { .. });
    let (name, cores) = if is_published {
        let paper = by.split('-').next().unwrap_or_default().to_ascii_uppercase();
        let cpu = machine.cpu.split(',').next().unwrap_or_default();
        (format!("{cpu} [{paper}]"), machine.logical_cores.map(f64::from))
    } else {
        let cores = record.conditions.get("server_cores").and_then(|list| cores_of(list));
        (format!("{by} on {}", machine.cpu), cores)
    };
    let per_s = record.estimate.point();
    let ghz = machine.core_clock_hz.map(|hz| hz.point() / 1e9);
    let per_core = cores.map(|cores| per_s / cores);
    vec![
        name,
        or_dash(ghz, |ghz| format!("{ghz:.2}")),
        or_dash(cores, |cores| format!("{cores:.0}")),
        rate(per_s),
        or_dash(per_core, rate),
        or_dash(per_core.zip(ghz), |(rate_of_core, ghz)| rate(rate_of_core / ghz)),
    ]
}

/// Returns the number of cores in a list: 2 for `0,1`; unknown for `any`.
fn cores_of(list: &str) -> Option<f64> {
    let cores = list.split(',').filter(|core| core.parse::<u32>().is_ok()).count();
    u32::try_from(cores).ok().filter(|cores| *cores > 0).map(f64::from)
}

/// Returns the subject without implementation and client. RSA key exchange in SSL 3 and in TLS 1.2
/// are the same load: in both, the server decrypts a premaster secret.
fn load(subject: &Subject) -> String {
    let bare = subject.without(&[word::BY, word::CLIENT]);
    match subject.topic() {
        Topic::Server(Service::Tls { key, protocol: Protocol::Ssl3Rsa }) => {
            let service = Service::Tls { key: key.clone(), protocol: Protocol::Tls12Rsa };
            bare.with_topic(Topic::Server(service)).unwrap_or(bare).to_string()
        }
        _ => bare.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_record::{Estimate, Machine};

    use super::*;
    use crate::verbs::compare::tests::record;

    #[test]
    fn a_machine_stands_beside_those_of_the_paper_with_the_same_load() {
        let measured = |subject: &str, cores: &str| {
            let mut record = record(subject, 6400.0);
            let clock = Some(Estimate::exact(2e9).unwrap());
            record.machine = Machine { core_clock_hz: clock, ..Machine::unknown("One") };
            record.conditions.insert("server_cores".to_owned(), cores.to_owned());
            text(&[record], &tollgate_published::records())
        };
        let table = measured("server/rsa-1024/tls12-rsa?by=tollgate&bytes=14336", "0,1");
        for (name, expected) in [
            ("tollgate on One", "2.00 2 6.40k 3.20k 1.60k"),
            ("Itanium [HP01]", "0.80 1 315 315 394"),
        ] {
            let line = table.lines().find(|line| line.starts_with(name)).expect(name);
            let cells: Vec<&str> = line[name.len()..].split_whitespace().collect();
            assert_eq!(cells.join(" "), expected, "{table}");
        }
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
        for (subject, is_published) in [
            ("server/rsa-2048/tls12-rsa?by=tollgate&bytes=14336", false),
            ("server/rsa-1024/tls13?by=tollgate&bytes=14336", false),
            ("server/rsa-1024/tls12-rsa?by=tollgate&bytes=2048", true),
            ("server/rsa-1024/tls12-rsa?by=nginx-openssl&bytes=14336&client=curl", true),
        ] {
            assert_eq!(!measured(subject, "any").is_empty(), is_published, "{subject}");
        }
    }
}
