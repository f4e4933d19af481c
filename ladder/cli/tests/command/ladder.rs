//! `tollgate ladder`, `report`, `model` and `explain`: all rungs, including the verbs that have no
//! test file of their own.

use std::collections::BTreeSet;
use std::fs;

use tollgate_record::{Kind, Record};

use crate::program::{recorded, records, refused, run, said, scratch, tollgate};

fn rungs(records: &[Record]) -> BTreeSet<String> {
    records.iter().map(|record| record.subject.area().to_string()).collect()
}

/// The complete `tollgate ladder`, in a tenth of its time.
#[test]
fn a_quick_climb_reaches_every_rung_and_writes_table_page_and_records() {
    let folder = scratch("climb");
    fs::create_dir_all(&folder).unwrap();
    let output = tollgate().args(["ladder", "--quick"]).current_dir(&folder).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (stdout, stderr) = (stdout.unwrap(), stderr.unwrap());
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    for rung in ["0 model", "1 kernel", "2 operation", "3 session", "4 server", "5 fleet"] {
        assert!(stdout.contains(rung) && stderr.contains(rung), "{rung}: {stdout}{stderr}");
    }
    assert!(stdout.lines().all(|line| line.chars().count() <= 100), "{stdout}");
    let said = |what: &str| {
        let line = stderr.lines().find_map(|line| line.strip_prefix(what));
        folder.join(line.unwrap_or_else(|| panic!("no {what}: {stderr}")))
    };
    let page = fs::read_to_string(said("report: ")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("id=\"session-cost\""));
    let machine_and_date = said("records: ");
    let name = machine_and_date.file_name().unwrap().to_str().unwrap();
    assert!(machine_and_date.starts_with(folder.join("records")) && name.ends_with(".jsonl"));

    let arguments = ["ladder".as_ref(), machine_and_date.as_os_str(), "--report".as_ref()];
    let again = tollgate().args(arguments).arg("again.html").current_dir(&folder).output();
    assert_eq!(again.unwrap().status.code(), Some(0));
    let again = fs::read_to_string(folder.join("again.html")).unwrap();
    assert!(again == page, "the page of the records is not that of the climb");

    let found = records(&machine_and_date);
    let all = ["fleet", "kernel", "model", "operation", "server", "session"];
    // On a machine that is busy with other tests, every round of rung 4 may be invalid. Then rung 4
    // has no figures and rung 5 only published ones; the notes say so.
    if rungs(&found).len() < all.len() {
        assert!(stdout.contains("INVALID"), "{stdout}");
    }
    for rung in ["kernel", "model", "operation", "session"] {
        assert!(rungs(&found).contains(rung), "{rung}");
    }
}

#[test]
fn a_ladder_with_unwritable_records_does_not_start() {
    let json = scratch("climb.jsonl");
    let to = ["--json", json.name()];
    let page = ["ladder", "--quick", "--report", "/nowhere/ladder.html"];
    refused(&run(&[&page[..], &to].concat()), "/nowhere/ladder.html");
    let folder = ["ladder", "--quick", "--records", "/dev/null/records", "--report"];
    refused(&run(&[&folder[..], &[scratch("page.html").name()]].concat()), "/dev/null/records");
    assert!(!json.exists());
}

#[test]
fn a_report_is_created_from_records() {
    refused(&run(&["ladder", "/nowhere.jsonl"]), "/nowhere.jsonl");
    let (file, page) = (scratch("broken.jsonl"), scratch("broken.html"));
    fs::write(&file, "{\"schema\":1}\n").unwrap();
    refused(&run(&["ladder", file.name(), "--report", page.name()]), "line 1");
    fs::write(&file, "\n").unwrap();
    refused(&run(&["ladder", file.name(), "--report", page.name()]), "no records");
    assert!(!page.exists());
}

#[test]
fn bounds_are_printed_and_written_and_this_machine_can_be_saved() {
    let kept = scratch("host.toml");
    let (output, found) = recorded("kernel model --bits 1024 --calibrate", &[kept.name()]);
    said(&output);
    let portable = |found: &[Record]| {
        let is_bound = |r: &&Record| r.subject.to_string().contains("/amm64_portable?");
        found.iter().find(is_bound).unwrap().estimate.point()
    };
    // The saved machine file gives the same bounds.
    let (output, again) = recorded("kernel model --bits 1024 --machine", &[kept.name()]);
    said(&output);
    assert!((portable(&again) / portable(&found) - 1.0).abs() < 1e-6);
    fs::write(&kept, "name = 1").unwrap();
    refused(&run(&["kernel", "model", "--machine", kept.name()]), kept.name());
    refused(&run(&["kernel", "model", "--machine", "/nowhere.toml"]), "/nowhere.toml");
}

#[test]
fn a_session_is_the_sum_of_its_parts() {
    let flags = "explain --key-type rsa-2048 --protocol tls13 --seconds 1";
    let (output, found) = recorded(flags, &[]);
    let stdout = said(&output);
    assert!(stdout.contains("RSA-2048") && !stdout.contains("rimitive"), "{stdout}");
    for by in ["openssl", "tollgate"] {
        let session = format!("session/rsa-2048/tls13?by={by}&bytes=14336");
        let of = |record: &&Record| {
            record.quantity.as_str() == "cycles_per_session"
                && record.subject.parameter("by") == Some(by)
                && record.subject.topic().to_string() == "session/rsa-2048/tls13"
        };
        let parts = found.iter().filter(of).filter(|r| r.subject.parameter("part").is_some());
        let sum: f64 = parts.map(|record| record.estimate.point()).sum();
        let total = found.iter().filter(of).find(|r| r.subject.to_string() == session).unwrap();
        assert!((sum / total.estimate.point() - 1.0).abs() < 1e-9, "{sum} {total:?}");
        assert!(matches!(&total.kind, Kind::Predicted { by, .. } if by == "3-session"));
    }
    let flags =
        "explain --suites TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA --bytes 0,140000 --seconds 1";
    let (output, found) = recorded(flags, &[]);
    assert!(said(&output).contains("AES_128_CBC_SHA"));
    // engine tollgate has rows too where it has fast kernels for P-256
    let is_mac = |record: &&Record| {
        let of = |key| record.subject.parameter(key);
        (of("part"), of("by")) == (Some("mac"), Some("openssl"))
    };
    let macs: Vec<&Record> = found.iter().filter(is_mac).collect();
    assert_eq!(macs.len(), 2, "one engine, two sizes");
    assert!(macs.iter().all(|record| record.estimate.point() > 0.0));
    refused(&run(&["explain", "--key-type", "rsa-512"]), "rsa-2048");
    refused(&run(&["explain", "--suites", "TLS_RSA_WITH_RC4_128_SHA"]), "--server gnutls");
    refused(&run(&["explain", "--bytes", "99999999"]), "1048576");
}
