//! Outcomes as records.

use std::collections::BTreeMap;

use tollgate_bench::median_estimate;
use tollgate_record::vocabulary as word;
use tollgate_record::{
    BadSubject, Estimate, Kind, Machine, Quantity, Record, Service, Subject, Topic, Unit,
};

use crate::compare::Comparison;
use crate::counts::Counts;
use crate::disclosure;
use crate::latency::Latency;
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::plan::{Exchange, Plan, Verify};
use crate::times::{ByResumption, SessionTimes};
use crate::verdict::Verdict;

/// Minimum number of rounds whose range contains the median with a probability of at least 95 %.
/// For six rounds the probability is 1 - 2^(1 - 6).
const ROUNDS_95: usize = 6;

/// Maximum number of doubts in a record.
const DOUBTS_MAX: usize = 8;

/// The name of a server in record subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// The server's key: `rsa-2048`.
    pub key: String,
    /// The engine that signs: `tollgate`, `openssl-3.0.19`.
    pub by: String,
    /// Further parameters of the subject.
    pub more: Vec<(&'static str, String)>,
}

/// The common part of the records of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The machine.
    pub machine: Machine,
    /// Versions of all software involved.
    pub versions: BTreeMap<String, String>,
    /// The commit of this project.
    pub commit: Option<String>,
    /// Conditions in addition to those of the plan.
    pub conditions: BTreeMap<String, String>,
}

impl Context {
    /// Returns a measured record; `more` are conditions in addition to the common ones.
    ///
    /// # Errors
    ///
    /// The quantity has an invalid name.
    pub fn measured(
        &self,
        subject: Subject,
        quantity: Quantity,
        (unit, estimate): (Unit, Estimate),
        more: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Record, BadSubject> {
        let mut conditions = self.conditions.clone();
        conditions.extend(more);
        let figure = (quantity, unit, estimate);
        Ok(Record {
            versions: self.versions.clone(),
            commit: self.commit.clone(),
            conditions,
            ..Record::new(subject, figure, Kind::Measured, self.machine.clone())
        })
    }
}

impl Naming {
    /// A server without further parameters.
    #[must_use]
    pub fn new(key: impl Into<String>, by: impl Into<String>) -> Self {
        Self { key: key.into(), by: by.into(), more: Vec::new() }
    }

