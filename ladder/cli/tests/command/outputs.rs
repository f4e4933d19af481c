//! The outputs of `tollgate bench`: `--out`, `--fail-if` and `--histogram`; and `completions`. The
//! tests also accept invalid runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::bench;
use crate::program::{Serve, recorded, refused, run, said, scratch, signal, start, text};

/// The folder of pages and schemas.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

const SMALL: [&str; 6] = ["--protocol", "tls13", "--bytes", "100", "--rounds", "2"];

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

/// Returns the rows of a CSV file without quotes, by column name.
fn rows(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let heading: Vec<String> = lines.next().unwrap().collect();
    lines
        .map(|cells| {
            let cells: Vec<String> = cells.collect();
            assert_eq!(cells.len(), heading.len(), "{name}: {cells:?}");
            heading.iter().cloned().zip(cells).collect()
        })
        .collect()
}

#[test]
fn a_folder_has_every_run_and_its_files_agree() {
    let folder = scratch("out");
    let output = bench(&["--protocol", "tls13", "--rounds", "2", "--out", folder.name()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("4 runs written to"), "{stderr}");
    assert_follows_the_schema("bench-outcome.schema.json", &folder.join("outcome.json"));
    let document = json(&folder);
    assert_eq!(document["complete"], true);
    assert_eq!(document["command"][0], "bench");
    let [scenario] = &document["scenarios"].as_array().unwrap()[..] else { panic!("{document}") };
    let runs = scenario["runs"].as_array().unwrap();
    assert_eq!((scenario["label"].as_str(), runs.len()), (Some("rsa-2048 tls13"), 4));
    let (counts, series) = (rows(&folder, "counts.csv"), rows(&folder, "series.csv"));
    for run in runs {
        let (server, number) = (run["server"].as_str().unwrap(), run["number"].to_string());
        let is_own =
            |row: &&BTreeMap<String, String>| row["server"] == server && row["run"] == number;
        let count = |of: &str, what: &str| -> u64 {
            let row = counts.iter().filter(is_own).find(|r| r["of"] == of && r["what"] == what);
            row.unwrap_or_else(|| panic!("{of} {what}"))["count"].parse().unwrap()
        };
        let whole = count("whole", "transactions");
        assert!(whole > 0 && Some(whole) == run["whole"]["transactions"].as_u64(), "{run}");
        assert_eq!(count("server", "handshakes"), count("whole", "confirmed"));
        let own: Vec<_> = series.iter().filter(is_own).collect();
        let completed: u64 = own.iter().map(|row| row["completed"].parse::<u64>().unwrap()).sum();
        assert!(completed > 0 && completed <= whole, "{completed} of {whole}");
        let lengths: f64 = own.iter().map(|row| row["width_s"].parse::<f64>().unwrap()).sum();
        assert!((lengths - 0.75).abs() < 0.001, "warm-up and what counts: {lengths}");
        if run["verdict"] == "INVALID" {
            assert!(run["sessions_per_s"].is_null(), "{run}");
            continue;
        }
        let times = &run["times"]["transaction"];
        assert!(times["hdr_v2_base64"].is_string(), "{run}");
        assert_eq!(times["count"], run["sustain"]["transactions"]);
    }
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("RSA-2048 TLS 1.3") && page.contains("<polyline"), "{page}");
    assert!(!page.contains("<script") && !page.contains("http"), "it loads nothing");
    refused(&run(&["bench", "--out", "/dev/null/x"]), "--out: /dev/null/x");
    refused(&run(&["bench", "--out", "/dev/null"]), "this path exists");
}

#[test]
fn an_interrupted_run_keeps_its_results_and_says_so() {
    let folder = scratch("stopped");
    let flags = "bench --seconds 60 --protocol tls13 --rounds 2 --out";
    let bench = start(flags, &[folder.name()]);
    // the files are there when the first run begins, and a session takes milliseconds
    while !folder.join("counts.csv").exists() {
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
    assert!(rows(&folder, "series.csv").iter().all(|row| row["verdict"] == "INVALID"));
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Stopped before the end"));
}

/// The default suites of `tollgate serve` with an RSA key.
const SERVED: [&str; 6] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

#[test]
fn suites_of_the_server_are_measured_and_others_left_out() {
    let serve = Serve::start("suites.log", &[]);
    let flags = "bench --suites all --rounds 1 --seconds 0.2 --drift-max 1 --repeats 0";
    let (output, records) = recorded(flags, &[&serve.url("/bytes/100")]);
    let stdout = text(&output);
    assert!(stdout.contains("of 27 suites 21 are refused"), "{stdout}");
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
    assert!(rows.len() == 6 && rows.is_sorted_by(|one, next| one >= next), "{stdout}");
    refused(&run(&["bench", "search", "--suites", "all", "--slo", "p99=1ms"]), "--suites all");
}

#[test]
fn a_condition_that_is_met_has_an_exit_code_and_a_line() {
    let more = ["--fail-if", "p50>1us", "--fail-if", "failures>90%", "--histogram"];
    let output = bench(&[&SMALL[..], &more].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(1) {
        return; // the machine is too busy for a result
    }
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.contains("--fail-if p50>1us")).count(), 2);
    assert!(!stderr.contains("failures>90%"), "{stderr}");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("times of transactions") && stdout.contains("###"), "{stdout}");
}

#[test]
fn each_verb_and_sub_verb_has_a_man_page() {
    let folder = scratch("man");
    refused(&run(&["man", folder.name()]), "No such file");
    fs::create_dir(&folder).unwrap();
    said(&run(&["man", folder.name()]));
    for (page, word) in [("", "bench"), ("-bench", "fail\\-if"), ("-provider-stats", "pid")] {
        let page = folder.join(format!("tollgate{page}.1"));
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.contains(word), "{}: {word}", page.display());
    }
}

#[test]
fn completions_name_the_verbs_and_their_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&run(&["completions", shell]));
        for word in ["bench", "papers", "fail-if"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
