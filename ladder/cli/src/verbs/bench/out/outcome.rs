//! `outcome.json`: everything about the runs in one document. Its schema, in
//! `docs/bench-outcome.schema.json`, is made from these types; `tollgate trial` reads them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tollgate_load as load;
use tollgate_load::{Finding, Latency};
use tollgate_record::{Record, Timestamp, jsonl};

use super::{About, Finished, Judged, times};

/// Version of the document; it changes when programs that read the previous version would fail.
const VERSION: u32 = 2;

/// Every run of a command, whatever became of it. A figure of an invalid run is null.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, title = "outcome.json of tollgate bench --out")]
pub(in crate::verbs) struct Document {
    #[schemars(range(min = 2, max = 2))]
    pub(in crate::verbs) version: u32,
    /// False if Ctrl-C ended it: the last run may be broken off.
    pub(in crate::verbs) complete: bool,
    pub(in crate::verbs) written_at: String,
    pub(in crate::verbs) command: Vec<String>,
    pub(in crate::verbs) machine: Map<String, Value>,
    pub(in crate::verbs) versions: BTreeMap<String, String>,
    pub(in crate::verbs) commit: Option<String>,
    pub(in crate::verbs) conditions: BTreeMap<String, String>,
    pub(in crate::verbs) scenarios: Vec<Scenario>,
}

/// A key type and protocol, with all runs of its servers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(in crate::verbs) struct Scenario {
    pub(in crate::verbs) label: String,
    /// VALID, UNCONFIRMED, INVALID, or what a search found; null if it was stopped before there was
    /// one.
    pub(in crate::verbs) verdict: Option<String>,
    pub(in crate::verbs) lines: Vec<String>,
    pub(in crate::verbs) runs: Vec<Run>,
    pub(in crate::verbs) curve: Option<load::Curve>,
    /// The figures, as --json writes them.
    pub(in crate::verbs) records: Vec<Map<String, Value>>,
}

/// A run: its verdict, its raw samples, and the figures that were computed from them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(in crate::verbs) struct Run {
    pub(in crate::verbs) server: String,
    pub(in crate::verbs) number: usize,
    pub(in crate::verbs) target: String,
    pub(in crate::verbs) began_at: String,
    pub(in crate::verbs) verdict: load::Verdict,
    pub(in crate::verbs) reasons: Vec<String>,
    pub(in crate::verbs) doubts: Vec<String>,
    /// The plan, as its own version describes it.
    pub(in crate::verbs) plan: Map<String, Value>,
    pub(in crate::verbs) plan_hash: String,
    /// Length of the part of the run that counts.
    pub(in crate::verbs) sustained_s: Option<f64>,
    /// CPU seconds of the server for each second of that part.
    pub(in crate::verbs) server_cores: Option<f64>,
    pub(in crate::verbs) sessions_per_s: Option<f64>,
    pub(in crate::verbs) server_cpu_ns_per_session: Option<f64>,
    pub(in crate::verbs) client_cpu_ns_per_session: Option<f64>,
    pub(in crate::verbs) client_cpu: Option<load::ClientCpu>,
    pub(in crate::verbs) whole: load::Counts,
    pub(in crate::verbs) sustain: load::Counts,
    pub(in crate::verbs) abandoned: u64,
    pub(in crate::verbs) offered: Option<load::ArrivalCounts>,
    pub(in crate::verbs) server_log: Option<load::Seen>,
    pub(in crate::verbs) series: Vec<load::Point>,
    /// By name: connect, handshake (from the `ClientHello` until the server confirmed it), and
    /// transaction. Empty if the run is invalid.
    pub(in crate::verbs) times: BTreeMap<String, Times>,
}

/// A histogram of nanoseconds. Those above its range, or without end, are counted and not in it; a
/// quantile among them is null.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(in crate::verbs) struct Times {
    pub(in crate::verbs) count: u64,
    pub(in crate::verbs) above: u64,
    pub(in crate::verbs) p50_ns: Option<u64>,
    pub(in crate::verbs) p90_ns: Option<u64>,
    pub(in crate::verbs) p99_ns: Option<u64>,
    pub(in crate::verbs) p999_ns: Option<u64>,
    pub(in crate::verbs) max_ns: Option<u64>,
    pub(in crate::verbs) hdr_v2_base64: String,
}

