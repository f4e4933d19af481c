//! Lines about resumed sessions.

use tollgate_load::{Latency, Outcome, Resumptions, SessionTimes};
use tollgate_report::text::wrapped;

use super::times;

/// The lines for a server's rounds, if the plan resumes sessions.
pub(super) fn lines(rounds: &[Outcome]) -> String {
    let Some((first, resume)) =
        rounds.first().and_then(|first| Some((first, first.plan().resume?)))
    else {
        return String::new();
    };
    let mut text = String::new();
    let mut say = |what: String| text += &wrapped(&format!("- {}: {what}", first.server()));
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut achieved: Vec<f64> = rounds.iter().filter_map(Outcome::resumed_share).collect();
    achieved.sort_unstable_by(f64::total_cmp);
    let achieved = match achieved[..] {
        [] => "nothing was measured".to_owned(),
        [one] => format!("{} were", percent(one)),
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
        rounds.iter().map(|outcome| of(outcome.whole().resumptions)).sum::<u64>()
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

/// Rate and times, as medians over the rounds.
fn of_kind(rounds: &[Outcome], which: Which) -> String {
    let mut rates: Vec<f64> = rounds
        .iter()
        .filter_map(|outcome| {
            #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
            let count = which(outcome)?.transactions() as f64;
            Some(count / outcome.sustained().as_secs_f64())
        })
        .collect();
    rates.sort_unstable_by(f64::total_cmp);
    let Some(rate) = rates.get(rates.len() / 2) else {
        return "no figures".to_owned();
    };
    let quantiles =
        |of: fn(&SessionTimes) -> &Latency| times::of(rounds, |outcome| which(outcome).map(of));
    format!(
        "{rate:.0} sess/s; p50/p90/p99: handshake {}, service {}",
        quantiles(SessionTimes::handshake),
        quantiles(SessionTimes::service)
    )
}
