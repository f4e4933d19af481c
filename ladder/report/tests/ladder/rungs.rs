//! The table of six rungs and the tables of single commands, from synthetic records.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record};
use tollgate_report::{WIDTH, fleet, rungs, server, session};

use crate::{all_tables, line_with, synthetic};

/// Joins the wrapped lines of a table.
fn unwrapped(table: &str) -> String {
    table.replace("\n  ", " ")
}

#[test]
fn every_rung_has_its_figures() {
    let table = rungs::table(&synthetic::all());
    assert!(!table.contains("not measured"), "{table}");
    for (words, figures) in [
        (&["1024 bits, here"][..], &[">101"][..]),
        (&["the same on Itanium"], &["1.25k", "1.22k [ITA00] 2000"]),
        (&["LEON-2, 1024-bit exponentiation"], &["22.3M"]),
        (&["LEON-2 that multiplies and adds"], &["12.4M", "12.5M [GTS07] 2007"]),
        (&["amm52_mb8_ifma, 1024"], &[">810", "905", "+95.0 (10 %)"]),
        (&["RSA-2048 sign, tollgate x8"], &["258k", "275k", "+16.5k (6 %)"]),
        (&["RSA-2048 sign, OpenSSL"], &["901k"]),
        (&["RSA-1024! sign, tollgate x8"], &["90.9k", "2.14k [ETI10] 2010"]),
        (&["RSA-2048, tollgate", "cycles"], &["1.45M", "1.61M", "+160k (10 %)"]),
        (&["RSA-2048, OpenSSL", "cycles"], &["1.49M", "1.66M"]),
        (&["ECDSA P-256, tollgate", "cycles"], &["623k", "691k"]),
        (&["RSA-1024 140 KB, published"], &["6.38M [ETI10] 2010"]),
        (&["RSA-2048, tollgate", "per s"], &["3.67k", "3.27k", "-393 (-12 %)"]),
        (&["ECDSA P-256, nginx-openssl", "per s"], &["6.10k"]),
        (&["RSA-2048, ratio [1.30-1.32]"], &["1.31", "times"]),
        (&["ECDSA P-256, nginx [1.05-1.07]"], &["1.06", "times"]),
        (&["RSA-1024 14 KB, published"], &["315 [HP01] 2001"]),
        (&["RSA-2048, tollgate", "cores"], &["38"]),
        (&["10 Gbps of 140 KB, busy 100 %"], &["8 [ETI10] 2010"]),
        (&["RSA-2048, OpenSSL", "USD"], &["0.0079"]),
    ] {
        let line = line_with(&table, words);
        assert!(figures.iter().all(|figure| line.contains(figure)), "{figures:?} in {line}");
    }
}

#[test]
fn sentences_explain_each_rung_by_the_one_below() {
    let text = unwrapped(&rungs::table(&synthetic::all()));
    for sentence in [
        "0 The same arithmetic lands within 2.4 % of 4 published figures of [ITA00] 2000; every \
         figure of five publications: tollgate papers.",
        "1 One call of amm52_mb8_ifma takes 905 cycles of which its bound explains 90 %; what \
         limits it: vpmadd52.",
        "2 RSA-2048 sign by tollgate x8: 275k cycles; its kernel calls explain 94 % of it; 3.28 \
         [3.24-3.31] times as fast as OpenSSL.",
        "3 RSA-2048, tollgate: the RSA operation is 53 % of the 1.61M cycles measured; the sum of \
         all parts leaves 10 % unexplained.",
        "3 ECDSA P-256, tollgate: the signature is 4 % of the 691k cycles measured;",
        "4 RSA-2048, tollgate: 1.31 [1.30-1.32] times the sessions per second of OpenSSL, with \
         76 % of its CPU time for each.",
        "4 Core clock over the predicted cycles of a session gives 8.35k sessions per second, in \
         batches of 8; the server reached 89 % of them, in batches of 6.3 on average (ECDSA P-256, \
         tollgate).",
        "5 RSA-2048, tollgate: a link of 10 Gbps keeps 38 cores instead of 50 with OpenSSL, busy \
         to 70 %.",
    ] {
        assert!(text.contains(sentence), "{sentence:?} in\n{text}");
    }
}

#[test]
fn missing_rungs_say_what_to_run() {
    let table = rungs::table(&synthetic::only(&["operation"]));
    for verb in ["model", "kernel", "explain", "bench", "fleet"] {
        assert!(table.contains(&format!("not measured: `tollgate {verb}`")), "{verb} in {table}");
    }
    assert!(!table.contains("`tollgate speed`"), "{table}");
    assert!(rungs::table(&[]).contains("not measured: `tollgate speed`"));
}

#[test]
fn sessions_show_their_parts_sum_and_remainder() {
    let table = session::table(&synthetic::all());
    let row = line_with(&table, &["14 KB, tollgate", "1.61M"]);
    let figures: Vec<&str> = row.split_whitespace().skip(3).collect();
    let expected =
        ["860k", "145k", "42.0k", "12.6k", "0", "160k", "233k", "1.45M", "1.61M", "10", "%"];
    assert_eq!(figures, expected, "{table}");
    assert!(line_with(&table, &["140 KB, unimproved"]).contains("6.38M"));
    let note = "Predicted operations with the server's key: tollgate in batches of 8, with 16 \
                connections in flight.";
    assert!(unwrapped(&table).contains(note), "{table}");
    assert!(session::table(&[]).contains("tollgate explain"));
}

