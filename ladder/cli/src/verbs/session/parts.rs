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
    let Run { host, output, .. } = run;
    progress::plan(1, options.seconds);
    progress::row(0, "parts of sessions");
    let measured = measure(&plan(options)?, &host.context, &interrupt::asked, &mut progress::part);
    let mut records = match measured {
        Err(_) if interrupt::asked() => return Ok(Vec::new()),
        measured => measured?,
    };
    if let Some(clock) = &host.context.machine.core_clock_hz {
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
    output.records(&records)?;
    Ok(records)
}

/// The predictions for a stock server, from its calls and the parts of `embedded`; none after
/// Ctrl-C, or if its calls are not known.
pub(crate) fn collect_stock(
    server: &str,
    options: &Session,
    embedded: &[Record],
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    progress::plan(1, options.seconds);
    progress::row(0, "calls of the server");
    let follow: (&dyn Fn() -> bool, &mut dyn FnMut(f64)) = (&interrupt::asked, &mut progress::part);
    let measured = measure_stock(server, &plan(options)?, embedded, &host.context, follow);
    let records = match measured {
        Err(_) if interrupt::asked() => return Ok(Vec::new()),
        measured => measured?,
    };
    output.records(&records)?;
    Ok(records)
}

/// The request for the parts of a benchmark's sessions; `None` if rung 3 does not predict them.
pub(crate) fn request(bench: &Bench, seconds: f64) -> Option<Session> {
    let workers = u32::try_from(server_cores(bench).len().max(1)).unwrap_or(u32::MAX);
    let connections = bench.load.connections.div_ceil(workers);
    let is_known = bench.target.is_none()
        && bench.server != ServerKind::Rustls
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
        without_pauses: bench.server.stock().is_some() && !bench.asynchronous,
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
