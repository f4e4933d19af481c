//! Searches for the highest rate that meets an objective.

use core::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, Think};
use crate::bisection::{Bisection, StepResult};
use crate::error::Error;
use crate::finding::Finding;
use crate::objective::Objective;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::run::run;
use crate::server::Server;
use crate::verdict::Verdict;

/// A rate of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Arrivals per second of the plan.
    pub offered_per_s: f64,
    /// Transactions per second, mean of the runs.
    pub achieved_per_s: f64,
    /// The median time from the intended start, median of the runs; `None` if most arrivals
    /// never got a response.
    pub p50_ns: Option<u64>,
    /// The objective's quantile of these times, median of the runs.
    pub quantile_ns: Option<u64>,
    /// The result.
    #[serde(rename = "judged")]
    pub result: StepResult,
    /// Number of runs.
    pub runs: u32,
    /// CPU time of the busiest client thread divided by elapsed time, the highest of the runs.
    pub client_busy: f64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The objective.
    pub objective: Objective,
    /// All rates, in increasing order.
    pub steps: Vec<Step>,
    /// The highest rate that met the objective; `None` if none did.
    pub met_per_s: Option<f64>,
    /// The lowest rate above `met_per_s` that missed the objective, or at which the client reached
    /// its limit; `None` if there is none. Unless the client was the limit, the limit of the server
    /// is between the two rates.
    pub above_per_s: Option<f64>,
    /// True if the client, not the server, ended the search: the server may do better.
    pub client_is_limit: bool,
    /// The server's rate in a closed loop with the same connections: the starting point.
    pub capacity_per_s: f64,
}

/// Above this share of a core the client counts as the limit.
const CLIENT_BUSY_MAX: f64 = 0.8;

/// A step is decided when one result leads by this number of runs.
const LEAD: u32 = 2;

/// Maximum number of runs of a step, which is odd: after these runs the majority decides.
const RUNS_MAX: u32 = 5;

/// A step lasts at most this many times the plan's duration, to have enough arrivals.
const LONGER_MAX: u64 = 8;

/// Finds the highest rate of an open loop at which the server meets the objective. Times count from
/// the intended start; dropped and timed-out arrivals miss the objective.
///
/// A closed loop determines the starting point. Each rate is run at least twice, for at least the
/// plan's duration each time, and again while the runs contradict each other. The referee, if there
/// is one, checks every run.
///
/// Calls `progress` with the number of rates tried.
///
/// # Errors
///
/// [`Error::Plan`] unless the plan is an open loop with a rate; otherwise the errors of [`run`].
pub fn search(
    plan: &Plan,
    objective: Objective,
    server: &mut Server<'_>,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(usize),
) -> Result<Curve, Error> {
    let Arrivals::Open { pattern, waiting_max } = &plan.arrivals else {
        return Err(Error::Plan("a search needs an open loop: give it arrivals"));
    };
    let closed = Plan { arrivals: Arrivals::Closed { think: Think::None }, ..plan.clone() };
    let capacity = run(&closed, server, stop, &mut |_, _| {})?;
    let capacity_per_s = capacity.rate();
    if capacity_per_s <= 0.0 {
        return Err(Error::Nothing(capacity.reasons));
    }
    let mut bisection = Bisection::new(capacity_per_s);
    let mut steps: Vec<Step> = Vec::new();
    while let Some(per_s) = bisection.next_rate() {
        let arrivals = Arrivals::Open { pattern: pattern.at(per_s), waiting_max: *waiting_max };
        let sustain_ms = step_ms(plan, objective, per_s);
        let plan = Plan { arrivals, sustain_ms, ..plan.clone() };
        let found = step(&plan, per_s, objective, |plan| run(plan, server, stop, &mut |_, _| {}))?;
        bisection.record(per_s, found.result);
        steps.push(found);
        progress(steps.len());
    }
    steps.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    let (met_per_s, above_per_s, client_is_limit) = bisection.answer();
    Ok(Curve { objective, steps, met_per_s, above_per_s, client_is_limit, capacity_per_s })
}

/// Returns the duration of a step. This is the plan's duration, or longer if the objective's
/// quantile needs more arrivals.
fn step_ms(plan: &Plan, objective: Objective, per_s: f64) -> u64 {
    let needed = Duration::try_from_secs_f64(objective.arrivals_min() / per_s);
    let needed =
        needed.map_or(u64::MAX, |needed| u64::try_from(needed.as_millis()).unwrap_or(u64::MAX));
    needed.clamp(plan.sustain_ms, plan.sustain_ms.saturating_mul(LONGER_MAX).min(Plan::MS_MAX))
}

/// Runs one rate until a result leads. Each run has a different seed, and so different arrivals.
fn step(
    plan: &Plan,
    offered_per_s: f64,
    objective: Objective,
    mut run: impl FnMut(&Plan) -> Result<Outcome, Error>,
) -> Result<Step, Error> {
    let (mut met, mut missed) = (0, 0);
    let (mut rates, mut medians, mut quantiles) = (Vec::new(), Vec::new(), Vec::new());
    let mut client_busy: f64 = 0.0;
    let result = loop {
        let runs = met + missed;
        let outcome = run(&Plan { seed: plan.seed.wrapping_add(u64::from(runs)), ..plan.clone() })?;
        rates.push(outcome.rate());
        medians.push(outcome.response.quantile_ns(0.5));
        let quantile = outcome.response.quantile_ns(objective.quantile());
        quantiles.push(quantile);
        client_busy = outcome.client_cpu.map_or(0.0, |cpu| cpu.busiest_share).max(client_busy);
        let is_busy = client_busy > CLIENT_BUSY_MAX;
        if let Some(why) = beyond_use(&outcome).filter(|_| !is_busy) {
            return Err(Error::Nothing(vec![why.clone()]));
        }
        let limit = objective.limit().as_nanos();
        // a run is invalid if too many arrivals were dropped or failed
        match quantile.is_some_and(|ns| u128::from(ns) <= limit)
            && outcome.verdict != Verdict::Invalid
        {
            true => met += 1,
            false => missed += 1,
        }
        match () {
            () if is_busy => break StepResult::ClientLimited,
            () if met + missed < RUNS_MAX && met.abs_diff(missed) < LEAD => {}
            () if met > missed => break StepResult::Met,
            () => break StepResult::Missed,
        }
    };
    #[allow(clippy::cast_precision_loss, reason = "a few runs")]
    let achieved_per_s = rates.iter().sum::<f64>() / rates.len() as f64;
    Ok(Step {
        offered_per_s,
        achieved_per_s,
        p50_ns: median(medians),
        quantile_ns: median(quantiles),
        result,
        runs: met + missed,
        client_busy,
    })
}

/// Returns a finding that makes a step useless, whatever its rate.
fn beyond_use(outcome: &Outcome) -> Option<&Finding> {
    outcome.reasons.iter().find(|finding| {
        !matches!(
            finding,
            Finding::Dropped { .. }
                | Finding::Errors { .. }
                | Finding::Drift { .. }
                | Finding::Stalled
                | Finding::Nothing
                | Finding::OfferedOffPlan { .. }
                | Finding::ClientBusy { .. }
        )
    })
}

/// Returns the lower median; `None` is infinite.
fn median(mut values: Vec<Option<u64>>) -> Option<u64> {
    values.sort_unstable_by_key(|value| value.unwrap_or(u64::MAX));
    values.get((values.len().max(1) - 1) / 2).copied().flatten()
}
