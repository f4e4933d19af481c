//! `tollgate session`: the cost of a TLS session to a server, predicted by part and measured.

use core::time::Duration;
use std::process::ExitCode;

use clap::Args;
use tollgate_load::Protocol;
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record};
use tollgate_report::{heading, session as session_table};
use tollgate_server::{Engine, KeyKind};
use tollgate_session::{Plan, SHORT_BYTES, measure, predicted_rate};

use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::options::values::{Written, defaults, seconds};
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::bench;
use crate::verbs::bench::options::{protocol, rsa};

#[derive(Args, Clone, Debug)]
pub(crate) struct Session {
    /// Sizes of the response in bytes, separated by commas [default: 14336; without --bytes,
    /// --key-type and --protocol also six sizes from 0 to 143360, for the parts of RSA-2048 with
    /// TLS 1.3]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) bytes: Vec<u64>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Types of the server's key, separated by commas: rsa-2048, rsa-3072, rsa-4096 [default:
    /// rsa-2048,rsa-3072]
    #[arg(id = "key-type", long, value_name = "LIST", value_delimiter = ',', value_parser = rsa)]
    pub(crate) key: Vec<KeyKind>,

    /// Measure only the parts, without a real server beside them
    #[arg(long)]
    pub(crate) parts_only: bool,

    /// Protocol versions and key exchanges, separated by commas: tls12-rsa, tls12-x25519,
    /// tls12-p256, tls13 [default: tls12-x25519,tls13; without --bytes, --key-type and --protocol
    /// also tls12-rsa, for RSA-2048]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol)]
    pub(crate) protocol: Vec<Protocol>,

    /// Seconds for all parts together; preparation and the real server take more
    #[arg(short = 'z', long, value_name = "S", default_value = "25", value_parser = seconds)]
    pub(crate) seconds: f64,
}

pub(crate) fn run(options: &Session) -> Result<ExitCode, CliError> {
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("session");
    let mut records = collect(options, &mut run, &progress)?;
    drop(progress);
    if !options.parts_only && !interrupt::asked() {
        let progress = Progress::new("server");
        for bench in real_server(options) {
            let found = bench::collect(&bench, &mut run, &progress)?;
            records.extend(found);
        }
    }
    let heading = heading::lines(&records) + "\n";
    run.end(&(heading + &session_table::table(&records)))
}

/// The records of the parts, their sums, and the predicted rates; none after Ctrl-C.
pub(crate) fn collect(
    options: &Session,
    run: &mut Run,
    progress: &Progress,
) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    progress.plan(1, options.seconds);
    progress.row(0, "parts of sessions");
    let told = &mut |part| progress.part(part);
    let measured = measure(&plan(options), &host.context(), &interrupt::asked, told);
    let mut records = match measured {
        Err(_) if interrupt::asked() => return Ok(Vec::new()),
        measured => measured?,
    };
    if let Some(clock) = &host.machine.core_clock_hz {
        let is_total = |record: &&Record| {
            record.quantity == word::CYCLES_PER_SESSION
                && record.subject.parameter(word::PART).is_none()
                && matches!(record.kind, Kind::Predicted { .. })
        };
        let rates: Result<Vec<_>, _> =
            records.iter().filter(is_total).map(|total| predicted_rate(total, clock, 1)).collect();
        records.extend(rates?);
    }
    output.records(&records)?;
    Ok(records)
}

fn plan(options: &Session) -> Plan {
    let total = Duration::from_secs_f64(options.seconds);
    if is_ladder(options) {
        return Plan::ladder(total);
    }
    let (keys, protocols, bytes) = asked(options);
    Plan::product(&keys, &protocols, &[Engine::OpenSsl, Engine::Tollgate], &bytes, total)
}

/// Returns whether no list is given; the ladder's plan then applies.
fn is_ladder(options: &Session) -> bool {
    options.key.is_empty() && options.protocol.is_empty() && options.bytes.is_empty()
}

/// Keys, protocols and payloads; the plan is their product.
type Asked = (Vec<KeyKind>, Vec<Protocol>, Vec<u64>);

/// The requested lists, with defaults for missing ones.
fn asked(options: &Session) -> Asked {
    let keys = match &*options.key {
        [] => vec![KeyKind::Rsa { bits: 2048 }, KeyKind::Rsa { bits: 3072 }],
        keys => keys.to_vec(),
    };
    let protocols = match &*options.protocol {
        [] => vec![Protocol::Tls12X25519, Protocol::Tls13],
        protocols => protocols.to_vec(),
    };
    let bytes = match &*options.bytes {
        [] => vec![SHORT_BYTES],
        bytes => bytes.to_vec(),
    };
    (keys, protocols, bytes)
}

/// The `tollgate bench` runs for the sessions of the plan, except those that vary the payload only.
fn real_server(options: &Session) -> Vec<Bench> {
    let (keys, protocols, bytes) = asked(options);
    let mut runs: Vec<Asked> =
        bytes.iter().map(|bytes| (keys.clone(), protocols.clone(), vec![*bytes])).collect();
    if is_ladder(options) {
        runs.push((keys[..1].to_vec(), vec![Protocol::Tls12Rsa], bytes));
    }
    runs.into_iter().map(bench).collect()
}

/// The run of `tollgate bench` for one payload.
fn bench((key, protocol, bytes): Asked) -> Bench {
    Bench { key, protocol, bytes: bytes[0], rounds: 4, seconds: 1.0, ..defaults() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::options::{Options as Line, Verb};

    /// Key, protocol and bytes of each planned session and of each measured one.
    fn planned_and_measured(flags: &[&str]) -> [BTreeSet<(String, String, u64)>; 2] {
        let Verb::Session(options) = Line::of(&[&["session"], flags].concat()).unwrap().verb else {
            unreachable!("session was asked for")
        };
        let planned = plan(&options).sessions.into_iter().map(|session| {
            (session.key.to_string(), session.protocol.word().to_owned(), session.bytes)
        });
        let each = |run: Bench| {
            let of_key = |key: &KeyKind| {
                let word = |protocol: &Protocol| protocol.word().to_owned();
                let key = key.to_string();
                run.protocol.iter().map(|one| (key.clone(), word(one), run.bytes)).collect()
            };
            run.key.iter().flat_map(|key| -> Vec<_> { of_key(key) }).collect::<Vec<_>>()
        };
        let measured = real_server(&options).into_iter().flat_map(each);
        [planned.collect(), measured.collect()]
    }

    #[test]
    fn every_session_but_the_sweep_has_a_real_server() {
        let [planned, measured] = planned_and_measured(&[]);
        let sweep: Vec<_> = planned.difference(&measured).collect();
        assert!(sweep.iter().all(|(key, protocol, _)| key == "rsa-2048" && protocol == "tls13"));
        assert_eq!((planned.len(), measured.len(), sweep.len()), (11, 5, 6));
        assert!(measured.is_subset(&planned));
        let [planned, measured] =
            planned_and_measured(&["--bytes", "0,1024", "--key-type", "rsa-4096"]);
        assert_eq!((planned.len(), &planned), (4, &measured));
    }
}