    /// Returns the subject of a plan's records: `server/rsa-2048/tls13?by=tollgate&bytes=14336`. A
    /// plan without transfer has `exchange=handshake` instead of `bytes`. A plan with several sizes
    /// has their mean as `bytes`; `sizes` has the smallest, the median and the largest. An open
    /// loop, several requests on a connection and a share of plain transactions add further
    /// parameters.
    ///
    /// # Errors
    ///
    /// A name has characters that a subject cannot have.
    pub fn subject(&self, plan: &Plan) -> Result<Subject, BadSubject> {
        let (key, protocol) = (self.key.as_str().into(), plan.word().into());
        let subject = Subject::new(Topic::Server(Service::Tls { key, protocol }))?;
        let subject = plan.offer.subject(subject)?;
        let mut subject = subject.with(word::BY, &self.by)?;
        for (name, value) in &self.more {
            subject = subject.with(name, value)?;
        }
        let subject = match &plan.exchange {
            Exchange::Get { bytes, .. } => subject.with(word::BYTES, bytes),
            Exchange::Sizes(sizes) => {
                let span = sizes.span().map(|bytes| bytes.to_string()).join("-");
                subject.with(word::BYTES, format!("{:.0}", sizes.mean()))?.with(word::SIZES, span)
            }
            Exchange::HandshakeOnly => subject.with(word::EXCHANGE, word::HANDSHAKE),
        }?;
        disclosure::subject(plan, subject)
    }
}

/// Returns the records of a server's rounds; empty if one of the rounds is invalid.
///
/// The quantities are `sessions_per_s`, `server_cpu_ns_per_session`, `client_cpu_ns_per_session`,
/// and the quantiles `_p50`, `_p90` and `_p99` of `connect_ns`, `handshake_ns` and `transaction_ns`
/// ([`Outcome::connect`], [`Outcome::handshake`], [`Outcome::transaction`]). With several rounds, a
/// figure is the median with its bootstrap interval. With one round, the interval of the rate comes
/// from its bins, and the other figures have no interval.
///
/// # Errors
///
/// A name has characters that a subject cannot have.
pub fn records(
    rounds: &[Outcome],
    naming: &Naming,
    context: &Context,
) -> Result<Vec<Record>, BadSubject> {
    let Some(first) = rounds.first() else {
        return Ok(Vec::new());
    };
    if rounds.iter().any(|outcome| outcome.verdict == Verdict::Invalid) {
        return Ok(Vec::new());
    }
    let subject = naming.subject(&first.plan)?;
    let rate = match rounds {
        [one] => one.sessions_per_s_by_bin().and_then(|bins| around(one.sessions_per_s()?, &bins)),
        _ => median(rounds, Outcome::sessions_per_s),
    };
    let nanos = |quantity, figure: fn(&Outcome) -> Option<f64>| {
        (quantity, Unit::Nanos, median(rounds, figure))
    };
    let times = |names, of: fn(&Outcome) -> Option<&Latency>| {
        quantiles(names, rounds.iter().map(of).collect())
    };
    let mut figures = vec![
        (word::SESSIONS_PER_S, Unit::PerSecond, rate),
        nanos(word::SERVER_CPU_NS_PER_SESSION, Outcome::server_cpu_ns_per_session),
        nanos(word::CLIENT_CPU_NS_PER_SESSION, Outcome::client_cpu_ns_per_session),
        (word::OPERATIONS_PER_BATCH, Unit::Count, median(rounds, Outcome::operations_per_batch)),
    ];
    figures.extend(times(word::CONNECT_NS, Outcome::connect));
    figures.extend(times(word::HANDSHAKE_NS, Outcome::handshake));
    figures.extend(times(word::TRANSACTION_NS, Outcome::transaction));
    let mut all = of_figures(rounds, &subject, context, figures)?;
    all.extend(of_kinds(rounds, &subject, context)?);
    Ok(all)
}

/// Returns separate records of full and resumed sessions, if some are resumed: `sessions_per_s` and
/// the quantiles of `handshake_ns`, with the parameter `sessions`.
fn of_kinds(
    rounds: &[Outcome],
    subject: &Subject,
    context: &Context,
) -> Result<Vec<Record>, BadSubject> {
    type Which = fn(&ByResumption) -> &SessionTimes;
    let by_resumption: [(&str, Which); 2] = [
        (word::FULL, |by_resumption| &by_resumption.full),
        (word::RESUMED, |by_resumption| &by_resumption.resumed),
    ];
    let mut all = Vec::new();
    for (name, which) in by_resumption {
        let subject = subject.clone().with(word::SESSIONS, name)?;
        #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
        let rate = median(rounds, |outcome| {
            let seconds = outcome.sustained.as_secs_f64();
            Some(which(outcome.by_resumption()?).transactions as f64 / seconds)
        });
        let handshakes = rounds.iter().map(|round| Some(&which(round.by_resumption()?).handshake));
        let times = quantiles(word::HANDSHAKE_NS, handshakes.collect());
        let figures = [(word::SESSIONS_PER_S, Unit::PerSecond, rate)].into_iter().chain(times);
        all.extend(of_figures(rounds, &subject, context, figures)?);
    }
    Ok(all)
}

impl Comparison {
    /// Returns the records of all servers, and the ratios of each server to all before it:
    /// `sessions_per_s_ratio` and `server_cpu_per_session_ratio`. The parameter `against` names the
    /// earlier server. `names` has one entry per server.
    ///
    /// # Errors
    ///
    /// A name has characters that a subject cannot have.
    ///
    /// # Panics
    ///
    /// If there are fewer servers than names.
    pub fn records(&self, names: &[Naming], context: &Context) -> Result<Vec<Record>, BadSubject> {
        let mut all = Vec::new();
        for (server, naming) in names.iter().enumerate() {
            let rounds = &self.outcomes[server];
            all.extend(records(rounds, naming, context)?);
            for (earlier, against) in names[..server].iter().enumerate() {
                let subject = naming.subject(&rounds[0].plan)?.with(word::AGAINST, &against.by)?;
                let ratios = [
                    (word::SESSIONS_PER_S_RATIO, Unit::Ratio, self.sessions_ratio(server, earlier)),
                    (word::SERVER_CPU_RATIO, Unit::Ratio, self.server_cpu_ratio(server, earlier)),
                ];
                all.extend(of_figures(rounds, &subject, context, ratios)?);
            }
        }
        Ok(all)
    }
}

/// A figure, if there is an estimate.
type Figure = (Quantity, Unit, Option<Estimate>);

/// Returns the records of the figures that have an estimate.
fn of_figures(
    rounds: &[Outcome],
    subject: &Subject,
    context: &Context,
    figures: impl IntoIterator<Item = Figure>,
) -> Result<Vec<Record>, BadSubject> {
    let (conditions, doubts) = (conditions(rounds), doubts(rounds));
    let record = |(quantity, unit, estimate): Figure| {
        let figure = (unit, estimate?);
        let record = context.measured(subject.clone(), quantity, figure, conditions.clone());
        Some(record.map(|record| Record { doubts: doubts.clone(), ..record }))
    };
    figures.into_iter().filter_map(record).collect()
}

/// Returns the quantiles that records have, from the times of each round, as medians over the
/// rounds. A quantile is `None` if a round does not have it.
fn quantiles(names: [Quantity; 3], rounds: Option<Vec<&Latency>>) -> [Figure; 3] {
    let estimate = |q| {
        #[allow(clippy::cast_precision_loss, reason = "at most 100 s, in nanoseconds: 10^11")]
        let quantile = |times: &&Latency| times.quantile_ns(q).map(|ns| ns as f64);
        median_estimate(&rounds.as_ref()?.iter().map(quantile).collect::<Option<Vec<f64>>>()?)
    };
    let [p50, p90, p99] = names;
    [(p50, 0.5), (p90, 0.9), (p99, 0.99)].map(|(name, q)| (name, Unit::Nanos, estimate(q)))
}

fn median(rounds: &[Outcome], figure: impl Fn(&Outcome) -> Option<f64>) -> Option<Estimate> {
    median_estimate(&rounds.iter().map(figure).collect::<Option<Vec<f64>>>()?)
}

/// Returns the mean of a run, with the interval of the median of its bins. The interval is extended
/// to the mean, because the mean is exact, and a short run has uneven bins.
fn around(mean: f64, bins: &[f64]) -> Option<Estimate> {
    let bins = median_estimate(bins)?;
    let (low, high) = bins.interval();
    Estimate::new(mean, (low.min(mean), high.max(mean)), bins.samples()).ok()
}

/// Returns the doubts of all rounds, each doubt once. Their number is limited, because a record is
/// one line.
fn doubts(rounds: &[Outcome]) -> Vec<String> {
    let mut doubts = Vec::new();
    if (2..ROUNDS_95).contains(&rounds.len()) {
        doubts.push(format!("of {} rounds, an interval holds less than 95 %", rounds.len()));
    }
    for doubt in rounds.iter().flat_map(|outcome| &outcome.doubts).map(ToString::to_string) {
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    let more = doubts.len().saturating_sub(DOUBTS_MAX);
    doubts.truncate(DOUBTS_MAX);
    doubts.extend((more > 0).then(|| format!("and {more} more")));
    doubts
}

/// Returns the conditions of the records: the plan's hash and policies.
fn conditions(rounds: &[Outcome]) -> BTreeMap<String, String> {
    let plan = &rounds[0].plan;
    let verify = match plan.verify {
        Verify::Always => "always".to_owned(),
        Verify::Never => "never".to_owned(),
        Verify::Sample { one_in } => format!("one in {one_in}"),
    };
    let count = |of: fn(&Counts) -> u64| rounds.iter().map(|round| of(&round.whole)).sum::<u64>();
    let (verified, done) = (count(|of| of.signatures_verified), count(|of| of.client_done));
    let mut verdicts: Vec<_> = rounds.iter().map(|outcome| outcome.verdict).collect();
    verdicts.sort_unstable();
    let mut conditions = BTreeMap::from([
        ("client_key_share".to_owned(), plan.key_share.word().to_owned()),
        ("client_verified".to_owned(), format!("{verified} of {done} handshakes")),
        ("client_verify".to_owned(), verify),
        ("close".to_owned(), plan.close.word().to_owned()),
        (word::CONNECTIONS.to_owned(), plan.connections.to_string()),
        ("plan".to_owned(), plan.hash()),
        ("groups".to_owned(), disclosure::groups(rounds)),
        ("resumption".to_owned(), disclosure::resumption(rounds)),
        ("rounds".to_owned(), rounds.len().to_string()),
        ("sustain_ms".to_owned(), plan.sustain_ms.to_string()),
        ("threads".to_owned(), plan.threads.to_string()),
        ("verdict".to_owned(), verdicts.last().map(ToString::to_string).unwrap_or_default()),
        ("warm_up_ms".to_owned(), plan.warm_up_ms.to_string()),
    ]);
    conditions.extend(disclosure::conditions(plan));
    let limits = || serde_json::to_string(&plan.limits).unwrap_or_default();
    let optional = [
        ("limits", (plan.limits != Limits::default()).then(limits)),
        ("request", (!plan.request.is_default()).then(|| plan.request.to_string())),
        ("transactions", plan.transactions.map(|transactions| transactions.to_string())),
    ];
    conditions.extend(optional.into_iter().filter_map(|(name, value)| Some((name.into(), value?))));
    conditions
}
