//! The parts of a session's cost, measured without a server.

use core::time::Duration;

use tollgate_record::vocabulary as word;
use tollgate_record::{Kind as RecordKind, Record};
use tollgate_session::{CONNECTIONS_MAX, SessionPlan, measure, measure_stock, predicted_rate};

use super::choice::{Choice, Kind, engines};
use super::options::Session;
use crate::error::CliError;
use crate::interrupt;
use crate::options::values::defaults;
use crate::options::{Bench, ServerKind};
use crate::progress;
use crate::run::Run;
use crate::verbs::bench::plan::server_cores;

/// The records of the parts, their sums, and the predicted rates; none after Ctrl-C.
pub(crate) fn collect(options: &Session, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let records = measured(options, run)?;
    told(records, run)
}

/// Like [`collect`], but predicts a server from its own calls, if they are known: the stock server
/// of this name, or without a name the embedded one. Takes twice the time of `options`.
pub(crate) fn collect_with_calls(
    server: Option<&str>,
    options: &Session,
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    let mut records = measured(options, run)?;
    if !interrupt::asked() {
        progress::plan(1, options.seconds);
        progress::row(0, "calls of the server");
        let follow: (&dyn Fn() -> bool, &mut dyn FnMut(f64)) =
            (&interrupt::asked, &mut progress::part);
        let context = &run.host.context;
        let own = match measure_stock(server, &plan(options)?, &records, context, follow) {
            Err(_) if interrupt::asked() => Vec::new(),
            own => own?,
        };
        // the embedded server has predictions of both kinds
        let figure = |record: &Record| (record.subject.clone(), record.quantity);
        let all: Vec<_> = own.iter().map(figure).collect();
        records.retain(|record| !all.contains(&figure(record)));
        records.extend(own);
    }
    told(records, run)
}

/// The records of the parts and their sums; none after Ctrl-C.
fn measured(options: &Session, run: &Run) -> Result<Vec<Record>, CliError> {
    progress::plan(1, options.seconds);
    progress::row(0, "parts of sessions");
    let context = &run.host.context;
    match measure(&plan(options)?, context, &interrupt::asked, &mut progress::part) {
        Err(_) if interrupt::asked() => Ok(Vec::new()),
        measured => Ok(measured?),
    }
}

/// Writes the records, and adds the predicted rates.
fn told(mut records: Vec<Record>, run: &mut Run) -> Result<Vec<Record>, CliError> {
    if let Some(clock) = &run.host.context.machine.core_clock_hz {
        let is_total = |record: &&Record| {
            record.quantity == word::CYCLES_PER_SESSION
                && record.subject.parameter(word::PART).is_none()
                && record.subject.parameter(word::END).is_none()
                && matches!(record.kind, RecordKind::Predicted { .. })
        };
        let rates: Result<Vec<_>, _> =
            records.iter().filter(is_total).map(|total| predicted_rate(total, clock, 1)).collect();
        records.extend(rates?);
    }
    run.output.records(&records)?;
    Ok(records)
}

/// The request for the parts of a benchmark's sessions; `None` if rung 3 does not predict them.
pub(crate) fn request(bench: &Bench, seconds: f64) -> Option<Session> {
    let workers = u32::try_from(server_cores(bench).len().max(1)).unwrap_or(u32::MAX);
    let connections = bench.load.connections.div_ceil(workers);
    let is_known = bench.target.is_none()
        && bench.kind() != ServerKind::Rustls
        && bench.suites.is_empty()
        && bench.group.is_empty()
        && bench.sizes.is_none()
        && bench.resumed_share <= 0.0;
    is_known.then(|| Session {
        bytes: vec![if bench.handshake_only { 0 } else { bench.bytes }],
        key: bench.key.clone(),
        protocol: bench.protocols().to_vec(),
        // The connections of one worker.
        connections: connections.clamp(1, CONNECTIONS_MAX),
        // Installed servers pause handshakes only if their configuration says so.
        without_pauses: bench.kind().stock().is_some() && !bench.asynchronous,
        parts_only: true,
        seconds,
        ..defaults()
    })
}

/// The sessions to measure.
pub(super) fn plan(options: &Session) -> Result<SessionPlan, CliError> {
    let Session { connections, both_ends, per_byte, without_pauses, .. } = *options;
    let (total, pauses) = (Duration::from_secs_f64(options.seconds), !without_pauses);
    if options.is_ladder() {
        return Ok(SessionPlan { connections, pauses, per_byte, ..SessionPlan::ladder(total) });
    }
    let Choice { kinds, bytes, requests, .. } = options.choice()?;
    let mut sessions = Vec::new();
    for kind in kinds {
        for &engine in engines(kind.key) {
            for &bytes in &bytes {
                let numbered = |&requests| Kind { engine, bytes, requests, ..kind };
                sessions.extend(requests.iter().map(numbered));
            }
        }
    }
    Ok(SessionPlan { sessions, connections, pauses, both_ends, per_byte, total })
}
