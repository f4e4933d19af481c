//! One key type and protocol: its rounds, its verdict, and its records unless it is invalid.
//!
//! The servers take turns, and runs with a drifting rate are repeated.

use tollgate_load::{
    Comparison, Context, Finding, Naming, Outcome, Plan, Server, Verdict, records,
};
use tollgate_record::Record;
use tollgate_record::vocabulary as word;
use tollgate_report::text::wrapped;
use tollgate_session::measured_total;

use super::times;
use super::turns::{self, Measured};
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench as Options;

pub(in crate::verbs) struct Rounds {
    /// By server, then by round.
    pub(in crate::verbs) outcomes: Vec<Vec<Outcome>>,
    /// Runs that were repeated because their rate was not steady.
    pub(in crate::verbs) repeated: u32,
    /// The reason if the rounds ended early because a run could not start.
    pub(in crate::verbs) broken: Option<String>,
}

impl Rounds {
    /// Creates a result without rounds, with the reason why there are none.
    pub(super) fn broken(why: &CliError) -> Self {
        Self { outcomes: Vec::new(), repeated: 0, broken: Some(why.to_string()) }
    }
}

/// Runs the rounds, with a plan for each server. An invalid one ends them, because the rest could
/// not give a figure. Returns `None` after Ctrl-C.
pub(super) fn run(
    options: &Options,
    plans: &[&Plan],
    servers: &mut [Server<'_>],
    progress: impl FnMut(f64),
) -> Result<Option<Rounds>, CliError> {
    let mut measured: Vec<Measured> = servers.iter().map(|_| Measured::default()).collect();
    let ended = turns::measure(options, plans, servers, &mut measured, progress);
    if interrupt::asked() {
        return Ok(None);
    }
    let round = measured.first().map_or(0, |measured| measured.outcomes.len());
    let broken = match ended {
        Err(error) if round == 0 => return Err(error),
        Err(error) => Some(format!("after round {round}: {error}")),
        Ok(()) => None,
    };
    let repeated = measured.iter().map(|measured| measured.repeated).sum();
    let outcomes = measured.into_iter().map(|measured| measured.outcomes).collect();
    Ok(Some(Rounds { outcomes, repeated, broken }))
}

/// Returns whether a run is invalid only because of the shape of its rate or its arrivals.
pub(super) fn is_unsteady(outcome: &Outcome) -> bool {
    outcome.verdict == Verdict::Invalid && !is_beyond_repeating(outcome)
}

fn is_beyond_repeating(outcome: &Outcome) -> bool {
    outcome.reasons.iter().any(|reason| {
        let reason = reason.cause();
        !matches!(reason, Finding::Drift { .. } | Finding::OfferedOffPlan { .. } | Finding::Stalled)
    })
}

pub(in crate::verbs) struct Scenario {
    /// `rsa-2048 tls13`.
    pub(in crate::verbs) label: String,
    pub(in crate::verbs) rounds: Rounds,
    /// Empty if the scenario is invalid.
    pub(in crate::verbs) records: Vec<Record>,
    pub(in crate::verbs) notes: Vec<String>,
}

impl Scenario {
    /// Judges the rounds of servers in turn, and makes records of them.
    pub(in crate::verbs) fn new(
        label: String,
        rounds: Rounds,
        names: &[Naming],
        context: &Context,
    ) -> Result<Self, CliError> {
        Self::judged(label, rounds, context, |rounds, context| {
            let mut records = Comparison::new(rounds)?.records(names, context)?;
            records.extend(totals(&records)?);
            Ok(records)
        })
    }

    /// Judges rounds in which each server had its own plan: there are no ratios.
    pub(super) fn apart(
        label: String,
        rounds: Rounds,
        names: &[Naming],
        context: &Context,
    ) -> Result<Self, CliError> {
        Self::judged(label, rounds, context, |rounds, context| {
            let of_server = |(rounds, naming): (&Vec<Outcome>, _)| records(rounds, naming, context);
            let all: Vec<_> = rounds.iter().zip(names).map(of_server).collect::<Result<_, _>>()?;
            Ok(all.concat())
        })
    }

    pub(super) fn judged(
        label: String,
        rounds: Rounds,
        context: &Context,
        records: impl FnOnce(Vec<Vec<Outcome>>, &Context) -> Result<Vec<Record>, CliError>,
    ) -> Result<Self, CliError> {
        let mut scenario = Self { label, rounds, records: Vec::new(), notes: Vec::new() };
        if scenario.verdict() != Verdict::Invalid {
            let mut context = context.clone();
            let repeated = scenario.rounds.repeated.to_string();
            context.conditions.insert("rounds_repeated".to_owned(), repeated);
            scenario.records = records(scenario.rounds.outcomes.clone(), &context)?;
        }
        Ok(scenario)
    }

    /// Returns the worst verdict of the scenario's runs.
    pub(in crate::verbs) fn verdict(&self) -> Verdict {
        if self.rounds.broken.is_some() {
            return Verdict::Invalid;
        }
        self.outcomes().map(|outcome| outcome.verdict).max().unwrap_or(Verdict::Invalid)
    }

    fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.rounds.outcomes.iter().flatten()
    }

    /// Returns the verdict, its reasons, and the counts of client and server.
    pub(in crate::verbs) fn verdict_text(&self) -> String {
        let mut text = self.judgement();
        for of_server in &self.rounds.outcomes {
            text += &counts(of_server);
            text += &times::resumed_lines(of_server);
            text += &times::lines(of_server);
        }
        text
    }

    /// Returns the verdict and its reasons.
    pub(super) fn judgement(&self) -> String {
        let mut text = format!("{}: {}", self.label, self.verdict());
        if self.rounds.repeated > 0 {
            let times = self.rounds.repeated;
            text += &format!("; runs repeated because the rate was not steady: {times}");
        }
        text = wrapped(&text);
        if let Some(why) = &self.rounds.broken {
            text += &wrapped(&format!("- {why}"));
        }
        text += &findings(self.outcomes().flat_map(named(|outcome| &outcome.reasons)), "");
        text += &findings(self.outcomes().flat_map(named(|outcome| &outcome.doubts)), "doubtful: ");
        text
    }
}

