//! Profiles servers, and compares two of them in turn.

use tollgate_load::{Naming, Outcome, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record};
use tollgate_tune::{Setup, Shares};

use crate::error::CliError;
use crate::options::Bench;
use crate::run::Run;
use crate::verbs::bench::profile::Profiler;
use crate::verbs::bench::scenario::{Rounds, Scenario};
use crate::verbs::bench::setups::{Started, measure, outcomes};
use crate::verbs::bench::{context, plan};

/// The rounds of a profile.
const PROFILE_ROUNDS: u32 = 3;

/// A change, measured in turn with the server before it.
pub(super) struct Pair {
    pub(super) before: Estimate,
    pub(super) after: Estimate,
    /// The ratio of the rates, after to before.
    pub(super) ratio: Estimate,
}

/// Profiles a server, and returns the shares of its parts; `None` after Ctrl-C.
pub(super) fn profile(
    profiler: &Profiler,
    started: &Started,
    run: &mut Run,
) -> Result<Option<Shares>, CliError> {
    let naming = naming(&started.setup);
    let measured = measure(PROFILE_ROUNDS, &[(started, naming.clone())], Some(profiler))?;
    let Some(measured) = measured.and_then(|all| all.into_iter().next()) else { return Ok(None) };
    let outcomes = outcomes(&measured.outcomes);
    check(&outcomes)?;
    let of = Rounds { outcomes: vec![outcomes], repeated: measured.repeated, broken: None };
    let label = format!("{} {}", started.setup.key, plan::named(&started.plan));
    let context = context(&started.bench, &run.host);
    let names = [naming];
    let mut scenario = Scenario::new(label, of, &names, &context)?;
    profiler.end(&started.bench, &mut scenario, &started.plan, &names)?;
    run.output.records(&scenario.records)?;
    Ok(Some(shares(&scenario.records)?))
}

/// Runs two servers in turn; `None` after Ctrl-C.
pub(super) fn compare(
    rounds: u32,
    before: &Started,
    after: &Started,
) -> Result<Option<Pair>, CliError> {
    let servers = [
        (before, Naming::new(&before.setup.key, "before")),
        (after, Naming::new(&after.setup.key, "after")),
    ];
    let Some(measured) = measure(rounds, &servers, None)? else { return Ok(None) };
    let [before, after] = [&measured[0], &measured[1]].map(|measured| outcomes(&measured.outcomes));
    check(&before)?;
    check(&after)?;
    let each = before.iter().zip(&after);
    let ratios: Option<Vec<f64>> = each
        .map(|(before, after)| Some(requests_per_s(after)? / requests_per_s(before)?))
        .collect();
    let pair = || {
        Some(Pair {
            before: rate(&before)?,
            after: rate(&after)?,
            ratio: tollgate_bench::median_estimate(&ratios?)?,
        })
    };
    pair().map(Some).ok_or_else(|| error!("a run has no rate: run again"))
}

fn naming(setup: &Setup) -> Naming {
    let engine = if setup.provider { "tollgate" } else { "openssl" };
    Naming::new(&setup.key, format!("{}-{engine}", setup.server))
}

/// Describes server, version, key and load.
pub(super) fn words(started: &Started, bench: &Bench) -> String {
    let Setup { server, key, suite, group, .. } = &started.setup;
    let server = format!("{server} {}", started.version);
    let server = server.trim_end(); // a command has no version
    let offer = [suite, group].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
    format!(
        "{server}, {key}, {offer}, {} bytes; server cores: {}, {} connections, {} \
         rounds of {} s for each step",
        bench.bytes,
        plan::listed(&plan::server_cores(bench)),
        bench.load.connections,
        bench.rounds,
        bench.seconds
    )
}

/// Refuses runs whose sessions the server's log does not confirm, or that are invalid for another
/// reason.
fn check(outcomes: &[Outcome]) -> Result<(), CliError> {
    match outcomes.iter().find(|outcome| outcome.verdict == Verdict::Invalid) {
        None => Ok(()),
        Some(bad) => match bad.reasons.first() {
            Some(reason) => bail!("a run is not valid: {reason}"),
            None => bail!("a run is not valid"),
        },
    }
}

fn requests_per_s(outcome: &Outcome) -> Option<f64> {
    Some(outcome.sessions_per_s()? * outcome.plan.requests_per_connection)
}

fn rate(outcomes: &[Outcome]) -> Option<Estimate> {
    let rates: Option<Vec<f64>> = outcomes.iter().map(requests_per_s).collect();
    tollgate_bench::median_estimate(&rates?)
}

/// Computes the shares of all parts and their details, of the time of the server's cores.
fn shares(records: &[Record]) -> Result<Shares, CliError> {
    let part = |record: &Record| {
        let part = record
            .subject
            .parameter(word::PART)
            .filter(|_| record.quantity == word::CYCLES_PER_SESSION)?;
        Some((part.to_owned(), record.subject.parameter(word::DETAIL).map(str::to_owned)))
    };
    let parts: Vec<_> =
        records.iter().filter_map(|record| Some((part(record)?, record.estimate))).collect();
    let whole = parts.iter().filter(|((_, detail), _)| detail.is_none());
    let total: f64 = whole.map(|(_, cycles)| cycles.point()).sum();
    if total <= 0.0 {
        bail!("the profile is empty: give each run more --seconds");
    }
    let share = |((part, detail), cycles): ((String, Option<String>), Estimate)| {
        Ok((detail.unwrap_or(part), cycles.scaled(1.0 / total)?))
    };
    parts.into_iter().map(share).collect()
}
