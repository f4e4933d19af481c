//! Published measurements of operations, sessions and servers, as records.
//!
//! Their subjects are spelled like those of our measurements, with the paper in the parameter `by`.
//! Size and protocol are those of the paper: a table puts a figure next to ours only if both are
//! equal. The crate of rung 0 contains the published figures of described processors. The crate of
//! rung 5 contains the published figures of fleets.

use tollgate_record::vocabulary as word;
use tollgate_record::{
    Estimate, Key, Kind, Machine, Operation, Protocol, Quantity, Record, Service, Subject,
    Timestamp, Topic, Unit,
};

/// The source of \[ETI10\].
pub(crate) const ETI10: &str =
    "Kounavis, Kang, Grewal, Eszenyi, Gueron, Durham, Encrypting the Internet, ACM SIGCOMM 2010";
/// The source of \[HP01\].
const HP01: &str = "Holt, Mayotte (Hewlett-Packard), IA-64 and SSL Performance, 2001: RSA-1024, \
                    RC4-128 and SHA-1, no session reused, throughput from the server's log";

/// RSA-1024 private operations of one core of \[ETI10\]: implementation (the parameter `by`), core,
/// operations per second.
pub const ETI10_RSA_1024: [(&str, Core, f64); 5] = [
    ("eti10", Core::Of2010, 2143.0),
    ("eti10-karatsuba", Core::Of2010, 1463.0),
    ("eti10-openssl-1.0", Core::Of2010, 1893.0),
    ("eti10-older-core", Core::Older, 981.0),
    ("eti10-older-core-before", Core::Older, 881.0),
];

/// A core of \[ETI10\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// The core of most figures in the paper, at 3 GHz.
    Of2010,
    /// The core that the paper calls Pentium R4. The paper does not give its clock.
    Older,
}

/// The payload of a session of \[ETI10\], in bytes.
pub const ETI10_BYTES: u64 = 140_000;

/// The cost of a session of \[ETI10\] before the paper's improvements, in cycles: RSA-1024,
/// AES-128-CBC by tables, HMAC-SHA1, and the rest.
pub const ETI10_SESSION: [(&str, f64); 4] = [
    (word::PART_RSA, 2.17e6),
    (word::PART_RECORDS, 2.30e6),
    (word::PART_MAC, 1.18e6),
    (word::PART_LIBRARY, 0.73e6),
];

/// The printed total.
pub const ETI10_SESSION_CYCLES: f64 = 6.38e6;

/// A system of \[HP01\] with one processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hp01 {
    /// The parameter `by`.
    pub by: &'static str,
    /// The processor's name.
    pub cpu: &'static str,
    /// The processor's clock in MHz, if given.
    pub clock_mhz: Option<f64>,
    /// Operating system and web server, if given.
    pub software: Option<(&'static str, &'static str)>,
    /// Payload of a session in bytes.
    pub bytes: u64,
    /// Sessions per second.
    pub sessions_per_s: f64,
}

/// The table of \[HP01\], and the figure of its Itanium with a payload of 2 KB.
pub const HP01_TABLE: [Hp01; 7] = {
    const fn system(
        (by, cpu): (&'static str, &'static str),
        clock_mhz: f64,
        software: (&'static str, &'static str),
        sessions_per_s: f64,
    ) -> Hp01 {
        let (clock_mhz, software) = (Some(clock_mhz), Some(software));
        Hp01 { by, cpu, clock_mhz, software, bytes: 14_336, sessions_per_s }
    }
    let itanium = ("hp01-itanium-800", "Itanium");
    let on_itanium = ("HP-UX 11.20", "3.4 beta");
    [
        system(itanium, 800.0, on_itanium, 315.0),
        Hp01 { bytes: 2048, ..system(itanium, 800.0, on_itanium, 390.0) },
        system(("hp01-pa-8600-550", "HP PA-8600"), 550.0, ("HP-UX 11.0", "3.3.8.3"), 145.0),
        system(("hp01-ia-32-1000", "IA-32"), 1000.0, ("Linux", "3.3.8.2"), 129.0),
        system(
            ("hp01-ultrasparc-iii-750", "UltraSPARC III"),
            750.0,
            ("SunOS 5.8", "3.3.8.2"),
            42.0,
        ),
        system(("hp01-ultrasparc-ii-450", "UltraSPARC II"), 450.0, ("SunOS 5.8", "3.3.8.2"), 30.0),
        Hp01 {
            by: "hp01-sa7120",
            cpu: "sa7120, an appliance with three RSA chips sold as 600 connections per second",
            clock_mhz: None,
            software: None,
            bytes: 14_336,
            sessions_per_s: 270.0,
        },
    ]
};