#[test]
fn servers_show_rates_latencies_and_ratios() {
    let table = server::table(&synthetic::all());
    let row = line_with(&table, &["14 KB, tollgate", "3.27k"]);
    for cell in ["[3.24k-3.31k]", "3.67k", "6.3", "305 µs"] {
        assert!(row.contains(cell), "{cell} in {row}");
    }
    let alone: Vec<_> = synthetic::all()
        .into_iter()
        .filter(|record| record.quantity != word::OPERATIONS_PER_BATCH)
        .collect();
    assert!(table.contains("batch") && !server::table(&alone).contains("batch"), "{table}");
    let times = line_with(&table, &["14 KB, tollgate", "641 µs"]);
    for cell in ["1.04 ms", "2.08 ms"] {
        assert!(times.contains(cell), "{cell} in {times}");
    }
    let text = unwrapped(&table);
    let ratio = "tollgate has 1.31 [1.30-1.32] times the sessions per second of OpenSSL, 0.76 \
                 [0.75-0.77] times its CPU time";
    assert!(text.contains(ratio), "{text}");
    assert_eq!(table.matches("doubtful: the client was busy").count(), 1, "{table}");
    assert!(server::table(&[]).contains("tollgate bench"));
}

#[test]
fn a_published_rate_has_the_payload_of_our_rows() {
    let mut records = synthetic::all();
    let is_hp01 = |record: &&Record| record.subject.parameter("by") == Some("hp01-itanium-800");
    let itanium = records.iter().find(is_hp01).unwrap().clone();
    let subject = itanium.subject.with("bytes", 2048).unwrap();
    let estimate = Estimate::exact(390.0).unwrap();
    records.push(Record { subject, estimate, ..itanium });
    let table = rungs::table(&records);
    assert!(
        line_with(&table, &["RSA-1024 14 KB, published"]).contains("315 [HP01] 2001"),
        "{table}"
    );
    assert!(!table.contains("390 [HP01]"), "{table}");
}

#[test]
fn fleets_show_cores_cost_and_response() {
    let table = fleet::table(&synthetic::all());
    let cells = |line: &str| -> Vec<String> {
        line.split("  ")
            .map(|cell| cell.trim().to_owned())
            .filter(|cell| !cell.is_empty())
            .collect()
    };
    let ten = cells(line_with(&table, &["10 Gbps", "26 of 64"]));
    assert_eq!(ten, ["10 Gbps", "38.0", "[37.6-38.4]", "38", "1", "26 of 64"], "{table}");
    let links = cells(line_with(&table, &["14 KB, tollgate", "0.38"]));
    assert_eq!(links[1..], ["3.28k", "0.38", "4", "38", "380", "-", "-"], "{table}");
    let price = cells(line_with(&table, &["example-16, USD a year"]));
    assert_eq!(price[1..], ["0.19", "0.0061"], "{table}");
    let at_90 = cells(line_with(&table, &["90 %", "5.90k"]));
    assert_eq!(at_90, ["90 %", "5.90k", "81 %", "1.65 ms", "1.95 ms", "8.88 ms"], "{table}");
    let text = unwrapped(&table);
    for sentence in [
        "10^6: cost of a million sessions, including head room",
        "example-16: 16 cores, 0.8 USD an hour (made up, 2026-11-27)",
        "[ETI10] 2010, busy 100 %\nRSA-1024-AES-128-CBC-SHA1 140 KB, unimproved",
        "each busy for at most 70 % of the time;",
        "TLS 1.3, RSA-2048, 14 KB, tollgate against OpenSSL: saves 23.8 [23.5 to 24.0] % of the \
         CPU time.",
    ] {
        assert!(text.contains(sentence), "{sentence:?} in\n{text}");
    }
    assert!(fleet::table(&[]).contains("tollgate fleet"));
}

#[test]
fn all_lines_fit() {
    let tables = all_tables(&synthetic::all());
    for line in tables.iter().flat_map(|table| table.lines()) {
        assert!(line.chars().count() <= WIDTH, "{line:?}");
        assert!(!line.contains('~'), "cut: {line:?}");
    }
}

#[test]
fn a_filled_link_has_its_cores_beside_the_predicted_ones() {
    let mut records = synthetic::all();
    let closed = "server/rsa-2048/tls13?by=openssl&bytes=14336";
    let closed: Vec<Record> =
        records.iter().filter(|record| record.subject.to_string() == closed).cloned().collect();
    assert!(!fleet::table(&records).contains("links filled here"));
    for (quantity, point) in
        [(word::SESSIONS_PER_S, 1000.0), (word::SERVER_CPU_NS_PER_SESSION, 500_000.0)]
    {
        let template = closed.iter().find(|record| record.quantity == quantity).unwrap();
        let subject = template.subject.with(word::ARRIVALS, "poisson").unwrap();
        records.push(Record {
            subject: subject.with(word::OFFERED_PER_S, 1000).unwrap(),
            estimate: Estimate::exact(point).unwrap(),
            kind: Kind::Measured,
            ..template.clone()
        });
    }
    let table = fleet::table(&records);
    // 14,336 bytes of 8 bits, 1000 times a second; a session of the closed loop takes 400 us
    let row = line_with(&table, &["14 KB, OpenSSL", "0.11"]);
    let cells: Vec<&str> = row.split_whitespace().rev().collect();
    assert_eq!(cells[..6], ["%", "-20", "0.500", "0.400", "0.11", "1.00k"], "{table}");
}
