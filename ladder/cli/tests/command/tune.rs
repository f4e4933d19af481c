//! `tollgate tune`, with `perf` on a real nginx. No test depends on speed.

use std::fs;

use crate::explain::can_sample;
use crate::program::{has_result, line, refused, scratch, text, tollgate};

const SHORT: &str = "tune --seconds 0.3 --rounds 2 --repeats 0 --drift-max 1 --connections 4";

/// Candidates whose factors make them the first two tries: a change that nginx takes, and one that
/// it refuses.
const CANDIDATES: &str = r#"
[[candidate]]
word = "log-buffer"
title = "a buffered log"
reason = "a test"
parts = ["rsa"]
factor = [2.0, 3.0, 4.0]
set = { directives = { "http.access_log" = "{folder}/access.log tollgate buffer=64k flush=50ms" } }

[[candidate]]
word = "nonsense"
title = "a directive that nginx does not know"
reason = "a test"
parts = ["rsa"]
factor = [5.0, 6.0, 7.0]
set = { directives = { "http.no_such_directive" = "on" } }
"#;

#[test]
fn each_step_has_an_expectation_a_measurement_and_a_decision() {
    if !can_sample() {
        return;
    }
    let file = scratch("candidates.toml");
    fs::write(&file, CANDIDATES).unwrap();
    let output = line(SHORT, &["--candidates", file.name()]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    let step = |title: &str| {
        let at = said.find(title).unwrap_or_else(|| panic!("no step {title}: {said}"));
        said[at..].split("\n\n").next().unwrap().to_owned()
    };
    let refused = step("a directive that nginx does not know");
    assert!(refused.contains("no step: nginx does not start; it says:"), "{said}");
    assert!(refused.contains("no_such_directive") && !refused.contains("measured"), "{said}");
    let logged = step("a buffered log");
    let parts =
        ["- state: ", "rsa ", "- reason: a test", "- expected: ", "becomes 3.00x", "- decision: "];
    for part in parts {
        assert!(logged.contains(part), "{part}: {said}");
    }
    if !logged.contains("no step") {
        assert!(logged.contains("- measured: ") && logged.contains("error "), "{said}");
    }
    // a shorter key is only shown, whatever it promises
    assert!(said.contains("--allow clients") && !said.contains("step 1: certificate"), "{said}");
}

#[test]
fn a_plan_changes_nothing() {
    if !can_sample() {
        return;
    }
    let output = line(&format!("{SHORT} --plan --key-type rsa-3072"), &[]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    for word in ["now: ", "rsa ", "provider ", "rsa-2048 ", "--allow security", "ecdsa-p256 "] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("step 1"), "{said}");
}

#[test]
fn the_embedded_server_is_tuned_too() {
    if !can_sample() {
        return;
    }
    let flags = format!("{SHORT} --server openssl --key-type rsa-3072 --allow security,clients");
    let output = line(&flags, &[]);
    if !has_result(&output) {
        return;
    }
    // a shorter key pays on every processor; whether the provider does depends on it
    let said = text(&output);
    for part in ["openssl ", "step 1: ", "- expected: ", "provider", "two requests"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_command_starts_the_server() {
    if !can_sample() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_tollgate-ladder");
    let command = format!(
        "{program} serve --engine openssl --address 127.0.0.1:{{port}} --cert {{folder}}/chain.pem \
         --key {{folder}}/key.pem --access-log {{log}}"
    );
    let output = line(&format!("{SHORT} --allow security"), &["--command", &command]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    let parts = ["command, rsa-2048", "rsa ", "provider"];
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
    let output = line(&format!("{SHORT} --plan"), &["--command", "true {port}"]);
    refused(&output, "the command has no {log}");
    let output = line(&format!("{SHORT} --plan"), &["--command", "echo gone {port} {log}"]);
    refused(&output, "gone");
}

#[test]
fn bad_requests_name_the_next_step() {
    let file = scratch("bad.toml");
    fs::write(&file, CANDIDATES.replace("[\"rsa\"]", "[\"heat\"]")).unwrap();
    for (flags, why) in [
        ("tune --rounds 3", "even number"),
        ("tune --server iis", "nginx"),
        ("tune --allow everything", "security"),
        ("tune --candidates /no/such.toml", "/no/such.toml"),
    ] {
        refused(&line(flags, &[]), why);
    }
    refused(&line("tune --candidates", &[file.name()]), "no profile has a part heat");
    if can_sample() {
        let start = "[start.directives]\n\"http.no_such_directive\" = \"on\"\n";
        fs::write(&file, start).unwrap();
        let output = line(&format!("{SHORT} --plan --candidates"), &[file.name()]);
        if String::from_utf8_lossy(&output.stderr).contains("apt-get") {
            return; // nginx is missing
        }
        refused(&output, "nginx does not start; it says: ");
    }
    let output = tollgate().arg("tune").env("PATH", "/nonexistent").output().unwrap();
    refused(&output, "apt-get install linux-perf");
}
