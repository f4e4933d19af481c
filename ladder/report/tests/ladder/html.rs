//! The HTML report of synthetic records: no picture is empty, and the HTML is well formed.

use tollgate_record::Record;
use tollgate_report::html;

use crate::markup::{check, section, texts, widths};
use crate::{PICTURES, synthetic};

fn recorded() -> Vec<Record> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/speed.jsonl");
    let file = std::fs::File::open(path).unwrap();
    tollgate_record::jsonl::read_all(std::io::BufReader::new(file)).unwrap()
}

#[test]
fn with_all_records_nothing_is_missing() {
    let page = html::report(&synthetic::all());
    check(&page).unwrap();
    assert!(!page.contains("not measured"), "something is missing");
    for id in PICTURES.into_iter().chain(["kernels"]) {
        assert!(section(&page, id).contains("class=\"source\""), "{id} has no source");
    }
    assert!(page.contains("Synthetic &lt;Processor&gt; &amp; Sons 9000"));
    assert!(!page.contains("<Processor>"));
}

#[test]
fn the_ladder_has_bars_and_remainders() {
    let page = html::report(&synthetic::all());
    let ladder = section(&page, "rung-ladder");
    assert_eq!(ladder.matches("<span class=\"number\">").count(), 6);
    // Only bars count: the legend's squares have widths in pixels, not in percent.
    assert_eq!(widths(ladder, "measured").len(), 7);
    assert!(widths(ladder, "predicted").iter().all(|width| *width > 1.0));
    assert!(widths(ladder, "remainder").len() >= 5);
    // A session takes 1.606M cycles, drawn on an axis of 2M. The prediction is 1.453M cycles.
    let sessions = widths(ladder, "predicted");
    assert!(sessions.iter().any(|width| (width - 72.63).abs() < 0.1), "{sessions:?}");
}

#[test]
fn rates_stand_in_a_block_for_each_size() {
    let page = html::report(&synthetic::all());
    let rates = section(&page, "rsa-rates");
    let captions = texts(rates, "<caption");
    assert_eq!(captions, ["RSA-1024 (insecure)", "RSA-2048", "RSA-3072", "RSA-4096"]);
    for class in ["ours-batch", "ours", "library", "library-other"] {
        assert_eq!(widths(rates, class).len(), 4, "{class}");
    }
    assert_eq!(widths(rates, "published").len(), 3);
    // RSA-2048: 14545 and 4440 signatures per second on one axis.
    let (ours, theirs) = (widths(rates, "ours-batch")[1], widths(rates, "library")[1]);
    assert!((ours / theirs - 901.0 / 275.0).abs() < 0.01, "{ours} {theirs}");
    assert!(rates.contains("[ETI10] 2010") && rates.contains("2.14k"), "{rates}");
}

#[test]
fn sessions_are_stacked_by_size_and_engine() {
    let page = html::report(&synthetic::all());
    let cost = section(&page, "session-cost");
    let captions = texts(cost, "<caption");
    assert_eq!(captions, ["TLS 1.3", "TLS 1.2 ECDHE", "TLS 1.2 RSA", "Then and now"]);
    // Five sizes, two engines and three protocols are 30 bars. Four more: one with ECDSA, the
    // published session, and two measured sessions.
    assert_eq!(widths(cost, "part-rsa").len(), 34);
    assert_eq!(widths(cost, "part-mac").iter().filter(|width| **width > 0.0).count(), 1);
    assert_eq!(cost.matches("<line class=\"mark\"").count(), 7, "what was measured");
    // The last segment of the published bar, on an axis of 8M. Two more bars follow.
    let library = widths(cost, "part-library");
    assert!((library[31] - 100.0 * 0.73 / 8.0).abs() < 0.02, "{library:?}");
    for text in ["handshake", "14 KB", "140 KB", "6.38M", "RSA 34 %", "measured 1.61M"] {
        assert!(cost.contains(text), "{text}");
    }
}

#[test]
fn servers_have_bars_intervals_and_predictions() {
    let page = html::report(&synthetic::all());
    let rates = section(&page, "sessions-per-second");
    assert_eq!((widths(rates, "ours").len(), widths(rates, "library").len()), (3, 4));
    assert_eq!(widths(rates, "published").len(), 6);
    assert_eq!(rates.matches("<line class=\"mark\"").count(), 7);
    assert_eq!(rates.matches("<line class=\"whisker\"").count(), 3 * 7);
    assert!(
        rates.contains("tollgate has 1.31 [1.30-1.32] times the sessions per second of OpenSSL")
    );
    assert!(rates.contains("doubtful: the client was busy &lt;to 90 %&gt;"));
}

#[test]
fn fleets_have_cores_cost_and_a_curve() {
    let page = html::report(&synthetic::all());
    let cores = section(&page, "cores-per-link");
    let captions = texts(cores, "<caption");
    assert_eq!(captions[..3], ["1 Gbps", "10 Gbps", "100 Gbps"]);
    assert_eq!(widths(cores, "published").len(), 6);
    let tables = texts(cores, "<summary");
    let names: Vec<_> = tables.iter().filter_map(|name| name.split(": ").next()).collect();
    assert_eq!(names, ["fleet", "cores for a demand", "one core", "response time"]);
    for figure in ["26 of 64", "[37.6-38.4]", "0.0061", "305 µs", "1.22", "90 %", "1.95 ms"] {
        assert!(texts(cores, "<td class=\"figure\"").contains(&figure), "{figure}: {cores}");
    }
    assert!(cores.contains("saves 23.8 [23.5 to 24.0] % of the CPU time"), "{cores}");
    assert_eq!(cores.matches("<polyline").count(), 2);
    let points = cores.split_once("points=\"").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(points.split(' ').count(), 8);
    assert!(cores.contains("one handshake where 14 KB need 9"), "{cores}");
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
    assert_eq!(texts(section(&page, "rsa-rates"), "<caption").len(), 4);
    assert!(section(&page, "session-cost").contains("not measured: run <code>tollgate explain"));
    check(&html::report(&[])).unwrap();
}
