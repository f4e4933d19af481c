//! The cost of hash functions, ciphers and MACs per byte.

use tollgate_record::vocabulary::{BYTES, CYCLES_PER_BYTE, CYCLES_PER_OPERATION};
use tollgate_record::{Record, Topic, Unit};

use crate::figure::{of, of_record};
use crate::grid::{Column, fitting};
use crate::lookup::Lookup;
use crate::lookup::Origin::{Measured, Predicted};
use crate::table::{Row, Table};

const COLUMNS: [Column; 4] = fitting([
    Column::words("per byte", 27),
    Column::figures("cycles", 7),
    Column::figures("64 bytes", 9),
    Column::figures("16 KB", 9),
]);

/// Returns a row for each primitive that has a cost per byte, the cheapest first. Empty if there is
/// none.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let lookup = Lookup(records);
    let mut all: Vec<&Record> = lookup.all(Predicted, CYCLES_PER_BYTE).collect();
    all.sort_by(|one, other| one.estimate.point().total_cmp(&other.estimate.point()));
    if all.is_empty() {
        return String::new();
    }
    let row = |record: &&Record| {
        let call = |bytes: u32| {
            let subject = record.subject.with(BYTES, bytes).ok();
            of(subject.and_then(|subject| {
                lookup.record(Measured, &subject, CYCLES_PER_OPERATION, Unit::Cycles)
            }))
        };
        let name = match record.subject.topic() {
            Topic::Primitive(name) => name.replace('/', ", "),
            other => other.to_string(),
        };
        Row::new(name, vec![of_record(record), call(64), call(16_384)])
    };
    let rows = all.iter().map(row).collect();
    let note = "Core cycles of libcrypto for one byte more, and for one call with 64 bytes and with \
                16384 bytes, both through EVP as libssl calls it";
    Table { columns: COLUMNS.into(), rows, notes: vec![note.to_owned()] }.text()
}

#[cfg(test)]
mod tests {
    use tollgate_record::vocabulary::SESSION_RUNG;
    use tollgate_record::{Estimate, Kind, Machine, Quantity};

    use super::*;

    fn record(subject: &str, quantity: Quantity, point: f64, kind: Kind) -> Record {
        let estimate = Estimate::exact(point).unwrap();
        let machine = Machine::unknown("Some Processor 9000");
        Record::new(subject.parse().unwrap(), (quantity, Unit::Cycles, estimate), kind, machine)
    }

    #[test]
    fn the_cheapest_is_first_with_its_calls() {
        let predicted = || Kind::Predicted { by: SESSION_RUNG.to_owned(), from: vec![] };
        let records = [
            record("session/primitive/sha3-256", CYCLES_PER_BYTE, 7.5, predicted()),
            record("session/primitive/aes-128-gcm/seal", CYCLES_PER_BYTE, 0.41, predicted()),
            record(
                "session/primitive/sha3-256?bytes=64",
                CYCLES_PER_OPERATION,
                1200.0,
                Kind::Measured,
            ),
        ];
        let text = table(&records);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("aes-128-gcm, seal") && lines[2].contains("0.41"), "{text}");
        assert!(lines[3].starts_with("sha3-256") && lines[3].contains("1.20k"), "{text}");
        assert_eq!(table(&records[2..]), "");
    }
}
