//! `counts.csv` and `series.csv`, comma-separated values (RFC 4180).

use tollgate_load::{Counts, Outcome, Point};

use super::Run;

pub(super) const COUNTS: &str = "scenario,server,run,verdict,of,what,phase,cause,count\n";

/// Writes `counts.csv`: a row for each count of the client's whole run, of the measured period, and
/// of the server's log.
pub(super) fn counts(run: &Run, outcome: &Outcome) -> String {
    let count = |of: &str, [what, phase, cause]: [&str; 3], count: u64| {
        row([
            run.scenario.as_str(),
            &run.server,
            &run.number.to_string(),
            outcome.verdict.word(),
            of,
            what,
            phase,
            cause,
            &count.to_string(),
        ])
    };
    let mut text = String::new();
    for (of, counts) in [("whole", &outcome.whole), ("sustain", &outcome.sustain)] {
        for (what, number) in named(counts) {
            text += &count(of, [what, "", ""], number);
        }
        for (failure, number) in &counts.failures {
            let cause = failure.cause.to_string();
            text += &count(of, ["failed", failure.phase.word(), &cause], *number);
        }
        for (phase, number) in &counts.timed_out {
            text += &count(of, ["gave_up", phase.word(), ""], *number);
        }
    }
    text += &count("whole", ["abandoned", "", ""], outcome.abandoned);
    if outcome.plan.arrivals.is_open() {
        let offered = outcome.arrivals;
        for (what, number) in [
            ("arrivals", offered.arrivals),
            ("queued", offered.queued),
            ("began_late", offered.late),
            ("never_began", offered.dropped),
            ("began_outside", offered.outside),
        ] {
            text += &count("sustain", [what, "", ""], number);
        }
    }
    if let Some(seen) = outcome.seen {
        for (what, number) in [
            ("handshakes", seen.handshakes),
            ("resumed", seen.resumed),
            ("handshakes_failed", seen.failed),
            ("responses", seen.requests),
        ] {
            text += &count("server", [what, "", ""], number);
        }
    }
    text
}

pub(super) fn named(counts: &Counts) -> [(&'static str, u64); 14] {
    [
        ("attempts", counts.attempts),
        ("retries", counts.retries),
        ("client_done", counts.client_done),
        ("signatures_verified", counts.signatures_verified),
        ("confirmed", counts.confirmed),
        ("sessions_offered", counts.resumptions.offered),
        ("sessions_resumed", counts.resumptions.accepted),
        ("sessions_refused", counts.resumptions.refused),
        ("sessions_lacking", counts.resumptions.starved),
        ("early_data_taken", counts.resumptions.early_data),
        ("responses", counts.responses),
        ("response_bytes", counts.response_bytes),
        ("transactions", counts.transactions),
        ("body_bytes", counts.body_bytes),
    ]
}

pub(super) const SERIES: &str = "scenario,server,run,verdict,from_s,width_s,stage,begun,completed,\
                                 failed,gave_up,never_began,p50_ns,p99_ns\n";

/// Writes `series.csv`: a row for each second. The cells of missing times are empty.
pub(super) fn series(run: &Run, outcome: &Outcome) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
    let of = |point: &Point| {
        row([
            run.scenario.clone(),
            run.server.clone(),
            run.number.to_string(),
            outcome.verdict.word().to_owned(),
            format!("{:.3}", point.from.as_secs_f64()),
            format!("{:.3}", point.width.as_secs_f64()),
            point.stage.to_string(),
            point.attempts.to_string(),
            point.transactions.to_string(),
            point.failed.to_string(),
            point.timed_out.to_string(),
            point.dropped.to_string(),
            time(point.p50_ns),
            time(point.p99_ns),
        ])
    };
    outcome.series.iter().map(of).collect()
}

/// Formats a row with its line feed, with quotes where needed.
fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let quoted = |cell: T| {
        let cell = cell.as_ref();
        let is_bare = !cell.contains([',', '"', '\n', '\r']);
        if is_bare { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
    };
    cells.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_quotes_has_them() {
        assert_eq!(row(["a b", "", "1,5", "say \"x\""]), "a b,,\"1,5\",\"say \"\"x\"\"\"\n");
    }
}
