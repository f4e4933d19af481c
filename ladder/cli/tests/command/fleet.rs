//! `tollgate fleet`: predictions from records, or from one figure.

use std::fs::File;

use tollgate_record::{Estimate, Kind, Machine, Record, Unit, jsonl};

use crate::program::{figure, line, recorded, refused, run, scratch, shown};

fn server(by: &str, us: f64) -> Record {
    let subject = format!("server/rsa-2048/tls13?by={by}&bytes=14336").parse().unwrap();
    let estimate = Estimate::new(1e3 * us, (0.99e3 * us, 1.01e3 * us), 5).unwrap();
    let figure = ("server_cpu_ns_per_session".parse().unwrap(), Unit::Nanos, estimate);
    Record::new(subject, figure, Kind::Measured, Machine::unknown("Some Processor 9000"))
}

fn point(records: &[Record], subject: &str, quantity: &str) -> f64 {
    let found = figure(records, subject, quantity);
    assert!(matches!(&found.kind, Kind::Predicted { by, .. } if by == "5-fleet"));
    found.estimate.point()
}

#[test]
fn two_engines_are_sized_and_compared() {
    let from = scratch("measured.jsonl");
    let mut writer = jsonl::Writer::new(File::create(&from).unwrap());
    writer.write(&server("openssl", 600.0)).unwrap();
    writer.write(&server("tollgate", 400.0)).unwrap();
    let flags = "fleet --gbps 1,10 --price-per-core-hour 0.07 --currency EUR --watts 5 \
                 --cores-per-machine 64";
    let (output, records) = recorded(flags, &[from.name()]);
    let stdout = shown(&output);
    let of = |by: &str, more: &str| format!("fleet/rsa-2048/tls13?{more}by={by}&bytes=14336");
    // At 14,336 bytes per session, 10 Gbps allow 87,193.08 sessions per second. Each session takes
    // 400 us of CPU time. A core may be busy for 70 % of the time.
    let ten = of("tollgate", "") + "&link_gbps=10";
    assert_eq!(point(&records, &ten, "whole_cores"), 50.0);
    assert_eq!(point(&records, &ten, "cores_left"), 14.0);
    assert_eq!(point(&records, &(of("openssl", "") + "&link_gbps=10"), "machines"), 2.0);
    // A million sessions take 400 s of CPU time and 2000 J. At 70 % utilisation they take 571.4 s
    // of a core, which cost 0.01111 EUR.
    let cost =
        point(&records, &(of("tollgate", "") + "&currency=EUR"), "cost_per_million_sessions");
    assert!((cost - 0.07 * 400.0 / 0.7 / 3600.0).abs() < 1e-9, "{cost}");
    let joules = point(&records, &of("tollgate", ""), "joules_per_million_sessions");
    assert!((joules - 2000.0).abs() < 1e-6, "{joules}");
    let share = point(&records, &of("tollgate", "against=openssl&"), "saved_share");
    assert!((share - 1.0 / 3.0).abs() < 1e-9, "{share}");
    let text = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "10 Gbps 49.8 [49.3-50.3] 50 1 14 of 64",
        "0.0111 EUR 2.00",
        "tollgate against OpenSSL: a core serves 1.50 [",
        "saves 33.3 [32.0 to 34.7] % of the CPU time",
        "the mean response is 1.50 times as short",
    ] {
        assert!(text.contains(part), "{part:?} in\n{stdout}");
    }
    assert!(!records.iter().any(|r| r.subject.parameter("against") == Some("tollgate")));
}

/// OpenSSL's session of one machine and Tollgate's of another have no ratio and no savings.
#[test]
fn records_of_two_machines_are_refused() {
    let [from, other] = ["one-machine.jsonl", "other-machine.jsonl"].map(scratch);
    let write = |to, record: &Record| jsonl::Writer::new(File::create(to).unwrap()).write(record);
    write(&from, &server("openssl", 600.0)).unwrap();
    let machine = Machine::unknown("Other Processor 10");
    write(&other, &Record { machine, ..server("tollgate", 400.0) }).unwrap();
    let refusal = "two machines, some-processor-9000 and other-processor-10: give files of one";
    refused(&run(&["fleet", from.name(), other.name()]), refusal);
    assert_eq!(run(&["fleet", other.name()]).status.code(), Some(0));
}

#[test]
fn one_figure_is_enough() {
    let flags = "fleet --cpu-us 500 --bytes 0 --sessions-per-s 5000 --utilisation 1 --json -";
    let output = line(flags, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let records = jsonl::read_all(output.stdout.as_slice()).unwrap();
    let subject = "fleet/session?by=given&bytes=0&sessions_per_s=5000";
    assert_eq!(point(&records, subject, "cores"), 2.5);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("do not fill a link") && stderr.contains("5000/s  "), "{stderr}");
    assert!(stderr.contains("cost: unknown without a price"), "{stderr}");
}

#[test]
fn every_error_is_one_line() {
    let empty = scratch("empty.jsonl");
    File::create(&empty).unwrap();
    refused(&run(&["fleet"]), "files of records");
    refused(&run(&["fleet", empty.name()]), "tollgate bench --json");
    refused(&run(&["fleet", "/no/such/file"]), "/no/such/file");
    refused(&run(&["fleet", "/etc/passwd"]), "/etc/passwd: line 1");
    refused(&run(&["fleet", "/etc/passwd"]), "give a file that --json wrote");
    refused(&run(&["fleet", "--cpu-us", "0"]), "above 0");
    refused(&run(&["fleet", "--cpu-us", "1", "--utilisation", "1.5"]), "at most 1");
    refused(&run(&["fleet", "--cpu-us", "1", "--currency", "euro"]), "EUR");
    refused(&run(&["fleet", "--cpu-us", "1", "--gbps", "nan"]), "above 0");
}
