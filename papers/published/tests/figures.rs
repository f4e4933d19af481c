//! Relations between the published figures, and their records.

#![allow(clippy::unwrap_used, reason = "tests")]

use tollgate_published::{PAPERS, paper, records, records_of};
use tollgate_record::{Kind, jsonl};

fn number(paper: &str, what: &str) -> f64 {
    tollgate_published::paper(paper).unwrap().number(what).unwrap()
}

#[test]
fn every_row_has_a_figure_a_command_and_a_difference() {
    for paper in PAPERS.iter() {
        assert!(paper.title.len() > 40 && (2000..=2010).contains(&paper.year), "{}", paper.key);
        for table in &paper.tables {
            let place = format!("{}, {}: {}", paper.key, table.at, table.what);
            let texts = [&table.at, &table.what, &table.conditions, &table.differs];
            assert!(texts.iter().all(|text| !text.is_empty()), "{place}");
            assert!(table.command.starts_with("tollgate "), "{place}");
            assert!(!table.rows.is_empty(), "{place}");
            for row in &table.rows {
                assert!(row.value.is_some() == row.values.is_empty(), "{place}: {}", row.what);
                assert_eq!(row.values.len(), if row.values.is_empty() { 0 } else { 8 });
            }
        }
    }
}

#[test]
fn every_record_is_published_has_its_own_name_and_can_be_written() {
    let records = records();
    let mut file = Vec::new();
    let mut writer = jsonl::Writer::new(&mut file);
    let mut names = Vec::new();
    for record in &records {
        assert!(matches!(record.kind, Kind::Published { .. }));
        names.push(format!("{} {}", record.subject, record.quantity));
        writer.write(record).unwrap();
    }
    assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), records);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), records.len());
    let count = |name| records_of(name).len();
    assert_eq!((count("ita00"), count("fsl05"), count("gts07")), (8, 48, 1));
    assert_eq!((count("hp01"), count("eti10"), count("hp0")), (7, 5 + 1 + 5 + 3 * 4 + 2, 0));
}

#[test]
fn subjects_are_spelled_as_ours_are() {
    let records = records();
    for (subject, quantity, point) in [
        ("model/itanium/amm?bits=1024", "cycles_per_product", 1220.0),
        ("operation/rsa-1024/private?by=eti10", "operations_per_s", 2143.0),
        ("operation/rsa-512/public?by=pkeu&clock_mhz=333&exponent=7", "ns_per_operation", 4e4),
        (
            "session/rsa-1024/tls-rsa?by=eti10-before&bytes=140000&part=rsa",
            "cycles_per_session",
            2.17e6,
        ),
        ("server/rsa-1024/ssl3-rsa?by=hp01-itanium-800&bytes=14336", "sessions_per_s", 315.0),
        ("fleet/tls-rsa-1024-aes-128-gcm?by=eti10&bytes=140000&link_gbps=10", "whole_cores", 8.0),
    ] {
        let subject = subject.parse().unwrap();
        let named =
            |r: &&tollgate_record::Record| r.subject == subject && r.quantity.as_str() == quantity;
        assert_eq!(records.iter().find(named).unwrap().estimate.point(), point, "{subject}");
    }
}

#[test]
fn the_parts_of_a_session_are_its_total() {
    let parts = ["RSA-1024", "AES-128-CBC, table code", "HMAC-SHA1", "other overhead"];
    let sum: f64 = parts.map(|part| number("eti10", part)).iter().sum();
    assert_eq!(sum, number("eti10", "total"));
}

/// At 3 GHz, the RSA part of 2.17 million cycles allows 1382 operations per second. All rates of
/// the paper for a core at that clock are higher. So the RSA part is more than one of these
/// operations.
#[test]
fn the_rsa_part_is_more_than_an_operation() {
    let rate = 3e9 / number("eti10", "RSA-1024");
    assert_eq!(rate.round(), 1382.0);
    let rows = &paper("eti10").unwrap().tables[0].rows[..3];
    assert!(rows.iter().all(|row| row.number().unwrap() > rate));
}

/// The paper's text says that a transfer of 2 KB is "+25 %" faster than one of 14 KB.
#[test]
fn a_short_transfer_is_faster_by_what_the_paper_says() {
    let short = number("hp01", "the same, 2 KB (\"+25 %\")");
    let gain = short / number("hp01", "Itanium, 800 MHz") - 1.0;
    assert!((0.23..0.26).contains(&gain), "{gain}");
}

/// The ratio in table 1 also compares methods of exponentiation. The paper's "nearly 10x" compares
/// the kernels alone.
#[test]
fn nearly_ten_times_is_the_kernels_ratio() {
    let ratio = |slow, fast| (number("ita00", slow) / number("ita00", fast) * 100.0).round();
    assert_eq!(ratio("Itanium, 660 MHz", "UltraSPARC III, 600 MHz"), 769.0);
    assert_eq!(ratio("UltraSPARC III, 1024 bits", "Itanium, 1024 bits"), 1008.0);
    assert_eq!(ratio("Itanium, 1024 bits", "Itanium, 512 bits"), 498.0);
}

/// Each row of the unit's table is one count of cycles, divided by the clock and rounded to two
/// decimals. If any of the 48 cells had a typing error, no count would fit its row.
#[test]
fn six_counts_of_cycles_give_all_48_cells() {
    let table = &paper("fsl05").unwrap().tables[0];
    for row in &table.rows {
        for (clock, ms) in table.clocks_mhz.iter().zip(&row.values) {
            let off = (row.cycles.unwrap() / (clock * 1e3) - ms).abs();
            assert!(off <= 0.005 + 1e-9, "{} at {clock} MHz: {off}", row.what);
        }
    }
}

/// Assumes 1.5 products per bit of the exponent, and one cycle per product of 32-bit words.
#[test]
fn cycles_per_exponent_bit_follow_one_formula() {
    let rows = &paper("fsl05").unwrap().tables[0].rows;
    for (pair, bits) in rows.chunks(2).zip([512.0, 1024.0, 2048.0]) {
        let per_bit = (pair[0].cycles.unwrap() - pair[1].cycles.unwrap()) / (bits - 3.0);
        let n = bits / 32.0;
        assert!((per_bit - 1.5 * (n * n + 3.0 * n + 27.0)).abs() < 0.2, "{bits}: {per_bit}");
    }
}
