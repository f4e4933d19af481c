//! The outputs of `tollgate bench`: `--out`; and `completions`. The tests also accept invalid runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::bench;
use crate::program::{Serve, recorded, refused, run, said, scratch, signal, start, text};

/// The folder of pages and schemas.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Validates the document against the schema, with an independent validator.
pub(crate) fn assert_follows_the_schema(schema: &str, document: &Path) {
    const CHECK: &str = "import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.Draft202012Validator(schema).validate(document)
broken = dict(document, version=0)
assert not jsonschema.Draft202012Validator(schema).is_valid(broken)";
    let mut python = Command::new("python3");
    let output =
        match python.args(["-c", CHECK, &format!("{DOCS}/{schema}")]).arg(document).output() {
            Ok(output) => output,
            Err(error) => return not_there(&error.to_string()),
        };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("No module named") {
        return not_there(&said);
    }
    assert!(output.status.success(), "{said}");
}

fn not_there(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "CI has python3-jsonschema: {why}");
    println!("not tested: {why}");
}

fn json(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("outcome.json")).unwrap()).unwrap()
}

#[test]
fn a_folder_has_every_run_and_its_files_agree() {
    let folder = scratch("out");
    let output = bench(&["--key-type", "rsa-2048", "--rounds", "2", "--out", folder.name()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("4 runs written to"), "{stderr}");
    assert_follows_the_schema("bench-outcome.schema.json", &folder.join("outcome.json"));
    let document = json(&folder);
    assert_eq!(document["complete"], true);
    assert_eq!(document["command"][0], "bench");
    let [scenario] = &document["scenarios"].as_array().unwrap()[..] else { panic!("{document}") };
    let runs = scenario["runs"].as_array().unwrap();
    // the default group is that of the installed OpenSSL
    let group = scenario["runs"][0]["plan"]["offer"]["group"].as_str();
    let label =
        format!("rsa-2048 tls13{}", group.map_or(String::new(), |group| format!(" {group}")));
    assert_eq!((scenario["label"].as_str(), runs.len()), (Some(label.as_str()), 4));
    for run in runs {
        let whole = run["whole"]["transactions"].as_u64().unwrap();
        assert_eq!(run["server_log"]["handshakes"], run["whole"]["confirmed"], "{run}");
        let groups = run["whole"]["groups"].as_object().unwrap();
        assert_eq!(groups[group.unwrap_or("x25519")], run["whole"]["client_done"], "{run}");
        assert_eq!(run["whole"]["hello_retries"], 0);
        let series = run["series"].as_array().unwrap();
        let completed: u64 = series.iter().map(|row| row["completed"].as_u64().unwrap()).sum();
        assert!(completed > 0 && completed <= whole, "{completed} of {whole}");
        let lengths: f64 = series.iter().map(|row| row["width_s"].as_f64().unwrap()).sum();
        assert!((lengths - 0.75).abs() < 0.001, "warm-up and what counts: {lengths}");
        let times = &run["times"]["transaction"];
        if run["verdict"] == "INVALID" {
            assert!(times.is_null() && run["sessions_per_s"].is_null(), "{run}");
        } else {
            assert_eq!(times["count"], run["sustain"]["transactions"]);
        }
    }
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("RSA-2048 TLS 1.3") && page.contains("<polyline"), "{page}");
    // The name of SVG is an address that no browser loads.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!page.contains("<script") && !page.contains("http"), "it loads nothing");
    refused(&run(&["bench", "--out", "/dev/null/x"]), "--out: /dev/null/x");
    refused(&run(&["bench", "--out", "/dev/null"]), "this path exists");
}

#[test]
fn an_interrupted_run_keeps_its_results_and_says_so() {
    let folder = scratch("stopped");
    let flags = "bench --seconds 60 --protocol tls13 --rounds 2 --out";
    let bench = start(flags, &[folder.name()]);
    // the folder is there before the first run begins, and a session takes milliseconds
    while !folder.exists() {
        std::thread::sleep(core::time::Duration::from_millis(20));
    }
    std::thread::sleep(core::time::Duration::from_secs(3));
    signal("INT", bench.id());
    let output = bench.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_follows_the_schema("bench-outcome.schema.json", &folder.join("outcome.json"));
    let document = json(&folder);
    assert_eq!(document["complete"], false);
    let scenario = &document["scenarios"][0];
    assert!(scenario["verdict"].is_null(), "{scenario}");
    let run = &scenario["runs"][0];
    assert!(run["reasons"][0].as_str().unwrap().contains("stopped after"), "{run}");
    assert!(run["whole"]["transactions"].as_u64() >= Some(20), "{run}");
    assert_eq!(run["verdict"], "INVALID");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Stopped before the end"));
}

/// The default suites of `tollgate serve` with an RSA key.
const SERVED: [&str; 8] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
];

#[test]
fn suites_of_the_server_are_measured_and_others_left_out() {
    let serve = Serve::start("suites.log", &[]);
    let flags = "bench --suites all --rounds 1 --seconds 0.2 --drift-max 1 --repeats 0";
    let (output, records) = recorded(flags, &[&serve.url("/bytes/100")]);
    let stdout = text(&output);
    assert!(stdout.contains("of 27 suites 19 are refused"), "{stdout}");
    let rates: BTreeMap<&str, f64> = records
        .iter()
        .filter(|record| record.quantity.as_str() == "sessions_per_s")
        .map(|record| (record.subject.parameter("suite").unwrap(), record.estimate.point()))
        .collect();
    if output.status.code() == Some(1) {
        return println!("a run is not valid here:\n{stdout}");
    }
    assert_eq!(rates.keys().copied().collect::<Vec<_>>(), SERVED);
    let rows = stdout.lines().filter(|line| line.starts_with("TLS_") && line.contains('#'));
    let rows: Vec<f64> = rows.map(|row| rates[row.split(' ').next().unwrap()]).collect();
    assert!(rows.len() == 8 && rows.is_sorted_by(|row, next| row >= next), "{stdout}");
    refused(&run(&["bench", "search", "--suites", "all", "--slo", "p99=1ms"]), "--suites all");
}

#[test]
fn each_verb_and_sub_verb_has_a_man_page() {
    let folder = scratch("man");
    refused(&run(&["man", folder.name()]), "No such file");
    fs::create_dir(&folder).unwrap();
    said(&run(&["man", folder.name()]));
    for (page, word) in [("", "bench"), ("-compare", "fail\\-if"), ("-provider-stats", "pid")] {
        let page = folder.join(format!("tollgate{page}.1"));
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.contains(word), "{}: {word}", page.display());
    }
    for script in ["tollgate.bash", "_tollgate", "tollgate.fish"] {
        let text = fs::read_to_string(folder.join(script)).unwrap();
        assert!(["bench", "papers", "fail-if"].iter().all(|word| text.contains(word)), "{script}");
    }
}
