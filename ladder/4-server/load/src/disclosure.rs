//! What records say of a plan beside its figures.

use tollgate_record::vocabulary as word;
use tollgate_record::{BadSubject, Subject};

use crate::arrivals::{Arrivals, Pattern, Think};
use crate::outcome::Outcome;
use crate::plan::{Exchange, Plan};
use crate::resumption::{Resume, Resumptions};

/// A subject with what makes the plan's figures other figures than those of a closed loop with one
/// secure request on each connection.
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

/// What was resumed, as planned and as it was, over all rounds.
pub(crate) fn resumption(rounds: &[Outcome]) -> String {
    let Some(Resume { share, by }) = rounds.first().and_then(|round| round.plan().resume) else {
        return "none".to_owned();
    };
    let mut all = Resumptions::default();
    rounds.iter().for_each(|round| all.add(round.whole().resumptions));
    format!("{:.1} % by {by}: {all}", 100.0 * share)
}

/// Conditions of arrivals and clients.
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
                Pattern::Pareto { shape, .. } => say("pareto_shape", shape.to_string()),
                Pattern::Bursts { on_ms, off_ms, .. } => {
                    say("bursts", format!("{on_ms} ms on, {off_ms} ms off"));
                }
                Pattern::Constant { .. } | Pattern::Poisson { .. } | Pattern::Trace(_) => {}
            }
        }
    }
    if let Exchange::Sizes(sizes) = &plan.exchange {
        say("sizes", format!("{sizes}; of as many requests each asks for another"));
    }
    let is_random = plan.arrivals.is_open()
        || plan.plain_share > 0.0
        || matches!(plan.exchange, Exchange::Sizes(_))
        || plan.resume.is_some_and(|resume| resume.share < 1.0)
        || matches!(plan.arrivals, Arrivals::Closed { think: Think::Exponential { .. } });
    if is_random {
        say("seed", plan.seed.to_string());
    }
    if let Some(patience) = plan.patience {
        say("patience", format!("{} ms, then {} more tries", patience.ms, patience.retries));
    }
    all
}
