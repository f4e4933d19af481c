//! `outcome.json`: everything about the runs in one document, described by
//! `docs/bench-outcome.schema.json`.

use serde_json::{Map, Value, json};
use tollgate_load::{ClientCpu, Counts, Finding, Latency, Outcome, Point};
use tollgate_record::{Record, Timestamp, jsonl};

use super::{About, Judged, Run, Told, rows, times};

/// Version of the document; it changes when programs that read the previous version would fail.
const VERSION: u32 = 1;

/// Quantiles in addition to the histogram.
const QUANTILES: [(&str, f64); 5] =
    [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999), ("max_ns", 1.0)];

pub(super) fn of(
    about: &About<'_>,
    runs: &[Told],
    judged: &[Judged<'_>],
    is_complete: bool,
) -> Value {
    let mut labels: Vec<&str> = runs.iter().map(|told| told.run.scenario.as_str()).collect();
    labels.dedup();
    let scenario = |label: &&str| {
        let end = judged.iter().find(|judged| judged.label == *label);
        let records = end.map_or(&[][..], |end| end.records);
        let of_label = |told: &&Told| told.run.scenario == *label;
        json!({
            "label": label,
            "verdict": end.map(|end| end.verdict.as_str()),
            "lines": end.map_or(&[][..], |end| &end.lines),
            "runs": runs.iter().filter(of_label).map(|told| &told.json).collect::<Vec<_>>(),
            "curve": end.and_then(|end| end.found).map(|found| found.to_json()),
            "records": records.iter().map(record).collect::<Vec<_>>(),
        })
    };
    json!({
        "version": VERSION,
        "complete": is_complete,
        "written_at": Timestamp::now().to_string(),
        "command": std::env::args().skip(1).collect::<Vec<_>>(),
        "machine": about.context.machine,
        "versions": about.context.versions,
        "commit": about.context.commit,
        "conditions": about.context.conditions,
        "scenarios": labels.iter().map(scenario).collect::<Vec<_>>(),
    })
}

/// Returns a record, as in its JSON line.
fn record(record: &Record) -> Value {
    let mut line = Vec::new();
    let written = jsonl::Writer::new(&mut line).write(record);
    written.ok().and_then(|()| serde_json::from_slice(&line).ok()).unwrap_or_default()
}

pub(super) fn run(run: &Run, outcome: &Outcome) -> Value {
    let texts = |findings: &[Finding]| findings.iter().map(Finding::to_string).collect::<Vec<_>>();
    let offered = outcome.plan.arrivals.is_open().then_some(outcome.arrivals);
    json!({
        "server": run.server,
        "number": run.number,
        "target": outcome.target.to_string(),
        "began_at": outcome.began_at.to_string(),
        "verdict": outcome.verdict.word(),
        "reasons": texts(&outcome.reasons),
        "doubts": texts(&outcome.doubts),
        "plan": &outcome.plan,
        "plan_hash": outcome.plan.hash(),
        "sustained_s": outcome.sustained.as_secs_f64(),
        "server_cores": outcome.server_cores,
        "package_watts": outcome.package_watts,
        "sessions_per_s": outcome.sessions_per_s(),
        "server_cpu_ns_per_session": outcome.server_cpu_ns_per_session(),
        "client_cpu_ns_per_session": outcome.client_cpu_ns_per_session(),
        "client_cpu": outcome.client_cpu.map(client_cpu),
        "whole": counted(&outcome.whole),
        "sustain": counted(&outcome.sustain),
        "abandoned": outcome.abandoned,
        "offered": offered.map(|offered| json!({
            "arrivals": offered.arrivals,
            "queued": offered.queued,
            "began_late": offered.late,
            "never_began": offered.dropped,
            "began_outside": offered.outside,
        })),
        "server_log": outcome.seen.map(|seen| json!({
            "handshakes": seen.handshakes,
            "resumed": seen.resumed,
            "failed": seen.failed,
            "responses": seen.requests,
            "body_bytes": seen.body_bytes,
        })),
        "series": outcome.series.iter().map(point).collect::<Vec<_>>(),
        "times": times(outcome).into_iter().map(|(name, times)| (name, latency(times)))
            .collect::<Map<_, _>>(),
    })
}

fn client_cpu(cpu: ClientCpu) -> Value {
    json!({
        "cores": cpu.cores,
        "busiest_share": cpu.busiest_share,
        "longest_wait_share": cpu.longest_wait_share,
    })
}

fn counted(counts: &Counts) -> Value {
    let mut all: Map<String, Value> = rows::named(counts)
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect();
    let failures = counts.failures.iter().map(|(failure, count)| {
        json!({
            "phase": failure.phase.word(),
            "cause": failure.cause.to_string(),
            "count": count,
        })
    });
    let gave_up = counts.timed_out.iter();
    let gave_up = gave_up.map(|(phase, count)| json!({"phase": phase.word(), "count": count}));
    all.insert("failures".to_owned(), failures.collect());
    all.insert("gave_up".to_owned(), gave_up.collect());
    all.into()
}

fn point(point: &Point) -> Value {
    json!({
        "from_s": point.from.as_secs_f64(),
        "width_s": point.width.as_secs_f64(),
        "stage": point.stage.to_string(),
        "begun": point.attempts,
        "completed": point.transactions,
        "failed": point.failed,
        "gave_up": point.timed_out,
        "never_began": point.dropped,
        "p50_ns": point.p50_ns,
        "p99_ns": point.p99_ns,
    })
}

fn latency(times: &Latency) -> Value {
    let quantile = |(name, q): (&str, f64)| (name.to_owned(), times.quantile_ns(q).into());
    let mut all: Map<String, Value> = QUANTILES.into_iter().map(quantile).collect();
    all.insert("count".to_owned(), times.count().into());
    all.insert("above".to_owned(), times.above().into());
    all.insert("hdr_v2_base64".to_owned(), times.to_base64().into());
    all.into()
}
