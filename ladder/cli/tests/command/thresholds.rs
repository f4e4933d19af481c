//! `bench --fail-if`, `--summary` and `--histogram`; `completions`.

use std::fs;

use crate::bench::bench;
use crate::program::{run, said, scratch};

const SHORT: [&str; 6] = ["--protocol", "tls13", "--bytes", "100", "--rounds", "2"];

#[test]
fn a_condition_that_is_met_has_an_exit_code_and_a_line() {
    let file = scratch("summary.json");
    let name = file.name();
    let more = ["--fail-if", "p50>1us", "--fail-if", "failures>90%", "--summary", name];
    let output = bench(&[&SHORT[..], &more, &["--histogram"]].concat());
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if summary["verdict"] == "INVALID" {
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        return; // the machine is too busy for a result
    }
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.contains("--fail-if p50>1us")).count(), 2);
    assert!(!stderr.contains("failures>90%"), "{stderr}");
    assert_eq!(summary["failed_conditions"], serde_json::json!(["p50>1us"]));
    let servers = summary["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2);
    for server in servers {
        assert!(server["sessions_per_s"].as_f64().unwrap() > 0.0, "{server}");
        assert!(server["transaction_ms"]["p99"].as_f64().unwrap() > 0.0, "{server}");
        assert_eq!(server["failures"], 0);
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("times of transactions") && stdout.contains("###"), "{stdout}");
}

#[test]
fn a_summary_is_the_only_standard_output() {
    let output = bench(&[&SHORT[..], &["--engine", "tollgate", "--summary", "-"]].concat());
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["servers"][0]["server"], "tollgate");
}

#[test]
fn completions_name_the_verbs_and_their_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&run(&["completions", shell]));
        for word in ["bench", "variants", "fail-if"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
