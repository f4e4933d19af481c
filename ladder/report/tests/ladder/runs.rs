//! The page of a load generator's runs, from synthetic runs.

use tollgate_record::{Area, Record};
use tollgate_report::html::{Curve, Runs, Scenario, Second, Server, of_runs};

use crate::markup::{check, section, texts};
use crate::synthetic;

/// Returns three seconds of a run. Run number 3 loses connections in its last second.
fn run(number: u32, rate: f64) -> Vec<Second> {
    let second = |at: u32| Second {
        from_s: f64::from(4 * number + at),
        width_s: 1.0,
        completed_per_s: if at == 0 { rate / 2.0 } else { rate },
        lost_per_s: if at == 2 && number == 3 { 40.0 } else { 0.0 },
    };
    (0..3).map(second).collect()
}

/// Returns times by quantile: `least_ns` at quantile 0, and twice as long at 0.9, 0.99, 0.999.
fn times(least_ns: f64) -> Vec<(f64, f64)> {
    let point = |step: u32| {
        let nines = f64::from(step) / 10.0;
        (1.0 - 10f64.powf(-nines), least_ns * 2f64.powf(nines))
    };
    (0..=35).map(point).collect()
}

fn server(name: &str, first: u32, rate: f64) -> Server {
    Server {
        name: name.to_owned(),
        runs: (0..4).map(|number| run(2 * number + first, rate)).collect(),
        transaction: times(1e6),
        handshake: times(6e5),
    }
}

/// Returns a scenario of rounds and a search.
pub(crate) fn all() -> Runs {
    let is_server = |record: &Record| record.subject.area() == Area::Server;
    let rounds = Scenario {
        name: "rsa-2048 tls13".to_owned(),
        verdict: "VALID".to_owned(),
        lines: vec!["- doubtful: openssl: it <scatters> & stops".to_owned()],
        records: synthetic::all().into_iter().filter(is_server).collect(),
        servers: vec![server("openssl", 0, 2400.0), server("tollgate", 1, 3600.0)],
        curve: None,
    };
    let search = Scenario {
        name: "rsa-2048 tls13, openssl".to_owned(),
        verdict: "p99=20ms is met up to 2000 per s [2000 to 2100]".to_owned(),
        curve: Some(Curve {
            objective: "p99=20ms".to_owned(),
            limit_ns: 2e7,
            lines: vec![
                ("p50".to_owned(), vec![(200.0, 1e6), (2000.0, 2e6), (2100.0, 9e6)]),
                ("p99".to_owned(), vec![(200.0, 2e6), (2000.0, 1e7), (2100.0, 9e8)]),
            ],
        }),
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
fn verdicts_come_first_and_each_run_is_a_line() {
    let page = of_runs(&all());
    check(&page).unwrap();
    assert!(
        page.contains("<p class=\"lead\">RSA-2048 TLS 1.3: VALID; RSA-2048 TLS 1.3, OpenSSL: p99")
    );
    assert!(page.contains("doubtful: OpenSSL: it &lt;scatters&gt; &amp; stops"));
    let rounds = section(&page, "scenario-1");
    // four runs of two servers and what one lost, and two times of each, with legends
    assert!(rounds.matches("<polyline").count() >= 3 * 4 + 2 * 2, "{rounds}");
    for text in ["OpenSSL", "tollgate", "failed or not begun", "one of so many took longer"] {
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
    let strange =
        Second { from_s: f64::NAN, width_s: 0.0, completed_per_s: f64::INFINITY, lost_per_s: -1.0 };
    let server = Server {
        runs: vec![vec![strange]],
        transaction: vec![(2.0, f64::NAN)],
        ..server("x", 0, 1.0)
    };
    let curve =
        Curve { lines: vec![("p50".to_owned(), vec![(f64::NAN, 1.0)])], ..Curve::default() };
    let scenario = Scenario { servers: vec![server], curve: Some(curve), ..Scenario::default() };
    check(&of_runs(&Runs { scenarios: vec![scenario], ..Runs::default() })).unwrap();
}
