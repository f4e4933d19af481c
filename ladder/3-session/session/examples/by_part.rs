//! Measures sessions by part, and the real server under load within the same minute.
//!
//! ```sh
//! cargo run --release -p tollgate-session --example by_part -- [SECONDS] [ROUNDS]
//! ```
#![allow(clippy::print_stdout, reason = "printing is its purpose")]

use core::error::Error;
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;

use tollgate_bench::this_machine;
use tollgate_load::{
    AccessLog, Naming, Outcome, Plan as Load, Protocol, Server, Target, records, run,
};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record};
use tollgate_server::{Certificate, Config, Engine, KeyKind};
use tollgate_session::{Context, SHORT_BYTES, Session, SessionPlan, measure, measured_total};

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let seconds = numbers.next().transpose()?.unwrap_or(4);
    let rounds = numbers.next().transpose()?.unwrap_or(3);
    let key = KeyKind::Rsa { bits: 2048 };
    let context = Context {
        machine: this_machine(),
        versions: BTreeMap::new(),
        commit: None,
        conditions: BTreeMap::new(),
    };
    for protocol in Protocol::ALL {
        for engine in [Engine::OpenSsl, Engine::Tollgate] {
            let session = Session::new(key, protocol, engine, SHORT_BYTES);
            let total = Duration::from_secs(seconds.into());
            let plan = SessionPlan::new(vec![session], total);
            let before = load(session, rounds, &context)?;
            let predicted = measure(&plan, &context, &|| false, &mut |_| {})?;
            let behind = load(session, rounds, &context)?;
            print(session, &predicted, &[before, behind])?;
        }
    }
    Ok(())
}

/// Measures the real server's cost.
fn load(session: Session, rounds: u32, context: &Context) -> Result<Record, Box<dyn Error>> {
    let log = std::env::temp_dir().join(format!("tollgate-by-part-{}.log", std::process::id()));
    let running = tollgate_server::Server::start(Config {
        engine: session.engine,
        certificate: Certificate::SelfSigned(session.key),
        pin: Some(vec![0]),
        allow_rsa_kx: session.protocol == Protocol::Tls12Rsa,
        access_log: Some(log.clone()),
        ..Config::default()
    })?;
    let plan =
        Load { cores: vec![1], warm_up_ms: 100, sustain_ms: 700, ..Load::new(session.protocol) };
    let outcomes: Vec<Outcome> = (0..rounds)
        .map(|_| {
            let meter = || Ok(running.counters().worker_cpu.iter().sum::<Duration>());
            let mut server = Server::new(session.engine.name(), Target::new(running.addr())?)
                .with_referee(AccessLog::open(&log)?)
                .with_cpu(meter);
            Ok(run(&plan, &mut server, &|| false, &mut |_, _| {})?)
        })
        .collect::<Result<_, Box<dyn Error>>>()?;
    drop(running);
    fs::remove_file(&log)?;
    let valid: Vec<Outcome> =
        outcomes.into_iter().filter(|one| one.sessions_per_s().is_some()).collect();
    let naming = Naming::new(session.key.to_string(), session.engine.name());
    let records = records(&valid, &naming, context)?;
    let cpu = records.iter().find(|r| r.quantity == word::SERVER_CPU_NS_PER_SESSION);
    let clock = this_machine().core_clock_hz.ok_or("no core clock")?;
    Ok(measured_total(cpu.ok_or("every round was invalid: is the machine busy?")?, &clock)?)
}

fn print(session: Session, records: &[Record], measured: &[Record]) -> Result<(), Box<dyn Error>> {
    println!("\n{session}");
    let subject = session.subject()?;
    let of = |record: &Record| record.estimate.point() / 1e3;
    for record in records {
        let below = record.subject.topic() == subject.topic();
        if let Some(part) = record.subject.parameter(word::PART).filter(|_| below) {
            println!("  {part:>14} {:8.1} k", of(record));
        }
    }
    let total = records.iter().find(|r| r.subject == subject && r.kind != Kind::Measured);
    let total = total.ok_or("no total")?;
    println!("  {:>14} {:8.1} k", "predicted", of(total));
    for measured in measured {
        let share = 1.0 - of(total) / of(measured);
        println!("  {:>14} {:8.1} k, remainder {:5.1} %", "measured", of(measured), 100.0 * share);
    }
    for record in records.iter().filter(|r| r.quantity == word::CYCLES_PER_MESSAGE) {
        let message = record.subject.parameter(word::MESSAGE).unwrap_or_default();
        println!("    {message:>20} {:8.1} k", of(record));
    }
    Ok(())
}
