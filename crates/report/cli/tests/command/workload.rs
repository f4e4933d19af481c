//! `tollgate workload`: named workloads, and new ones from logs of real servers.

use std::fs;

use crate::program::{Serve, refused, run, scratch};

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 100), "{stdout}");
    stdout
}

#[test]
fn named_workloads_are_listed_and_shown_with_their_sources() {
    let names = text(&["workload", "show"]);
    for name in ["hp2001", "bank140k", "web2026", "pq2026"] {
        assert!(names.contains(name), "{names}");
        assert!(text(&["workload", "show", name]).contains("bytes: "), "{name}");
    }
    assert!(text(&["workload", "show", "hp2001"]).contains("instead of RC4-128"));
    refused(&run(&["workload", "show", "hp2002"]), "give hp2001");
}

#[test]
fn a_log_of_the_embedded_server_becomes_a_workload_and_is_not_overwritten() {
    let serve = Serve::start("workload.log", &[]);
    for bytes in [100, 2000, 2000] {
        let url = format!("https://{}/bytes/{bytes}", serve.address);
        let mut curl = std::process::Command::new("curl");
        let output =
            curl.args(["--silent", "--insecure", "--no-sessionid", &url]).output().unwrap();
        assert_eq!(output.stdout.len(), bytes);
    }
    let folder = scratch("workloads");
    let asked = [
        "workload",
        "from-log",
        serve.log.to_str().unwrap(),
        "--name",
        "here",
        "--folder",
        folder.to_str().unwrap(),
    ];
    // The server writes in batches.
    let end = std::time::Instant::now() + core::time::Duration::from_secs(10);
    while fs::read_to_string(&serve.log).unwrap().matches("\"request\",").count() < 3 {
        assert!(std::time::Instant::now() < end, "the log is written");
        std::thread::sleep(core::time::Duration::from_millis(20));
    }
    let said = text(&asked);
    for words in ["3 requests", "requests per connection: 1", "resumed: 0 %", "protocol: tls13"] {
        assert!(said.contains(words), "{words} in\n{said}");
    }
    let file = folder.join("here.toml");
    let shown = text(&["workload", "show", file.to_str().unwrap()]);
    assert!(shown.contains("from 100 to 2000 bytes, half of them at most 2000"), "{shown}");
    refused(&run(&asked), "give another --name");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn bad_lines_are_counted_and_shown_and_a_file_without_requests_is_refused() {
    let (log, folder) = (scratch("mixed.log"), scratch("mixed"));
    let line = "::1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 7";
    fs::write(&log, format!("{line}\nnot a line\n\n\u{1b}[31m\n{line}\n")).unwrap();
    let folder = folder.to_str().unwrap();
    let of = |log: &str| run(&["workload", "from-log", log, "--name", "x", "--folder", folder]);
    let stdout = String::from_utf8(of(log.to_str().unwrap()).stdout).unwrap();
    assert!(stdout.contains("known here: 2\n- line 2: "), "{stdout}");
    assert!(stdout.contains("- line 4: ") && !stdout.contains('\u{1b}'), "{stdout}");
    assert!(stdout.contains("not known: resumption"), "{stdout}");
    fs::write(&log, "not a line\n").unwrap();
    refused(&of(log.to_str().unwrap()), "no request in it");
    fs::remove_file(&log).unwrap();
    fs::remove_dir_all(folder).unwrap();
}
