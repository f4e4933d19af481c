//! `tollgate bench experiment`, with the installed servers.

use std::fs;

use tollgate_record::vocabulary as word;

use crate::program::{has_result, recorded, refused, scratch, text, tollgate};

/// Each run takes a second: ten of them.
#[test]
fn every_change_has_a_row_and_another_key_shows_an_effect() {
    let (output, records) = recorded("bench experiment sensitivity --rounds 1 -z 0.5", &[]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    let row = |change: &str| {
        // the verdicts have the same names
        let is_row = |line: &&str| line.starts_with(change) && line.contains('[');
        said.lines().rfind(is_row).unwrap_or_else(|| panic!("{change} in\n{said}"))
    };
    for change in ["memory: none for", "disk: none", "link: segments", "log: each", "log: also"] {
        assert!(row(change).contains('%') || row(change).contains("none shown"), "{said}");
    }
    // of one round the interval is a point, so every change shows an effect
    assert!(row("control: RSA-3072").ends_with("more"), "{said}");
    let ratios = records.iter().filter(|record| {
        record.quantity == word::SERVER_CPU_RATIO
            && record.subject.parameter(word::AGAINST) == Some("nginx-sensitivity-baseline")
    });
    assert_eq!(ratios.count(), 9, "{said}");
}

/// Four cases, two of which are commands.
#[test]
fn a_command_is_a_client_and_the_log_counts_its_sessions() {
    let (output, records) = recorded("bench experiment clients --rounds 1 -z 0.5", &[]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    assert!(said.contains("curl: VALID") && said.contains("openssl s_time: VALID"), "{said}");
    for by in ["nginx-clients-load-generator", "nginx-clients-curl", "nginx-clients-openssl-s-time"]
    {
        let costs = |quantity: &str| {
            let is_it = |record: &&tollgate_record::Record| {
                record.quantity.as_str() == quantity && record.subject.parameter("by") == Some(by)
            };
            records.iter().find(is_it).map_or(0.0, |record| record.estimate.point())
        };
        assert!(costs("server_cpu_ns_per_session") > 0.0, "{by} in\n{said}");
        assert!(costs("client_cpu_ns_per_session") > 0.0, "{by} in\n{said}");
    }
}

/// Shortest runs of the others; the long ones only if they are asked for.
#[test]
fn the_other_experiments_have_tables() {
    let is_long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    for (name, row, takes_long) in [
        ("proxy", "HAProxy, async, provider", false),
        ("sessions", "nginx: tickets, 2 processes", true),
        ("scale", "Tollgate, 1 core", false),
        ("share", "100 %, Tollgate", true),
    ] {
        if takes_long && !is_long {
            println!("not tested: {name} takes half a minute; set TOLLGATE_TEST_LONG");
            continue;
        }
        let (output, records) =
            recorded(&format!("bench experiment {name} --rounds 1 -z 0.2"), &[]);
        if has_result(&output) {
            let said = text(&output);
            assert!(said.lines().any(|line| line.starts_with(row)), "{row} in\n{said}");
            assert!(!records.is_empty());
        }
    }
}

#[test]
fn users_list_show_and_write_experiments() {
    let said = |args: &[&str]| {
        let output = tollgate().args(["bench", "experiment"]).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output)
    };
    assert_eq!(said(&[]).lines().count(), 8);
    let shown = said(&["sensitivity", "--show"]);
    assert!(shown.contains("[[case]]"));
    let file = scratch("own.toml");
    for (old, new, why) in [
        ("set = { provider = true }", "set = { provider = 1 }", "line 47: invalid type"),
        ("\"rate\"", "\"heat\"", "line 3: heat: no such column: give some of rate"),
        ("key = \"rsa-3072\"", "key = \"rsa-9\"", "line 50: control: RSA-3072: key: rsa-9: give"),
    ] {
        let wrong = shown.replace(old, new);
        assert_ne!(wrong, shown);
        fs::write(&file, wrong).unwrap();
        let output = tollgate().args(["bench", "experiment", file.name()]).output().unwrap();
        refused(&output, why);
        refused(&output, file.name());
    }
    let output = tollgate().args(["bench", "experiment", "nothing"]).output().unwrap();
    refused(&output, "give clients, eti10");
}
