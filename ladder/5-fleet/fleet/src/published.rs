//! Published sizing figures, as records.

use tollgate_record::{Estimate, Kind, Machine, Quantity, Record, Timestamp, Unit};

use crate::{Error, Utilisation};
use tollgate_record::vocabulary as word;

/// The source of the figures of \[ETI10\].
const ETI10: &str = "Kounavis, Kang, Grewal, Eszenyi, Gueron, Durham, Encrypting the Internet, ACM \
                     SIGCOMM 2010: RSA-1024, 140 KB per session, cores fully used";
/// The source of the figures of \[ITA00\].
const ITA00: &str = "Intel, Itanium Processor: High Performance on Security Algorithms (RSA \
                     Decryption Kernel), white paper SEG_103, 1999-2000: many short secure \
                     transactions, at most";

/// The payload of a session in \[ETI10\], in bytes. The paper says 140 KB, read here as 140 000
/// bytes. The paper's connections per second (200, 770 and 1200) multiplied by this payload then
/// agree with its 0.22, 0.86 and 1.34 Gbps per core.
pub const ETI10_BYTES: u64 = 140_000;

/// A column of the table of \[ETI10\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eti10 {
    /// The path of the subject after `fleet/`.
    pub suite: &'static str,
    /// The subject's parameter `by`: the author of the code.
    pub by: &'static str,
    /// Connections per second of `openssl s_time`. They agree with the field `gbps_per_core` if one
    /// core served all of these connections.
    pub connections_per_s: f64,
    /// The rate of one core in Gbps.
    pub gbps_per_core: f64,
    /// For a demand of 1 Gbps and for one of 10 Gbps: the demand in Gbps and the number of cores.
    pub cores: [(f64, f64); 2],
}

/// The table of \[ETI10\]. Its columns are: without the paper's improvements, with its RSA and AES
/// instructions, and with GCM.
pub const ETI10_TABLE: [Eti10; 3] = [
    Eti10 {
        suite: "tls-rsa-1024-aes-128-cbc-sha1",
        by: "eti10-before",
        connections_per_s: 200.0,
        gbps_per_core: 0.22,
        cores: [(1.0, 5.0), (10.0, 46.0)],
    },
    Eti10 {
        suite: "tls-rsa-1024-aes-128-cbc-sha1",
        by: "eti10",
        connections_per_s: 770.0,
        gbps_per_core: 0.86,
        cores: [(1.0, 2.0), (10.0, 12.0)],
    },
    Eti10 {
        suite: "tls-rsa-1024-aes-128-gcm",
        by: "eti10",
        connections_per_s: 1200.0,
        gbps_per_core: 1.34,
        cores: [(1.0, 1.0), (10.0, 8.0)],
    },
];

/// Costs in USD that \[ETI10\] quotes "per SSL transaction": one for appliances, and one for its
/// blade of 3 999 USD. Both agree with a price divided by transactions *per second*, which is the
/// quantity of the record. The figure of 0.28 is 3 999 USD divided by the rate of 12 cores (8 for
/// TLS and 4 for the application), each with 1 200 transactions per second.
pub const ETI10_USD_PER_SESSION_PER_S: [(&str, f64); 2] = [("appliance", 4.0), ("eti10", 0.28)];

/// Returns the table of \[ETI10\], its costs, and the capacity gain of \[ITA00\].
///
/// # Errors
///
/// None with the tables above.
pub fn records(taken_at: Timestamp) -> Result<Vec<Record>, Error> {
    let record = |subject: &str, quantity: Quantity, unit, figure, (cpu, source): (&str, &str)| {
        let figure = (quantity, unit, Estimate::exact(figure)?);
        let kind = Kind::Published { source: source.to_owned() };
        let record = Record::new(subject.parse()?, figure, kind, Machine::unknown(cpu));
        // The paper's cores follow from its rates without head room.
        let conditions = (source == ETI10)
            .then(|| (word::UTILISATION.to_owned(), Utilisation::FULL.to_string()));
        let conditions = conditions.into_iter().collect();
        Ok::<Record, Error>(Record { taken_at, conditions, ..record })
    };
    let eti10 = ("Intel processor of 2010, 3 GHz", ETI10);
    let mut records = Vec::new();
    for row in ETI10_TABLE {
        let subject = format!("fleet/{}?by={}&bytes={ETI10_BYTES}", row.suite, row.by);
        let sessions = (word::SESSIONS_PER_S_PER_CORE, row.connections_per_s);
        let bits = (word::BITS_PER_S_PER_CORE, row.gbps_per_core * 1e9);
        for (quantity, figure) in [sessions, bits] {
            records.push(record(&subject, quantity, Unit::PerSecond, figure, eti10)?);
        }
        for (gbps, cores) in row.cores {
            let subject = format!("{subject}&{}={gbps}", word::LINK_GBPS);
            records.push(record(&subject, word::WHOLE_CORES, Unit::Count, cores, eti10)?);
        }
    }
    for (by, usd) in ETI10_USD_PER_SESSION_PER_S {
        let subject = format!("fleet/tls-rsa-1024?by={by}&bytes={ETI10_BYTES}&currency=USD");
        let cpu = if by == "appliance" { "TLS appliances of 2010" } else { eti10.0 };
        let about = (cpu, ETI10);
        records.push(record(&subject, word::PRICE_PER_SESSION_PER_S, Unit::Count, usd, about)?);
    }
    let (subject, about) = ("fleet/tls-rsa-1024?by=ita00", ("Intel Itanium", ITA00));
    records.push(record(subject, word::CAPACITY_GAIN, Unit::Ratio, 1.4, about)?);
    Ok(records)
}
