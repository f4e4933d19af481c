//! The picture and the Markdown of a server's operations.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Quantity, Record, Timestamp, Unit};
use tollgate_report::{chart, markdown};

const OURS: &str = "operation/rsa-2048/sign?batch=8&by=tollgate";

fn record(subject: &str, quantity: Quantity, unit: Unit, point: f64) -> Record {
    let figure = (quantity, unit, Estimate::exact(point).unwrap());
    let machine = Machine::unknown("Some <Processor> 9000");
    Record {
        versions: BTreeMap::from([("openssl".into(), "3.0.19".into())]),
        conditions: BTreeMap::from([(word::SECONDS_PER_ROW.into(), "4.6".into())]),
        taken_at: "2026-11-20T12:00:00Z".parse::<Timestamp>().unwrap(),
        ..Record::new(subject.parse().unwrap(), figure, Kind::Measured, machine)
    }
}

fn rate(subject: &str, per_s: f64) -> Record {
    record(subject, word::OPERATIONS_PER_S, Unit::PerSecond, per_s)
}

fn records() -> Vec<Record> {
    let times = |who: &str, times| {
        let subject = format!("operation/rsa-2048/sign?against={who}&batch=8&by=tollgate");
        record(&subject, word::TIMES_AS_FAST, Unit::Ratio, times)
    };
    vec![
        rate(OURS, 16_000.0),
        rate("operation/rsa-2048/sign?by=tollgate", 8_000.0),
        rate("operation/rsa-2048/sign?by=openssl", 4_000.0),
        rate("operation/rsa-2048/sign?by=aws-lc", 5_000.0),
        rate("operation/rsa-1024/sign?batch=8&by=tollgate", 60_000.0),
        rate("operation/rsa-1024/sign?by=openssl", 20_000.0),
        times("openssl", 3.99),
        times("aws-lc", 3.21),
        rate("operation/x25519mlkem768/encaps?by=tollgate", 20_000.0),
        rate("operation/x25519mlkem768/encaps?by=openssl", 8_000.0),
        record(
            "operation/x25519mlkem768/encaps?against=openssl&by=tollgate",
            word::TIMES_AS_FAST,
            Unit::Ratio,
            2.5,
        ),
        rate("operation/ecdsa-p256/sign?by=openssl", 30_000.0), // without Tollgate
    ]
}

/// Returns the texts of an SVG, in order.
fn texts(svg: &str) -> Vec<&str> {
    let texts = svg.split("<text ").skip(1);
    texts.map(|rest| rest.split_once(">\n").unwrap().1.split_once("\n</text>").unwrap().0).collect()
}

/// Returns the widths of the bars of an SVG, in order: all rectangles except the background.
fn widths(svg: &str) -> Vec<f64> {
    let attribute = |rest: &str, name: &str| -> f64 {
        let at = rest.split_once(&format!(" {name}=\"")).unwrap().1;
        at.split_once('"').unwrap().0.parse().unwrap()
    };
    svg.split("<rect").skip(2).map(|rest| attribute(rest, "width")).collect()
}

#[test]
fn the_picture_names_contenders_rates_and_machine() {
    let svg = chart::speed(&records());
    let texts = texts(&svg);
    for text in [
        "Operations of a server on one core: times as fast as OpenSSL 3.0.19",
        "tollgate, batch of 8",
        "tollgate, single",
        "OpenSSL 3.0.19",
        "AWS-LC",
        "X25519MLKEM768 encaps",
        "RSA-1024 sign (insecure)",
        "RSA-2048 sign",
        "16.0k per s",
        "4.00k per s",
        "1",
        "2026-11-20, Some &lt;Processor&gt; 9000",
    ] {
        assert!(texts.contains(&text), "{text:?} in {texts:?}");
    }
    assert!(!svg.contains("RSA-3072"), "nobody measured it");
    assert!(!svg.contains("ECDSA"), "Tollgate did not measure it");
    // Ratios for X25519MLKEM768: 2.5 and 1; for RSA-2048: 4, 2, 1 and 1.25; for RSA-1024: 3 and 1.
    // Widths may differ by a pixel.
    let widths = widths(&svg);
    let times: Vec<f64> = widths.iter().map(|width| width / widths[1]).collect();
    for (is, should) in times.iter().zip([2.5, 1.0, 4.0, 2.0, 1.0, 1.25, 3.0, 1.0]) {
        assert!((is - should).abs() < 0.05, "{times:?}");
    }
    assert_eq!(times.len(), 8);
}

#[test]
fn missing_contenders_are_left_out() {
    let without = |by: &str| -> Vec<Record> {
        records().into_iter().filter(|r| r.subject.parameter(word::BY) != Some(by)).collect()
    };
    let svg = chart::speed(&without("openssl"));
    assert!(svg.contains("times as fast as AWS-LC") && !svg.contains("OpenSSL"), "{svg}");
    assert!(!svg.contains("RSA-1024"), "AWS-LC has no figure there: {svg}");
    let svg = chart::speed(&without("tollgate"));
    assert!(svg.contains("OpenSSL") && !svg.contains("tollgate"), "{svg}");
    assert!(chart::speed(&[]).contains("No operation of a handshake was measured."));

    let page = markdown::speed(&without("tollgate"));
    assert!(page.contains("| operation | OpenSSL 3.0.19 | AWS-LC |\n"), "{page}");
    assert_eq!(markdown::speed(&[]), "No operation of a handshake was measured.\n");
}

#[test]
fn published_figures_have_no_bar() {
    let published = Record {
        kind: Kind::Published { source: "a paper".into() },
        ..rate("operation/rsa-2048/sign?by=openssl", 1.0)
    };
    assert!(chart::speed(&[published]).contains("No operation of a handshake was measured."));
}

#[test]
fn the_table_has_rates_ratios_and_the_machine() {
    let page = markdown::speed(&records());
    let line =
        "| RSA-2048 sign | 16.0k | 8.00k | 4.00k | 5.00k | 3.99 [3.99-3.99] | 3.21 [3.21-3.21] |";
    assert!(page.lines().any(|found| found == line), "{page}");
    let line = "| RSA-1024 sign (insecure) | 60.0k | - | 20.0k | - | - | - |";
    assert!(page.lines().any(|found| found == line), "{page}");
    // without a batch, the ratio is that of a single operation
    let line = "| X25519MLKEM768 encaps | - | 20.0k | 8.00k | - | 2.50 [2.50-2.50] | - |";
    assert!(page.lines().any(|found| found == line), "{page}");
    assert!(!page.contains("ECDSA"), "{page}");
    assert!(page.starts_with("On Some <Proc"), "the first line names the processor: {page}");
    let when = "Measured on 2026-11-20, in one run on one thread, 4.6 s for each row:";
    assert!(page.contains(when) && page.contains("    Some <Proc"), "{page}");
}
