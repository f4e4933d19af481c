//! Lines about a server's rounds: the clients of an open loop, and resumed sessions.

use tollgate_load::{ArrivalCounts, Latency, Outcome, Resumptions, SessionTimes};
use tollgate_report::text::wrapped;

use crate::cells::{float, or_dash};

/// Quantiles of each line.
const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// Returns the lines for a server's rounds; empty for a closed loop without client timeouts.
pub(super) fn lines(rounds: &[Outcome]) -> String {
    let Some(first) = rounds.first() else { return String::new() };
    let plan = &first.plan;
    let mut text = String::new();
    let mut say = |what: String| text += &wrapped(&format!("- {}: {what}", first.server));
    if plan.arrivals.is_open() {
        say(offered(rounds));
        say(format!("from the intended start, p50/p90/p99: {}", of(rounds, Outcome::transaction)));
    }
    if plan.client_timeout.is_some() {
        let sum = |of: fn(&Outcome) -> u64| rounds.iter().map(of).sum::<u64>();
        say(format!(
            "{} connections were given up, {} of them to begin again",
            sum(|outcome| outcome.whole.timeouts()),
            sum(|outcome| outcome.whole.retries)
        ));
    }
    text
}

fn offered(rounds: &[Outcome]) -> String {
    let sum = |of: fn(ArrivalCounts) -> u64| rounds.iter().map(|o| of(o.arrivals)).sum::<u64>();
    format!(
        "open loop: {} arrivals, {} waited in the queue, {} began late, {} never began",
        sum(|offered| offered.arrivals),
        sum(|offered| offered.queued),
        sum(|offered| offered.late),
        sum(|offered| offered.dropped)
    )
}

/// Formats the medians over the rounds; an unknown time counts as the longest.
pub(super) fn of(rounds: &[Outcome], which: impl Fn(&Outcome) -> Option<&Latency>) -> String {
    let median = |q| {
        let times = rounds.iter().map(|outcome| which(outcome)?.quantile_ns(q));
        let mut all: Vec<Option<u64>> = times.collect();
        all.sort_unstable_by_key(|ns| ns.unwrap_or(u64::MAX));
        or_dash(all.get(all.len() / 2).copied().flatten(), short)
    };
    QUANTILES.map(median).join("/")
}

/// Returns the lines for a server's rounds, if the plan resumes sessions.
pub(super) fn resumed_lines(rounds: &[Outcome]) -> String {
    let Some((first, resume)) = rounds.first().and_then(|first| Some((first, first.plan.resume?)))
    else {
        return String::new();
    };
    let mut text = String::new();
    let mut say = |what: String| text += &wrapped(&format!("- {}: {what}", first.server));
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut achieved: Vec<f64> = rounds.iter().filter_map(Outcome::resumed_share).collect();
    achieved.sort_unstable_by(f64::total_cmp);
    let achieved = match achieved[..] {
        [] => "nothing was measured".to_owned(),
        [share] => format!("{} were", percent(share)),
        [least, .., most] => format!("{} to {} were, by round", percent(least), percent(most)),
    };
    let planned = percent(resume.share);
    say(format!("{planned} to be resumed by {}, {achieved}; {}", resume.by, sum(rounds)));
    for (name, kind) in KINDS {
        say(format!("{name}: {}", of_kind(rounds, kind)));
    }
    text
}

type Which = fn(&Outcome) -> Option<&SessionTimes>;

const KINDS: [(&str, Which); 2] = [
    ("full", |outcome| outcome.by_resumption().map(|kinds| &kinds.full)),
    ("resumed", |outcome| outcome.by_resumption().map(|kinds| &kinds.resumed)),
];

fn sum(rounds: &[Outcome]) -> String {
    let sum = |of: fn(Resumptions) -> u64| {
        rounds.iter().map(|outcome| of(outcome.whole.resumptions)).sum::<u64>()
    };
    let all = Resumptions {
        offered: sum(|all| all.offered),
        accepted: sum(|all| all.accepted),
        refused: sum(|all| all.refused),
        starved: sum(|all| all.starved),
        early_data: sum(|all| all.early_data),
    };
    all.to_string()
}

/// Returns rate and times, as medians over the rounds.
fn of_kind(rounds: &[Outcome], which: Which) -> String {
    let mut rates: Vec<f64> = rounds
        .iter()
        .filter_map(|outcome| {
            let count = which(outcome)?.transactions;
            Some(float(count) / outcome.sustained.as_secs_f64())
        })
        .collect();
    rates.sort_unstable_by(f64::total_cmp);
    let Some(rate) = rates.get(rates.len() / 2) else { return "no figures".to_owned() };
    let handshakes = of(rounds, |outcome| which(outcome).map(|times| &times.handshake));
    format!("{rate:.0} sess/s; handshake, p50/p90/p99: {handshakes}")
}

pub(in crate::verbs) fn short(ns: u64) -> String {
    let (value, unit) = match float(ns) {
        1e9.. => (float(ns) / 1e9, "s"),
        1e6.. => (float(ns) / 1e6, "ms"),
        _ => (float(ns) / 1e3, "µs"),
    };
    let digits = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let told = [940, 12_340, 123_400, 1_500_000, 2_000_000_000].map(short);
        assert_eq!(told, ["0.94 µs", "12.3 µs", "123 µs", "1.50 ms", "2.00 s"]);
    }
}
