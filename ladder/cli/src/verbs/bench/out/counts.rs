//! `counts.csv`: the counts of client and server in each run.

use tollgate_load::{Counts, Outcome};

use super::Run;
use super::csv::row;

pub(super) const HEADING: [&str; 9] =
    ["sitting", "server", "run", "verdict", "of", "what", "phase", "cause", "count"];

/// A row for each count of the client's whole run, of the part that counts, and of the server's
/// log.
pub(super) fn rows(run: &Run, outcome: &Outcome) -> String {
    let count = |of: &str, [what, phase, cause]: [&str; 3], count: u64| {
        row([
            run.scenario.as_str(),
            &run.server,
            &run.number.to_string(),
            outcome.verdict().word(),
            of,
            what,
            phase,
            cause,
            &count.to_string(),
        ])
    };
    let mut text = String::new();
    for (of, counts) in [("whole", outcome.whole()), ("sustain", outcome.sustain())] {
        for (what, number) in named(counts) {
            text += &count(of, [what, "", ""], number);
        }
        for (failure, number) in &counts.failures {
            let cause = failure.cause.to_string();
            text += &count(of, ["failed", failure.phase.name(), &cause], *number);
        }
        for (phase, number) in &counts.timed_out {
            text += &count(of, ["gave_up", phase.name(), ""], *number);
        }
    }
    text += &count("whole", ["abandoned", "", ""], outcome.abandoned());
    if outcome.plan().arrivals.is_open() {
        let offered = outcome.arrival_counts();
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
    if let Some(seen) = outcome.seen() {
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

/// The client's counts by name.
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
