//! `tollgate fleet`: predictions from records, or from one figure.

use std::fs::{self, File};

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

const PRICES: &str = "[[machine]]\nname = \"example-10\"\ncores = 10\nprice_per_hour = 0.7\n\
                      currency = \"EUR\"\ndate = 2026-11-27\nsource = \"made up\"\n";

#[test]
fn two_engines_are_sized_and_compared() {
    let from = scratch("measured.jsonl");
    let mut writer = jsonl::Writer::new(File::create(&from).unwrap());
    writer.write(&server("openssl", 600.0)).unwrap();
    writer.write(&server("tollgate", 400.0)).unwrap();
    let prices = scratch("prices.toml");
    fs::write(&prices, PRICES).unwrap();
    let flags = "fleet --gbps 1,10 --cores-per-machine 64 --prices";
    let (output, records) = recorded(flags, &[prices.name(), from.name()]);
    let stdout = shown(&output);
    let of = |by: &str, more: &str| format!("fleet/rsa-2048/tls13?{more}by={by}&bytes=14336");
    // At 14,336 bytes per session, 10 Gbps allow 87,193.08 sessions per second. Each session takes
    // 400 us of CPU time. A core may be busy for 70 % of the time.
    let ten = of("tollgate", "") + "&link_gbps=10";
    assert_eq!(point(&records, &ten, "whole_cores"), 50.0);
    assert_eq!(point(&records, &ten, "cores_left"), 14.0);
    assert_eq!(point(&records, &(of("openssl", "") + "&link_gbps=10"), "machines"), 2.0);
    // A million sessions take 400 s of CPU time. At 70 % utilisation they take 571.4 s
    // of a core, which cost 0.01111 EUR.
    let priced = of("tollgate", "") + "&currency=EUR&machine=example-10";
    let cost = point(&records, &priced, "cost_per_million_sessions");
    assert!((cost - 0.07 * 400.0 / 0.7 / 3600.0).abs() < 1e-9, "{cost}");
    let share = point(&records, &of("tollgate", "against=openssl&"), "saved_share");
    assert!((share - 1.0 / 3.0).abs() < 1e-9, "{share}");
    let text = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "10 Gbps 49.8 [49.3-50.3] 50 1 14 of 64",
        "14 KB, tollgate 2.50k 0.29 5 50 - -",
        "example-10, EUR a year 0.35 0.0111",
        "example-10: 10 cores, 0.7 EUR an hour (made up, 2026-11-27)",
        "[ETI10] 2010, busy 100 % RSA-1024-AES-128-CBC-SHA1 140 KB, unimproved 200 0.22 5 46 - -",
        "140 KB, published USD 0.28 -",
        "tollgate against OpenSSL: saves 33.3 [32.0 to 34.7] % of the CPU time",
    ] {
        assert!(text.contains(part), "{part:?} in\n{stdout}");
    }
    assert!(!records.iter().any(|r| r.subject.parameter("against") == Some("tollgate")));
}

#[test]
fn an_open_loop_is_not_sized_beside_its_closed_loop() {
    let from = scratch("filled.jsonl");
    let mut writer = jsonl::Writer::new(File::create(&from).unwrap());
    let closed = server("tollgate", 400.0);
    let subject =
        "server/rsa-2048/tls13?arrivals=poisson&by=tollgate&bytes=14336&offered_per_s=100";
    let rate = ("sessions_per_s".parse().unwrap(), Unit::PerSecond, Estimate::exact(99.0).unwrap());
    let open = Record { subject: subject.parse().unwrap(), ..server("tollgate", 450.0) };
    writer.write(&closed).unwrap();
    writer.write(&open).unwrap();
    let machine = closed.machine.clone();
    writer.write(&Record::new(open.subject.clone(), rate, Kind::Measured, machine)).unwrap();
    let (output, records) = recorded("fleet", &[from.name()]);
    let text = shown(&output);
    assert!(text.contains("links filled here") && text.contains("-11 %"), "{text}");
    assert!(records.iter().all(|record| record.subject.parameter("offered_per_s").is_none()));
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
    assert!(stderr.contains("unknown without --prices"), "{stderr}");
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
    let prices = scratch("bad-prices.toml");
    fs::write(&prices, PRICES.replace("cores = 10", "cores = 0")).unwrap();
    let bad = run(&["fleet", "--cpu-us", "1", "--prices", prices.name()]);
    refused(&bad, "price file: line 3: machine.cores: give the number of cores, 1 to 65536");
    refused(&run(&["fleet", "--cpu-us", "1", "--prices", "/no/such/file"]), "/no/such/file");
    refused(&run(&["fleet", "--cpu-us", "1", "--prices", "/etc/passwd"]), "line 1");
    refused(&run(&["fleet", "--cpu-us", "1", "--gbps", "nan"]), "above 0");
}

/// The ladder's committed records have predictions and measurements of the same sessions.
#[test]
fn what_if_lands_near_the_measured_sessions() {
    const RECORDS: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/amd-epyc-2c-vm/2026-11-21.jsonl");
    let (output, records) = recorded("fleet what-if --key-type rsa-3072", &[RECORDS]);
    let stdout = shown(&output);
    let subject = "server/rsa-3072/tls13?by=tollgate&bytes=14336";
    let predicted = point(&records, subject, "server_cpu_ns_per_session");
    let all = jsonl::read_all(std::io::BufReader::new(File::open(RECORDS).unwrap())).unwrap();
    let measured = figure(&all, subject, "server_cpu_ns_per_session").estimate.point();
    assert!((predicted / measured - 1.0).abs() < 0.06, "{predicted} {measured}");
    let text = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("TLS 1.3, RSA-3072, from RSA-2048 14 KB, OpenSSL 451 µs 1.76 ms"),
        "{text}"
    );
    // The records of the change are the input of a fleet.
    let changed = scratch("changed.jsonl");
    let mut writer = jsonl::Writer::new(File::create(&changed).unwrap());
    records.iter().for_each(|record| writer.write(record).unwrap());
    drop(writer);
    let sized = shown(&run(&["fleet", changed.name(), "--cores-per-machine", "64"]));
    assert!(sized.contains("TLS 1.3, RSA-3072"), "{sized}");

    refused(&run(&["fleet", "what-if", RECORDS]), "no change: give some of --key-type");
    refused(&run(&["fleet", "what-if", RECORDS, "--key-type", "rsa-9"]), "give some of rsa-1024");
    refused(
        &run(&["fleet", "what-if", RECORDS, "--resume", "80%"]),
        "resumed_by=ticket&resumed_share=1: add the records of `tollgate explain --json`",
    );
    refused(&run(&["fleet", "what-if", RECORDS, "--resume", "180%"]), "0% to 100%");
    refused(&run(&["fleet", "what-if", "--engine", "openssl"]), "<FILE>");
}
