//! Reads any bytes as each kind of file and text that a user gives: keys, certificates, records,
//! histograms, logs, workloads, machines, prices, plans, objectives, addresses; and as the
//! messages of agents and controllers. Each is a value that survives a round trip, or an error of
//! one line.
#![no_main]

use core::fmt::Display;

use libfuzzer_sys::fuzz_target;
use tollgate_agents::{Answer, Request, parse, parse_part};
use tollgate_fleet::Prices;
use tollgate_load::{Latency, Objective, Plan, Protocol, Target};
use tollgate_probe::Url;
use tollgate_processor::Machine;
use tollgate_record::jsonl;
use tollgate_rsa::{PrivateKey, PublicKey};
use tollgate_workload::{Study, Workload};

fuzz_target!(|bytes: &[u8]| {
    read(PrivateKey::from_bytes(bytes));
    read(PublicKey::from_bytes(bytes));
    records(bytes);
    agent_message(bytes);
    let Ok(text) = str::from_utf8(bytes) else { return };
    read(PrivateKey::from_pem(text));
    read(PublicKey::from_pem(text));
    histogram(text);
    log(text);
    if let Some(workload) = read(Workload::from_toml(text)) {
        let again = Workload::from_toml(&workload.to_toml()).expect("what was written is read");
        assert_eq!((again.parameters(), &again), (workload.parameters(), &workload));
    }
    machine(text);
    read(Prices::from_toml(text));
    plan(text);
    if let Some(objective) = read(text.parse::<Objective>()) {
        assert_eq!(objective.to_string().parse(), Ok(objective));
    }
    if let Some(url) = read(text.parse::<Url>()) {
        assert_eq!(url.to_string().parse(), Ok(url));
    }
    let far = "192.0.2.1:443".parse().expect("an address of documentation");
    read(Target::admit(far, "example.org", Some("example.org"), &|_| Ok(text.to_owned())));
});

/// Returns the value; checks that an error has one line.
fn read<T, E: Display>(result: Result<T, E>) -> Option<T> {
    result.inspect_err(|error| one_line(&error.to_string())).ok()
}

fn one_line(text: &str) {
    assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
}

fn records(bytes: &[u8]) {
    let Some(records) = read(jsonl::read_all(bytes)) else { return };
    let mut again = Vec::new();
    let mut writer = jsonl::Writer::new(&mut again);
    for record in &records {
        writer.write(record).expect("a record that was read can be written");
    }
    assert_eq!(jsonl::read_all(again.as_slice()).expect("what was written is read"), records);
}

/// A message is read again as it was written, and the part of a run fits its plan or not.
fn agent_message(bytes: &[u8]) {
    if let Ok(request) = parse::<Request>(bytes) {
        let written = serde_json::to_vec(&request).expect("a request is data");
        assert_eq!(parse::<Request>(&written), Ok(request));
    }
    if let Ok(answer) = parse::<Answer>(bytes) {
        let written = serde_json::to_vec(&answer).expect("an answer is data");
        assert_eq!(parse::<Answer>(&written), Ok(answer));
    }
    if let Ok(text) = str::from_utf8(bytes)
        && let Ok(part) = parse_part(text)
        && part.fits(&Plan::new(Protocol::Tls13))
    {
        let counts = part.counts();
        assert!(counts.ended() >= counts.timeouts() && counts.retries <= counts.attempts);
    }
}

/// It takes no more memory than a histogram of this program.
fn histogram(text: &str) {
    let Some(latency) = Latency::from_base64(text, 1) else { return };
    let again = Latency::from_base64(&latency.to_base64(), 1).expect("what was written is read");
    assert_eq!(again.histogram(), latency.histogram());
    assert_eq!(
        (again.count(), again.quantile_ns(0.5)),
        (latency.count(), latency.quantile_ns(0.5))
    );
}

fn log(text: &str) {
    let mut study = Study::default();
    text.lines().for_each(|line| study.line(line));
    study.bad().first.iter().for_each(|(_, bad)| one_line(&bad.to_string()));
    let workload = study.workload("fuzz.log");
    let again = Workload::from_toml(&workload.to_toml()).expect("what was written is read");
    assert_eq!(again, workload);
}

/// Bounds are finite.
fn machine(text: &str) {
    let Some(machine) = read(Machine::from_toml(text)) else { return };
    let again = Machine::from_toml(&machine.to_toml()).expect("what was written is read");
    assert_eq!(again, machine);
    for bits in [1, 512, 8192] {
        let product = machine.product(bits);
        assert!(product.is_none_or(|product| product.bound.cycles.get().is_finite()));
    }
}

fn plan(text: &str) {
    let Ok(plan) = serde_json::from_str::<Plan>(text) else { return };
    let json = serde_json::to_string(&plan).expect("a plan is data");
    let again: Plan = serde_json::from_str(&json).expect("what was written is read");
    assert_eq!((again.hash(), &again), (plan.hash(), &plan));
    read(plan.check());
}