/// Returns all published figures of this module as records.
///
/// # Panics
///
/// Never: the tables contain only valid subjects and finite numbers.
#[must_use]
pub fn records(taken_at: Timestamp) -> Vec<Record> {
    let mut records = operations(taken_at);
    records.extend(sessions(taken_at));
    records.extend(servers(taken_at));
    records
}

/// Returns the records of one paper, by its key in lower case, such as `hp01`. Their parameter `by`
/// begins with this key.
#[must_use]
pub fn of(paper: &str, taken_at: Timestamp) -> Vec<Record> {
    let is_of = |record: &Record| {
        let by = record.subject.parameter(word::BY);
        by.and_then(|by| by.split('-').next()) == Some(paper)
    };
    records(taken_at).into_iter().filter(is_of).collect()
}

pub(crate) fn operations(taken_at: Timestamp) -> Vec<Record> {
    let source = format!("{ETI10}: RSA-1024 private operations per second and core");
    let record = |(by, core, rate): (&str, Core, f64)| {
        let subject = subject(private(), &[(word::BY, by)]);
        let figure = (word::OPERATIONS_PER_S, Unit::PerSecond, rate);
        record(subject, figure, core.machine(), &source, taken_at)
    };
    ETI10_RSA_1024.map(record).into()
}

fn sessions(taken_at: Timestamp) -> Vec<Record> {
    let source =
        format!("{ETI10}: clocks of a session of 140 KB, RSA-1024, AES-128-CBC, HMAC-SHA1");
    let service = Service::Tls { key: Key::Rsa(1024), protocol: Protocol::TlsRsa };
    let bytes = ETI10_BYTES.to_string();
    let parameters = [(word::BY, "eti10-before"), (word::BYTES, &bytes)];
    let whole = subject(Topic::Session(service), &parameters);
    let of_part = |part| whole.with(word::PART, part).expect("a part of the vocabulary");
    let parts = ETI10_SESSION.map(|(part, cycles)| (of_part(part), cycles));
    let record = |(subject, cycles): (Subject, f64)| {
        let figure = (word::CYCLES_PER_SESSION, Unit::Cycles, cycles);
        record(subject, figure, machine("Intel processor of 2010", None), &source, taken_at)
    };
    parts.into_iter().chain([(whole.clone(), ETI10_SESSION_CYCLES)]).map(record).collect()
}

fn servers(taken_at: Timestamp) -> Vec<Record> {
    let record = |row: Hp01| {
        let service = Service::Tls { key: Key::Rsa(1024), protocol: Protocol::Ssl3Rsa };
        let bytes = row.bytes.to_string();
        let subject = subject(Topic::Server(service), &[(word::BY, row.by), (word::BYTES, &bytes)]);
        let (system, zeus) = row.software.unzip();
        let clock = row.clock_mhz.map(|mhz| mhz * 1e6);
        let machine = Machine {
            logical_cores: clock.is_some().then_some(1),
            kernel: system.map(str::to_owned),
            ..machine(row.cpu, clock)
        };
        let figure = (word::SESSIONS_PER_S, Unit::PerSecond, row.sessions_per_s);
        let versions = zeus.map(|version| ("zeus".to_owned(), version.to_owned()));
        Record {
            versions: versions.into_iter().collect(),
            ..record(subject, figure, machine, HP01, taken_at)
        }
    };
    HP01_TABLE.map(record).into()
}

impl Core {
    fn machine(self) -> Machine {
        match self {
            Self::Of2010 => machine("Intel processor of 2010", Some(3e9)),
            Self::Older => machine("Pentium R4", None),
        }
    }
}

pub(crate) fn machine(cpu: &str, clock_hz: Option<f64>) -> Machine {
    let clock = clock_hz.map(|hz| Estimate::exact(hz).expect("the tables hold numbers"));
    Machine { core_clock_hz: clock, ..Machine::unknown(cpu) }
}

/// Returns the private operation with an RSA-1024 key.
pub(crate) const fn private() -> Topic {
    Topic::Operation { key: Key::Rsa(1024), operation: Operation::Private }
}

/// Returns a subject made of constants of this crate.
pub(crate) fn subject(topic: Topic, parameters: &[(&str, &str)]) -> Subject {
    let bare = Subject::new(topic);
    let with = |subject: Subject, (key, value): &(&str, &str)| subject.with(key, value);
    bare.and_then(|bare| parameters.iter().try_fold(bare, with))
        .expect("words of letters and digits")
}

pub(crate) fn record(
    subject: Subject,
    (quantity, unit, figure): (Quantity, Unit, f64),
    machine: Machine,
    source: &str,
    taken_at: Timestamp,
) -> Record {
    let estimate = Estimate::exact(figure).expect("the tables hold numbers");
    let kind = Kind::Published { source: source.to_owned() };
    let record = Record::new(subject, (quantity, unit, estimate), kind, machine);
    Record { taken_at, ..record }
}
