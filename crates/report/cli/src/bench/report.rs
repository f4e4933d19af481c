//! What `bench` prints: machine, plan, verdicts, and then the table.

use tollgate_ladder::heading;
use tollgate_ladder::text::wrapped;
use tollgate_load::Verdict;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Nanos, PerSecond, Record, Subject, Unit};

use super::plan;
use super::sitting::Sitting;
use crate::figures::Figures;
use crate::host::Host;
use crate::options::Bench as Options;

/// Everything in its order.
pub(super) fn text(options: &Options, host: &Host, sittings: &[Sitting]) -> String {
    let mut text = machine(host) + &wrapped(&plan::words(options)) + "\n";
    for sitting in sittings {
        text += &sitting.verdict_text();
    }
    let records: Vec<Record> =
        sittings.iter().flat_map(|sitting| sitting.records.iter().cloned()).collect();
    if !records.is_empty() {
        text += "\n";
        text += &table(&records);
    }
    if sittings.iter().any(|sitting| sitting.verdict() == Verdict::Invalid) {
        text += "\n";
        text += &wrapped(
            "What is INVALID has no figures: do what the findings say, and run again; a machine \
             that drifts needs quiet, longer runs (--seconds), or a wider limit (--drift-max).",
        );
    }
    text
}

/// The heading that tables of measured records have; it reads what all records of a run share.
fn machine(host: &Host) -> String {
    let (Ok(subject), Ok(one)) = ("server".parse::<Subject>(), Estimate::exact(1.0)) else {
        return String::new();
    };
    heading::lines(&[Figures::new(host).measured(&subject, "runs", Unit::Count, one)])
}

/// A line for each server under each plan.
fn table(records: &[Record]) -> String {
    let mut subjects: Vec<&Subject> = Vec::new();
    for Record { subject, .. } in records {
        let is_server = subject.segments().next() == Some("server");
        let is_own = subject.parameter(word::AGAINST).is_none();
        if is_server && is_own && !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let mut text = line(["session", "by", "per s", "server", "p50", "sessions x", "CPU x"]);
    text += &format!("{}\n", "-".repeat(text.trim_end().len()));
    for subject in subjects {
        let find = |subject: &Subject, quantity: &str| {
            let found = records
                .iter()
                .find(|record| record.subject == *subject && record.quantity.as_str() == quantity);
            found.map(|record| record.estimate)
        };
        let nanos =
            |quantity| cell(find(subject, quantity).map(|e| Nanos::new(e.point()).to_string()));
        let against = subject.with(word::AGAINST, "openssl").ok();
        let ratio = |quantity| {
            let found = against.as_ref().and_then(|against| find(against, quantity));
            cell(found.map(|ratio| {
                let (low, high) = ratio.interval();
                format!("{:.2} [{low:.2}-{high:.2}]", ratio.point())
            }))
        };
        let per_s = find(subject, word::SESSIONS_PER_S).map(|e| PerSecond::new(e.point()));
        let session = subject.segments().skip(1).collect::<Vec<_>>().join(" ");
        text += &line([
            &session,
            subject.parameter(word::BY).unwrap_or("-"),
            cell(per_s.map(|rate| rate.to_string())).trim_end_matches("/s"),
            &nanos(word::SERVER_CPU_NS_PER_SESSION),
            &nanos(word::HANDSHAKE_NS_P50),
            &ratio(word::SESSIONS_PER_S_RATIO),
            &ratio(word::SERVER_CPU_RATIO),
        ]);
    }
    text + &wrapped(
        "per s: sessions per second; server: its CPU time per session; p50: of 100 handshakes 50 \
         took no longer, from the ClientHello on; sessions x, CPU x: times those of openssl, pairs \
         of rounds, 95 % interval",
    )
}

fn line(cells: [&str; 7]) -> String {
    let [session, by, per_s, server, p50, sessions, cpu] = cells;
    let line = format!(
        "{session:21}  {by:8}  {per_s:>6}  {server:>8}  {p50:>8}  {sessions:>16}  {cpu:>16}"
    );
    line.trim_end().to_owned() + "\n"
}

fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}
