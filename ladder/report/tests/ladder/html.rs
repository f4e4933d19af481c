//! The report of synthetic records: each section has its figures, and the HTML is well formed.

use tollgate_record::Record;
use tollgate_report::html;

use crate::markup::{check, section};
use crate::{PICTURES, synthetic};

fn recorded() -> Vec<Record> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/speed.jsonl");
    let file = std::fs::File::open(path).unwrap();
    tollgate_record::jsonl::read_all(std::io::BufReader::new(file)).unwrap()
}

/// Sections, and texts of their pictures, sentences and tables.
const EXPECTED: [(&str, &[&str]); 6] = [
    (
        "rung-ladder",
        &[
            "<span class=\"number\">5</span>",
            ">RSA-2048, tollgate<",
            ">1.61M (10 %)<",
            ">measured<",
            ">predicted<",
            "+160k (10 %)",
            ">TLS 1.3, 14 KB, ECDSA P-256, nginx-tollgate<",
        ],
    ),
    (
        "operation-rates",
        &[
            ">RSA-1024 sign (insecure)<",
            ">14.5k per s<",
            "3.28 [3.24-3.31] times as fast as OpenSSL",
            "scope=\"rowgroup\">RSA-2048<",
            "[ETI10] 2010",
        ],
    ),
    (
        "session-cost",
        &[
            ">TLS 1.3, RSA-2048, handshake<",
            ">TLS 1.2 RSA, RSA-2048, 14 KB<",
            ">in print<",
            ">6.38M, RSA 34 %<",
            ">MAC<",
            "the RSA operation is",
            "160k",
        ],
    ),
    (
        "sessions-per-second",
        &[
            ">TLS 1.3, RSA-2048, 14 KB<",
            "tollgate has 1.31 [1.30-1.32] times the sessions per second of OpenSSL",
            "doubtful: the client was busy &lt;to 90 %&gt;",
            "[HP01] 2001",
            "[3.24k-3.31k]",
        ],
    ),
    (
        "cores-per-link",
        &[
            "Whole cores for a link of 10 Gbps",
            "<summary>fleet: ",
            "<summary>cores for a demand: ",
            "<summary>response time: ",
            "26 of 64",
            "[37.6-38.4]",
            "0.0061",
            "saves 23.8 [23.5 to 24.0] % of the CPU time",
            "<polyline",
        ],
    ),
    ("kernels", &["amm52_mb8_ifma", "vpmadd52"]),
];

#[test]
fn with_all_records_nothing_is_missing() {
    let page = html::report(&synthetic::all());
    check(&page).unwrap();
    assert!(!page.contains("not measured"), "something is missing");
    assert!(page.contains("Synthetic &lt;Processor&gt; &amp; Sons 9000"));
    assert!(!page.contains("<Processor>"));
    for (id, texts) in EXPECTED {
        // the texts of charts have lines of their own
        let section = section(&page, id).replace(">\n", ">").replace("\n<", "<");
        for text in texts.iter().chain(&["class=\"source\""]) {
            assert!(section.contains(text), "{text:?} in {section}");
        }
        let has_picture = section.contains("<svg ");
        assert_eq!(has_picture, PICTURES.contains(&id), "{id}");
    }
}

#[test]
fn one_rung_alone_is_a_good_report() {
    for rung in ["model", "kernel", "operation", "session", "server", "fleet"] {
        let page = html::report(&synthetic::only(&[rung]));
        check(&page).unwrap_or_else(|why| panic!("{rung}: {why}"));
        assert!(page.contains("not measured: run <code>tollgate "), "{rung}");
    }
    let page = html::report(&recorded());
    check(&page).unwrap();
    assert!(section(&page, "operation-rates").contains("RSA-4096"));
    assert!(section(&page, "session-cost").contains("not measured: run <code>tollgate explain"));
    check(&html::report(&[])).unwrap();
}
