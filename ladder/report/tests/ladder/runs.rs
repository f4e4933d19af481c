//! The page of a load generator's runs, from synthetic runs.

use tollgate_record::{Area, Record};
use tollgate_report::chart::{Plane, Series};
use tollgate_report::html::{Runs, Scenario, of_runs};

use crate::markup::{check, section, texts};
use crate::synthetic;

fn line(name: &str, points: &[(f64, f64)]) -> Series {
    Series { name: name.to_owned(), points: points.to_vec(), ..Series::default() }
}

fn plane(title: &str, is_from_zero: bool, series: Vec<Series>) -> Plane {
    let axes = ["seconds", "per second"].map(str::to_owned);
    Plane { title: title.to_owned(), axes, series, is_from_zero }
}

/// Returns a scenario of rounds and a search.
pub(crate) fn all() -> Runs {
    let is_server = |record: &Record| record.subject.area() == Area::Server;
    let rates = [(0.0, 1200.0), (1.0, 1200.0), (1.0, 2400.0), (2.0, 2400.0)];
    let lost = [(7.0, 0.0), (8.0, 0.0), (8.0, 40.0), (9.0, 40.0)];
    let series = vec![
        line("openssl", &rates),
        line("", &rates.map(|(x, y)| (x + 8.0, y))),
        line("tollgate", &rates.map(|(x, y)| (x + 4.0, 1.5 * y))),
        line("tollgate: failed or not begun", &lost),
    ];
    let rounds = Scenario {
        name: "rsa-2048 tls13".to_owned(),
        verdict: "VALID".to_owned(),
        lines: vec!["- doubtful: openssl: it <scatters> & stops".to_owned()],
        records: synthetic::all().into_iter().filter(is_server).collect(),
        charts: vec![plane("Sessions per second", true, series)],
    };
    let limit = line("the limit, p99=20ms", &[(200.0, 20.0), (2100.0, 20.0)]);
    let series = vec![
        line("p50", &[(200.0, 1.0), (2000.0, 2.0), (2100.0, 9.0)]),
        line("p99", &[(200.0, 2.0), (2000.0, 10.0), (2100.0, 900.0)]),
        Series { is_dashed: true, ..limit },
    ];
    let search = Scenario {
        name: "rsa-2048 tls13, openssl".to_owned(),
        verdict: "p99=20ms is met up to 2000 per s [2000 to 2100]".to_owned(),
        charts: vec![plane("Times by load", false, series)],
        ..Scenario::default()
    };
    Runs {
        about: vec!["a machine".to_owned(), "plan: full handshakes".to_owned()],
        is_complete: true,
        notes: vec!["the load average was 9".to_owned()],
        scenarios: vec![rounds, search],
    }
}

#[test]
fn verdicts_come_first_and_series_have_names() {
    let page = of_runs(&all());
    check(&page).unwrap();
    assert!(
        page.contains("<p class=\"lead\">RSA-2048 TLS 1.3: VALID; RSA-2048 TLS 1.3, OpenSSL: p99")
    );
    assert!(page.contains("doubtful: OpenSSL: it &lt;scatters&gt; &amp; stops"));
    let rounds = section(&page, "scenario-1");
    assert!(rounds.matches("<polyline").count() >= 4, "{rounds}");
    for text in ["OpenSSL", "tollgate: failed or not begun"] {
        assert!(rounds.contains(text), "{text}");
    }
    let search = section(&page, "scenario-2");
    assert!(search.contains("the limit, p99=20ms") && !search.contains("<table"), "{search}");
}

#[test]
fn full_and_resumed_sessions_have_rows_of_their_own() {
    let mut runs = all();
    let records = &mut runs.scenarios[0].records;
    let kind = |record: &Record| {
        let subject = record.subject.with("sessions", "resumed").unwrap();
        Record { subject, ..record.clone() }
    };
    let is_ours = |record: &&Record| record.subject.parameter("by") == Some("tollgate");
    let resumed: Vec<Record> = records.iter().filter(is_ours).map(kind).collect();
    records.extend(resumed);
    let page = of_runs(&runs);
    let rows = texts(section(&page, "scenario-1"), "<th scope=\"row\"");
    assert!(
        rows.iter().any(|row| row.ends_with("14 KB, tollgate"))
            && rows.iter().any(|row| row.ends_with("14 KB, tollgate, resumed")),
        "{rows:?}"
    );
}

#[test]
fn stopped_empty_and_invalid_runs_have_pages() {
    let stopped = Runs { is_complete: false, ..all() };
    assert!(of_runs(&stopped).contains("Stopped before the end"));
    check(&of_runs(&Runs::default())).unwrap();
    let strange = line("x", &[(f64::NAN, f64::INFINITY), (1.0, -1.0)]);
    let charts = [true, false].map(|zero| plane("x", zero, vec![strange.clone()]));
    let scenario = Scenario { charts: charts.into(), ..Scenario::default() };
    check(&of_runs(&Runs { scenarios: vec![scenario], ..Runs::default() })).unwrap();
}