pub(super) fn of(
    about: &About<'_>,
    runs: &[Finished],
    judged: &[Judged<'_>],
    is_complete: bool,
) -> Document {
    let mut labels: Vec<&str> = runs.iter().map(|run| run.scenario.as_str()).collect();
    labels.dedup();
    let scenario = |label: &&str| {
        let end = judged.iter().find(|judged| judged.label == *label);
        let records = end.map_or(&[][..], |end| end.records);
        let of_label = |run: &&Finished| run.scenario == *label;
        Scenario {
            label: (*label).to_owned(),
            verdict: end.map(|end| end.verdict.clone()),
            lines: end.map(|end| end.lines.clone()).unwrap_or_default(),
            runs: runs.iter().filter(of_label).map(|run| run.document.clone()).collect(),
            curve: end.and_then(|end| end.found).map(|found| found.curve.clone()),
            records: records.iter().map(record).collect(),
        }
    };
    Document {
        version: VERSION,
        complete: is_complete,
        written_at: Timestamp::now().to_string(),
        command: std::env::args().skip(1).collect(),
        machine: object(&about.context.machine),
        versions: about.context.versions.clone(),
        commit: about.context.commit.clone(),
        conditions: about.context.conditions.clone(),
        scenarios: labels.iter().map(scenario).collect(),
    }
}

/// Returns a value that is an object in JSON.
fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// Returns a record, as in its JSON line.
fn record(record: &Record) -> Map<String, Value> {
    let mut line = Vec::new();
    let written = jsonl::Writer::new(&mut line).write(record);
    written.ok().and_then(|()| serde_json::from_slice(&line).ok()).unwrap_or_default()
}

pub(super) fn run(server: &str, number: usize, outcome: &load::Outcome) -> Run {
    let texts = |findings: &[Finding]| findings.iter().map(Finding::to_string).collect::<Vec<_>>();
    Run {
        server: server.to_owned(),
        number,
        target: outcome.target.to_string(),
        began_at: outcome.began_at.to_string(),
        verdict: outcome.verdict,
        reasons: texts(&outcome.reasons),
        doubts: texts(&outcome.doubts),
        plan: object(&outcome.plan),
        plan_hash: outcome.plan.hash(),
        sustained_s: Some(outcome.sustained.as_secs_f64()),
        server_cores: outcome.server_cores,
        sessions_per_s: outcome.sessions_per_s(),
        server_cpu_ns_per_session: outcome.server_cpu_ns_per_session(),
        client_cpu_ns_per_session: outcome.client_cpu_ns_per_session(),
        client_cpu: outcome.client_cpu,
        whole: outcome.whole.clone(),
        sustain: outcome.sustain.clone(),
        abandoned: outcome.abandoned,
        offered: outcome.plan.arrivals.is_open().then_some(outcome.arrivals),
        server_log: outcome.seen,
        series: outcome.series.clone(),
        times: times(outcome).map(|(name, times)| (name.to_owned(), latency(times))).collect(),
    }
}

fn latency(times: &Latency) -> Times {
    Times {
        count: times.count(),
        above: times.above(),
        p50_ns: times.quantile_ns(0.5),
        p90_ns: times.quantile_ns(0.9),
        p99_ns: times.quantile_ns(0.99),
        p999_ns: times.quantile_ns(0.999),
        max_ns: times.quantile_ns(1.0),
        hdr_v2_base64: times.to_base64(),
    }
}

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    use super::*;

    /// With `TOLLGATE_WRITE_SCHEMA`, writes the schema instead.
    #[test]
    fn the_schema_of_the_docs_is_that_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bench-outcome.schema.json");
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<Document>();
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("TOLLGATE_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap();
        assert_eq!(written, text, "run this test with TOLLGATE_WRITE_SCHEMA=1");
    }
}
