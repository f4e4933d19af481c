//! `tollgate workload`: named workloads, and new ones from logs of real servers.

use std::fs;

use tollgate_record::Area;

use crate::bench::{agreed, bench, bench_recorded, is_missing, numbers, starting};
use crate::program::{Serve, refused, run, scratch, shown, text};

#[test]
fn named_workloads_are_listed_and_shown_with_their_sources() {
    let names = shown(&run(&["workload", "show"]));
    for name in ["pq2026", "web2026", "bank140k", "hp2001"] {
        assert!(names.contains(name), "{names}");
        assert!(shown(&run(&["workload", "show", name])).contains("bytes: "), "{name}");
    }
    assert!(shown(&run(&["workload", "show", "hp2001"])).contains("instead of RC4-128"));
    refused(&run(&["workload", "show", "hp2002"]), "give pq2026, web2026");
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
    let (log, to) = (serve.log.name(), folder.name());
    let asked = ["workload", "from-log", log, "--name", "here", "--folder", to];
    // The server writes lines in batches.
    let end = std::time::Instant::now() + core::time::Duration::from_secs(10);
    while fs::read_to_string(&serve.log).unwrap().matches("\"request\",").count() < 3 {
        assert!(std::time::Instant::now() < end, "the log is written");
        std::thread::sleep(core::time::Duration::from_millis(20));
    }
    let made = shown(&run(&asked));
    for words in ["3 requests", "requests per connection: 1", "resumed: 0 %", "protocol: tls13"] {
        assert!(made.contains(words), "{words} in\n{made}");
    }
    let file = folder.join("here.toml");
    let shown = shown(&run(&["workload", "show", file.to_str().unwrap()]));
    assert!(shown.contains("from 100 to 2000 bytes, half of them at most 2000"), "{shown}");
    refused(&run(&asked), "give another --name");
}

/// Bodies of many sizes: from a log to a workload, to a server, and back to a log.
#[test]
fn sizes_from_a_log_are_requested() {
    let (log, folder) = (scratch("sizes.log"), scratch("sizes"));
    // each request has its own connection, all in one second: the log says nothing about arrivals
    let line = |number: u64| {
        format!(
            "::1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 {} \"-\" \"x\" \
             conn={number} reused=. proto=TLSv1.3\n",
            number * number
        )
    };
    fs::write(&log, (1..=100).map(line).collect::<String>()).unwrap();
    let folder = folder.name();
    let made = ["workload", "from-log", log.name(), "--name", "x", "--folder", folder];
    // the mean of 1, 4, 9, ... 10000 is 100 * 101 * 201 / 6 / 100
    let told = shown(&run(&made));
    assert!(told.contains("3384 in the mean"), "{told}");
    let workload = with_key(folder);
    for server in ["openssl", "nginx"] {
        let asked = ["--workload", &workload, "--server", server];
        let (output, records) = bench_recorded("--rounds 2", &asked);
        if is_missing(&output) {
            continue;
        }
        let stdout = text(&output);
        assert!(starting(&stdout, "plan: ").concat().contains("one GET, of 64 sizes from "));
        let names = match server {
            "nginx" => ["nginx-openssl", "nginx-tollgate"],
            _ => ["openssl", "tollgate"],
        };
        for name in names {
            agreed(&stdout, name); // a run whose bytes differ from the log's is invalid
        }
        for record in records {
            let said = |name: &str| record.conditions.get(name).map_or("", String::as_str);
            let of_server = record.subject.area() == Area::Server;
            assert!(record.subject.parameter("sizes").is_some(), "{}", record.subject);
            assert!(!of_server || said("sizes").starts_with("64 sizes from "), "{}", said("sizes"));
        }
    }
}

/// Adds a key to the workload `x` of a folder, which a log cannot name; returns its path.
fn with_key(folder: &str) -> String {
    let workload = format!("{folder}/x.toml");
    let text = fs::read_to_string(&workload).unwrap();
    let key = "[key]\nvalue = \"rsa-2048\"\nsource = \"one of two\"\n";
    fs::write(&workload, text + key).unwrap();
    workload
}

/// Bursts of connections with two or three requests each: from a log to a workload, to a server.
#[test]
fn bursts_and_requests_from_a_log_are_repeated() {
    let (log, folder) = (scratch("crowds.log"), scratch("crowds"));
    let mut lines = String::new();
    // 60 and 140 connections per second alternately: 250 requests in the mean, a dispersion of 41
    for connection in 0..6000_u32 {
        let second = connection / 200 * 2 + u32::from(connection % 200 >= 60);
        for _ in 0..2 + connection % 2 {
            lines += &format!(
                "::1 - - [10/Oct/2026:13:55:{second:02} +0000] \"GET / HTTP/1.1\" 200 500 \"-\" \
                 \"x\" conn={connection} reused=. proto=TLSv1.3\n"
            );
        }
    }
    fs::write(&log, lines).unwrap();
    let folder = folder.name();
    let told =
        shown(&run(&["workload", "from-log", log.name(), "--name", "x", "--folder", folder]));
    for words in ["250 requests per second, 350 in the busiest", "per connection: 2.5"] {
        assert!(told.contains(words), "{words} in\n{told}");
    }
    let workload = with_key(folder);
    let output = bench(&["--workload", &workload, "--rounds", "2"]);
    let stdout = text(&output);
    let [plan] = &starting(&stdout, "plan: ")[..] else { panic!("{stdout}") };
    for words in ["gamma arrivals of dispersion 16.", ", 100 per s, ", ", 2.5 requests on each"] {
        assert!(plan.contains(words), "{words} in\n{stdout}");
    }
    for server in ["openssl", "tollgate"] {
        let [line] = &starting(&stdout, &format!("- {server}: runs: "))[..] else {
            panic!("{stdout}")
        };
        let [runs, handshakes, _, 0, logged, 0, responses] = numbers(line)[..] else {
            panic!("{line}")
        };
        assert!(handshakes > 0 && handshakes == logged, "{line}");
        // the first connection has two requests, and the last one may have two or three
        assert!((5 * handshakes).abs_diff(2 * responses) <= 2 * runs, "{line}");
    }
}

#[test]
fn bad_lines_are_counted_and_shown_and_a_file_without_requests_is_refused() {
    let (log, folder) = (scratch("mixed.log"), scratch("mixed"));
    let line = "::1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 7";
    fs::write(&log, format!("{line}\nnot a line\n\n\u{1b}[31m\n{line}\n")).unwrap();
    let folder = folder.name();
    let of = |log: &str| run(&["workload", "from-log", log, "--name", "x", "--folder", folder]);
    let stdout = text(&of(log.name()));
    assert!(stdout.contains("known here: 2\n- line 2: "), "{stdout}");
    assert!(stdout.contains("- line 4: ") && !stdout.contains('\u{1b}'), "{stdout}");
    assert!(stdout.contains("not known: resumption"), "{stdout}");
    fs::write(&log, "not a line\n").unwrap();
    refused(&of(log.name()), "no request in it");
    refused(&of("/dev/zero"), "a line is longer than 1 MiB");
}
