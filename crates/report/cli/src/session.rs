//! `tollgate session`: what a TLS session costs a server, by part, beside what the real one takes.

use core::time::Duration;
use std::process::ExitCode;

use tollgate_ladder::{heading, session as session_table};
use tollgate_load::Protocol;
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record};
use tollgate_server::{Engine, KeyKind};
use tollgate_session::{Plan, SHORT_BYTES, measure, predicted_rate};

use crate::bench;
use crate::interrupt;
use crate::options::{Bench, Options as Line, Session as Options, Verb};
use crate::progress::Progress;
use crate::run::Run;
use crate::stop::Stop;

/// Measures and prints.
///
/// # Errors
///
/// Nothing can be measured.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Stop> {
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("session");
    let mut records = collect(options, &mut run, &progress)?;
    drop(progress);
    if !options.parts_only && !interrupt::asked() {
        let progress = Progress::new("server");
        for bench in real_server(options)? {
            let found = bench::collect(&bench, &mut run, &progress)?;
            records.extend(found);
        }
    }
    let heading = heading::lines(&records) + "\n";
    run.end(&(heading + &session_table::table(&records)))
}

/// The records of the parts, of their sums, and of the rates that these promise; none after Ctrl-C.
///
/// # Errors
///
/// Nothing can be measured.
pub(crate) fn collect(
    options: &Options,
    run: &mut Run,
    progress: &Progress,
) -> Result<Vec<Record>, Stop> {
    let Run { host, output, .. } = run;
    progress.plan(1, options.seconds);
    progress.row(0, "parts of sessions");
    let told = &mut |part| progress.part(part);
    let measured = measure(&plan(options), &host.context(), &interrupt::asked, told);
    let mut records = match measured {
        Err(_) if interrupt::asked() => return Ok(Vec::new()),
        measured => measured.map_err(Stop::from_error)?,
    };
    if let Some(clock) = &host.machine.core_clock_hz {
        let is_total = |record: &&Record| {
            record.quantity.as_str() == word::CYCLES_PER_SESSION
                && record.subject.parameter(word::PART).is_none()
                && matches!(record.kind, Kind::Predicted { .. })
        };
        let rates: Result<Vec<_>, _> =
            records.iter().filter(is_total).map(|total| predicted_rate(total, clock, 1)).collect();
        records.extend(rates.map_err(Stop::from_error)?);
    }
    output.records(&records)?;
    Ok(records)
}

fn plan(options: &Options) -> Plan {
    let total = Duration::from_secs_f64(options.seconds);
    if options.key.is_empty() && options.protocol.is_empty() && options.bytes.is_empty() {
        return Plan::ladder(total);
    }
    let (keys, protocols, bytes) = asked(options);
    Plan::product(&keys, &protocols, &[Engine::OpenSsl, Engine::Tollgate], &bytes, total)
}

/// What was asked for, each list with its default.
fn asked(options: &Options) -> (Vec<KeyKind>, Vec<Protocol>, Vec<u64>) {
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

/// The runs of `tollgate bench` that measure the sessions of the plan, those of the sweep excepted.
fn real_server(options: &Options) -> Result<Vec<Bench>, Stop> {
    let (keys, protocols, bytes) = asked(options);
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let protocols: Vec<&str> = protocols.iter().map(|protocol| protocol.word()).collect();
    let of_bytes = |bytes: &u64| {
        let line = [
            ["bench", "--rounds"],
            ["4", "--seconds"],
            ["1", "--key"],
            [&keys.join(","), "--protocol"],
            [&protocols.join(","), "--bytes"],
        ];
        let bytes = bytes.to_string();
        match Line::of(&[line.as_flattened(), &[&bytes]].concat())?.verb {
            Verb::Bench(bench) => Ok(bench),
            other => unreachable!("bench was asked for: {other:?}"),
        }
    };
    bytes.iter().map(of_bytes).collect()
}
