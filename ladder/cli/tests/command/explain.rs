//! `tollgate explain`, with `perf` on a real nginx.

use std::fs;
use std::process::Command;

use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record, Topic};

use crate::program::{Serve, has_result, line, recorded, refused, scratch, text, tollgate};

const SHORT: &str = "explain --protocol tls13 --seconds 5";

const LIVE: &str = "explain --protocol tls13 --seconds 5 --server nginx";

/// Returns whether `perf` can sample here. Without it a test says so, and fails in CI.
pub(crate) fn can_sample() -> bool {
    let here = Command::new("perf").arg("--version").output().is_ok();
    let why = "skipped: perf is not installed; on Debian run: apt-get install linux-perf";
    assert!(here || std::env::var_os("CI").is_none(), "{why}");
    if !here {
        println!("{why}");
    }
    here
}

fn cycles(records: &[Record], part: Option<&str>) -> f64 {
    let is_of = |record: &&Record| {
        record.quantity == word::CYCLES_PER_SESSION
            && record.subject.parameter(word::PART) == part
            && record.subject.parameter(word::DETAIL).is_none()
    };
    records.iter().find(is_of).map_or(0.0, |record| record.estimate.point())
}

#[test]
fn the_parts_of_a_server_add_up_to_its_cpu_time() {
    if !can_sample() {
        return;
    }
    let (output, all) = recorded(LIVE, &["--key-type", "rsa-2048"]);
    if !has_result(&output) {
        return;
    }
    for by in ["nginx-openssl", "nginx-tollgate"] {
        let is_of = |record: &&Record| {
            record.subject.parameter(word::BY) == Some(by) && record.kind == Kind::Measured
        };
        let is_of_session =
            |record: &&Record| is_of(record) && matches!(record.subject.topic(), Topic::Session(_));
        let records: Vec<Record> = all.iter().filter(is_of_session).cloned().collect();
        let said = format!("{by}: {}", text(&output));
        let total = cycles(&records, None);
        let words = [word::PART_RSA, word::PART_KEY_EXCHANGE, word::PART_KEY_SCHEDULE];
        let more = [word::PART_RECORDS, word::PART_LIBRARY, word::PART_SYSTEM, word::PART_SERVER];
        let known: f64 = words.iter().chain(&more).map(|part| cycles(&records, Some(part))).sum();
        assert!(total > 0.0 && (0.9..1.1).contains(&(known / total)), "{known} {total} {said}");
        // whatever the machine, an RSA-2048 signature is no small part of a full handshake
        let rsa = cycles(&records, Some(word::PART_RSA)) / total;
        assert!((0.1..0.9).contains(&rsa), "{rsa} {said}");
    }
}

#[test]
fn the_steps_of_a_paper_have_rows_and_parts() {
    if !can_sample() {
        return;
    }
    let (output, records) = recorded("bench experiment eti10 --rounds 1 --seconds 0.5", &[]);
    if !has_result(&output) {
        return;
    }
    let said = text(&output);
    let rows = said.lines().filter(|line| line.starts_with("AES128-") && !line.contains(':'));
    assert_eq!(rows.count(), 5, "{said}");
    for row in ["rsa", "records", "other than the paper's", "sum"] {
        assert!(said.lines().any(|line| line.starts_with(row)), "{row} in\n{said}");
    }
    // the first step does AES without the instructions for it
    let aes = |by: &str| {
        let of_server = |record: &&Record| record.subject.parameter(word::BY) == Some(by);
        let of_server: Vec<Record> = records.iter().filter(of_server).cloned().collect();
        cycles(&of_server, Some(word::PART_RECORDS))
    };
    assert!(
        aes("nginx-eti10-aes128-sha-no-aes-instructions") > 2.0 * aes("nginx-eti10-aes128-sha"),
        "{said}"
    );
}

#[test]
fn what_a_profile_needs_is_said_before_a_server_starts() {
    refused(&line(&format!("{SHORT} https://127.0.0.1:1/bytes/1"), &[]), "--pid");
    let output = tollgate().args(LIVE.split_whitespace()).env("PATH", "/nonexistent").output();
    refused(&output.unwrap(), "apt-get install linux-perf");
}

/// Root may always sample, so the test drops its capabilities.
#[test]
fn a_user_without_permission_learns_of_it() {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if !can_sample() || level.trim().parse::<i32>().is_ok_and(|level| level < 2) {
        println!("not run: every user may sample here");
        return;
    }
    let program = env!("CARGO_BIN_EXE_tollgate-ladder");
    let output = Command::new("setpriv")
        .args(["--inh-caps=-all", "--bounding-set=-all", program])
        .args(LIVE.split_whitespace())
        .output();
    refused(&output.unwrap(), "sysctl kernel.perf_event_paranoid=1");
}

#[test]
fn sessions_that_no_log_confirms_have_no_profile() {
    if !can_sample() {
        return;
    }
    let serve = Serve::start("profiled.log", &["--engine", "openssl"]);
    let other = scratch("other.log");
    fs::write(&other, "").unwrap();
    let (url, process) = (serve.url("/bytes/1000"), serve.child.id().to_string());
    let (output, records) = recorded(SHORT, &[&url, "--pid", &process, "--log", other.name()]);
    let said = text(&output);
    assert!(said.contains("INVALID") && said.contains("the server's log has 0"), "{said}");
    assert_eq!((output.status.code(), records), (Some(1), Vec::new()), "{said}");
    assert!(!said.contains("kernel tcp"), "{said}");
    // this process has started the server, as a master starts its workers
    let parent = std::process::id().to_string();
    let output = line(SHORT, &[&url, "--pid", &parent, "--log", serve.log.name()]);
    refused(&output, "--pid: these have started others");
}
