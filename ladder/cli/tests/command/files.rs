//! The files of a command line: inputs are never overwritten, and an output that cannot be written
//! is reported before anything is measured.

use std::fs;

use crate::program::{keys, refused, run, scratch, start};

#[test]
fn inputs_are_not_overwritten() {
    let key = fs::read(keys().join("rsa-512.pem")).unwrap();
    let file = scratch("precious");
    fs::write(&file, &key).unwrap();
    let name = file.name();
    // the same file under another name
    let other =
        format!("{}/./{}", file.parent().unwrap().display(), file.file_name().unwrap().display());
    for line in [
        &["speed", "--key", name, "--seconds", "0.01", "--json", &other][..],
        &["ladder", name, "--report", &other],
        &["ladder", name, "--json", &other],
        &["fleet", name, "--json", &other],
        &["kernel", "model", "--machine", name, "--json", &other],
        &["papers", "leon2", name, "--json", &other],
        &["bench", "--workload", name, "--json", &other],
        &["bench", "https://127.0.0.1:1/", "--log", name, "--json", &other],
        &["serve", "--cert", "/dev/null", "--key", name, "--access-log", &other],
    ] {
        refused(&run(line), "is an input and would be overwritten");
        assert_eq!(fs::read(&file).unwrap(), key, "{line:?}");
    }
}

#[test]
fn two_outputs_need_two_files() {
    let file = scratch("both");
    let name = file.name();
    refused(&run(&["ladder", "--json", name, "--report", name]), "is already the file of --json");
    assert!(!file.exists());
}

#[test]
fn unwritable_outputs_are_reported_at_once() {
    for flags in [&["papers", "--json"][..], &["ladder", "--report"]] {
        let with = |file| run(&[flags, &[file]].concat());
        refused(&with("/no/such/file"), "/no/such/file: No such file or directory");
        refused(&with("/no/such/file"), "there is no folder /no/such");
        refused(&with("/"), "/: is a directory: name a file");
    }
}

#[test]
fn a_closed_pipe_is_silent_and_the_page_is_complete() {
    let records = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/speed.jsonl");
    let page = scratch("unread.html");
    for (line, said) in [
        (&["ladder", records, "--report", page.name()][..], "report: "),
        (&["fleet", "--cpu-us", "300"], ""),
        (&["fleet", "--cpu-us", "300", "--json", "-"], ""),
    ] {
        let mut child = start(line[0], &line[1..]);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(141), "{line:?}: {stderr}");
        assert!(stderr.is_empty() || !said.is_empty() && stderr.starts_with(said), "{stderr}");
    }
    assert!(fs::read_to_string(&page).unwrap().ends_with("</html>"));
}
