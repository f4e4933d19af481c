//! The text that records contain in addition to figures: parameters, conditions, bodies.

use tollgate_record::vocabulary as word;
use tollgate_record::{BadSubject, Subject};
use tollgate_tls_client::Group;

use crate::arrivals::{Arrivals, Pattern, Think};
use crate::counts::{Counts, Resumptions};
use crate::outcome::Outcome;
use crate::plan::{Exchange, Plan};
use crate::resumption::Resume;

/// Adds a parameter for each difference between the plan and a closed loop with one secure request
/// on each connection.
pub(crate) fn subject(plan: &Plan, mut subject: Subject) -> Result<Subject, BadSubject> {
    if let Arrivals::Open { pattern, .. } = &plan.arrivals {
        subject = subject.with(word::ARRIVALS, pattern.word())?;
        subject = subject.with(word::OFFERED_PER_S, format!("{:.3}", pattern.per_s()))?;
    }
    if plan.requests_per_connection > 1.0 {
        subject = subject.with(word::REQUESTS, plan.requests_per_connection)?;
    }
    if plan.plain_share > 0.0 {
        subject = subject.with(word::PLAIN_SHARE, plan.plain_share)?;
    }
    if let Some(Resume { share, by }) = plan.resume {
        subject = subject.with(word::RESUMED_SHARE, share)?.with(word::RESUMED_BY, by)?;
    }
    Ok(subject)
}

/// Returns the planned and actual resumption, over all rounds.
pub(crate) fn resumption(rounds: &[Outcome]) -> String {
    let Some(Resume { share, by }) = rounds.first().and_then(|round| round.plan.resume) else {
        return "none".to_owned();
    };
    let mut all = Resumptions::default();
    rounds.iter().for_each(|round| all.add(round.whole.resumptions));
    format!("{:.1} % by {by}: {all}", 100.0 * share)
}

/// Returns the groups that the server chose, and the number of handshakes with a second
/// `ClientHello`, over all rounds.
pub(crate) fn groups(rounds: &[Outcome]) -> String {
    let mut all = Counts::default();
    rounds.iter().for_each(|round| all.add(&round.whole));
    let count = |(group, count): (&Group, &u64)| format!("{group}: {count}");
    let groups: Vec<String> = all.groups.iter().map(count).collect();
    let groups = if groups.is_empty() { "none".to_owned() } else { groups.join(", ") };
    format!("{groups}; HelloRetryRequests: {}", all.hello_retries)
}

/// Returns the conditions of arrivals and clients.
pub(crate) fn conditions(plan: &Plan) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut say = |name: &str, value: String| all.push((name.to_owned(), value));
    match &plan.arrivals {
        Arrivals::Closed { think } => {
            say("loop", "closed".to_owned());
            match think {
                Think::None => {}
                Think::Constant { ms } => say("think", format!("{ms} ms")),
                Think::Exponential { mean_ms } => say("think", format!("{mean_ms} ms at random")),
            }
        }
        Arrivals::Open { pattern, waiting_max } => {
            say("loop", "open".to_owned());
            say("times", "from the intended start".to_owned());
            say("waiting_max", waiting_max.to_string());
            match pattern {
                Pattern::Gamma { dispersion, .. } => say("dispersion", dispersion.to_string()),
                Pattern::Constant { .. } | Pattern::Poisson { .. } => {}
            }
        }
    }
    if let Exchange::Sizes(sizes) = &plan.exchange {
        say("sizes", format!("{sizes}; as many consecutive requests have all sizes"));
    }
    let is_random = plan.arrivals.is_open()
        || plan.plain_share > 0.0
        || matches!(plan.exchange, Exchange::Sizes(_))
        || plan.resume.is_some_and(|resume| resume.share < 1.0)
        || matches!(plan.arrivals, Arrivals::Closed { think: Think::Exponential { .. } });
    if is_random {
        say("seed", plan.seed.to_string());
    }
    if let Some(timeout) = plan.client_timeout {
        say("patience", format!("{} ms, then {} more tries", timeout.ms, timeout.retries));
    }
    all
}