/// Returns findings with the name of their server.
fn named(of: fn(&Outcome) -> &[Finding]) -> impl Fn(&Outcome) -> Vec<(&str, &Finding)> {
    move |outcome| of(outcome).iter().map(|finding| (outcome.server.as_str(), finding)).collect()
}

/// Returns a line for each kind of finding and server, with the number of further runs with the
/// same finding.
fn findings<'a>(all: impl Iterator<Item = (&'a str, &'a Finding)>, how: &str) -> String {
    let mut kinds: Vec<(&str, &Finding, usize)> = Vec::new();
    for (server, finding) in all {
        let same = |(name, known, _): &&mut (&str, &Finding, usize)| {
            *name == server && known.is_like(finding)
        };
        match kinds.iter_mut().find(same) {
            Some((.., more)) => *more += 1,
            None => kinds.push((server, finding, 0)),
        }
    }
    let line = |(server, finding, more): (&str, &Finding, usize)| {
        let more = if more > 0 { format!(" (and in {more} more)") } else { String::new() };
        wrapped(&format!("- {how}{server}: {finding}{more}"))
    };
    kinds.into_iter().map(line).collect()
}

fn counts(rounds: &[Outcome]) -> String {
    let Some(first) = rounds.first() else { return String::new() };
    let sum = |of: fn(&Outcome) -> u64| rounds.iter().map(of).sum::<u64>();
    let mut text = format!(
        "- {}: runs: {}; the client counted {} handshakes, {} sessions, {} failures",
        &first.server,
        rounds.len(),
        sum(|outcome| outcome.whole.confirmed),
        sum(|outcome| outcome.whole.transactions),
        sum(|outcome| outcome.whole.failed())
    );
    let seen: Option<Vec<_>> = rounds.iter().map(|outcome| outcome.seen).collect();
    text += &match seen {
        Some(seen) => format!(
            "; the server's log has {} handshakes, {} of them resumed, and {} responses",
            seen.iter().map(|seen| seen.handshakes).sum::<u64>(),
            seen.iter().map(|seen| seen.resumed).sum::<u64>(),
            seen.iter().map(|seen| seen.requests).sum::<u64>()
        ),
        None => "; no server log was read: give --log to confirm the client's counts".to_owned(),
    };
    let retries = sum(|outcome| outcome.whole.hello_retries);
    if retries > 0 {
        text += &format!("; the server asked for a second ClientHello in {retries} of them");
    }
    wrapped(&text)
}

/// Returns the server's CPU time of a session in cycles, as in rung 3; there are no records if the
/// clock rate is unknown.
fn totals(records: &[Record]) -> Result<Vec<Record>, CliError> {
    let total = |record: &Record| {
        let clock = record.machine.core_clock_hz?;
        let is_cpu = record.quantity == word::SERVER_CPU_NS_PER_SESSION;
        // zero means that --pid names another process
        let is_some = record.estimate.point() > 0.0;
        (is_cpu && is_some).then(|| Ok(measured_total(record, &clock)?))
    };
    records.iter().filter_map(total).collect()
}
