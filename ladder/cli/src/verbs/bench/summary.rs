//! The figures of each server: `--fail-if` has conditions on them; and the histogram of response
//! times.

use core::fmt;
use core::str::FromStr;
use std::process::ExitCode;

use tollgate_load::{Latency, Outcome, duration};

use crate::cells::float;
use crate::error::CONDITION_HOLDS;
use crate::histogram::drawn;
use crate::output::say;

/// A metric and the limit that it must not cross.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    metric: Metric,
    is_above: bool,
    /// The limit in nanoseconds, in sessions per second, or as a share.
    limit: f64,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Metric {
    /// Returns the failed transactions as a share of all.
    Failures,
    /// A quantile of handshake times, in [0, 1].
    Handshake(f64),
    Rate,
    /// A quantile of transaction times, in [0, 1].
    Transaction(f64),
}

const USAGE: &str = "give METRIC<LIMIT or METRIC>LIMIT with pNN or handshake-pNN and a time as in \
                     50ms, rate and sessions per second, or failures and a share as in 0.1%";

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || USAGE.to_owned();
        let at = text.find(['<', '>']).ok_or_else(usage)?;
        let (metric, limit) = (text[..at].trim(), text[at + 1..].trim());
        let quantile = |word: &str| {
            let percent = word.strip_prefix('p')?.parse::<f64>().ok()?;
            (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
        };
        let metric = match metric {
            "failures" => Some(Metric::Failures),
            "rate" => Some(Metric::Rate),
            word => match word.strip_prefix("handshake-") {
                Some(word) => quantile(word).map(Metric::Handshake),
                None => quantile(word).map(Metric::Transaction),
            },
        };
        let metric = metric.ok_or_else(usage)?;
        let limit = match metric {
            Metric::Failures => match limit.strip_suffix('%') {
                Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
                None => limit.parse::<f64>().ok(),
            },
            Metric::Rate => limit.parse::<f64>().ok(),
            Metric::Handshake(_) | Metric::Transaction(_) => {
                duration(limit).map(|limit| limit.as_secs_f64() * 1e9)
            }
        };
        let limit = limit.filter(|limit| limit.is_finite() && *limit >= 0.0).ok_or_else(usage)?;
        let is_above = text[at..].starts_with('>');
        Ok(Self { metric, is_above, limit, text: text.to_owned() })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Returns the value as text if the condition holds, otherwise `None`. An unknown value is
    /// above every limit. A quantile is unknown if it includes transactions that never ended.
    fn holds(&self, of: impl FnOnce(Metric) -> Option<f64>) -> Option<String> {
        let value = of(self.metric);
        let holds = match (value, self.is_above) {
            (Some(value), true) => value > self.limit,
            (Some(value), false) => value < self.limit,
            (None, is_above) => is_above == !matches!(self.metric, Metric::Rate),
        };
        holds.then(|| match (value, self.metric) {
            (None, _) => "unknown".to_owned(),
            (Some(value), Metric::Failures) => format!("{:.3} %", 100.0 * value),
            (Some(value), Metric::Rate) => format!("{value:.0} per second"),
            (Some(value), _) => format!("{:.3} ms", value / 1e6),
        })
    }
}

/// The figures of one server in one scenario, over all its rounds.
#[derive(Clone, Debug)]
pub(super) struct ServerFigures {
    /// `rsa-2048 tls13`.
    scenario: String,
    server: String,
    /// The median of the rounds.
    sessions_per_s: Option<f64>,
    sessions: u64,
    failures: u64,
    transaction: Option<Latency>,
    handshake: Option<Latency>,
}

impl ServerFigures {
    /// Sums up the rounds of a server; `None` if there are none.
    pub(super) fn of(scenario: &str, rounds: &[Outcome]) -> Option<Self> {
        let first = rounds.first()?;
        let sum = |of: fn(&Outcome) -> u64| rounds.iter().map(of).sum::<u64>();
        let mut rates: Vec<f64> = rounds.iter().filter_map(Outcome::sessions_per_s).collect();
        rates.sort_by(f64::total_cmp);
        Some(Self {
            scenario: scenario.to_owned(),
            server: first.server.to_owned(),
            sessions_per_s: rates.get(rates.len() / 2).copied(),
            sessions: sum(|outcome| outcome.whole.transactions),
            failures: sum(|outcome| outcome.whole.failed()),
            transaction: Latency::sum(rounds.iter().filter_map(Outcome::transaction)),
            handshake: Latency::sum(rounds.iter().filter_map(Outcome::handshake)),
        })
    }

    /// Failed transactions as a share of all.
    fn failed_share(&self) -> f64 {
        float(self.failures) / float((self.failures + self.sessions).max(1))
    }

    /// Returns a figure of `--fail-if`; `None` if it is unknown.
    fn metric(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Failures => Some(self.failed_share()),
            Metric::Handshake(q) => quantile_ns(self.handshake.as_ref(), q),
            Metric::Rate => self.sessions_per_s,
            Metric::Transaction(q) => quantile_ns(self.transaction.as_ref(), q),
        }
    }
}

fn quantile_ns(times: Option<&Latency>, q: f64) -> Option<f64> {
    times?.quantile_ns(q).map(float)
}

/// Prints a line for each condition that holds, and returns exit code 3 if there is such a
/// condition.
pub(super) fn exit_code(conditions: &[Condition], all: &[ServerFigures]) -> Option<ExitCode> {
    let mut code = None;
    for condition in conditions {
        for figures in all {
            if let Some(value) = condition.holds(|metric| figures.metric(metric)) {
                let ServerFigures { scenario, server, .. } = figures;
                say(&format!("tollgate: --fail-if {condition}: {scenario}, {server}: {value}"));
                code = Some(ExitCode::from(CONDITION_HOLDS));
            }
        }
    }
    code
}

/// Draws a histogram of a scenario's response times, with a bar for each server in each row.
pub(super) fn histogram(label: &str, servers: &[ServerFigures]) -> String {
    let all: Vec<_> = servers
        .iter()
        .filter_map(|figures| {
            let recorded = figures.transaction.as_ref()?.histogram().iter_recorded();
            let counts = recorded.map(|step| (step.value_iterated_to(), step.count_at_value()));
            Some((figures.server.clone(), counts.collect()))
        })
        .collect();
    drawn(&format!("{label}, times of transactions:"), &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_parsed() {
        let parsed =
            |text: &str| text.parse::<Condition>().map(|c| (c.metric, c.is_above, c.limit));
        assert_eq!(parsed("p99>50ms"), Ok((Metric::Transaction(0.99), true, 5e7)));
        assert_eq!(parsed("handshake-p50 > 2ms"), Ok((Metric::Handshake(0.5), true, 2e6)));
        assert_eq!(parsed("rate<1000"), Ok((Metric::Rate, false, 1000.0)));
        assert_eq!(parsed("failures>0.1%"), Ok((Metric::Failures, true, 0.001)));
        for wrong in ["p99", "p99>50", "p0>1ms", "p101>1ms", "rate<x", "failures>-1", "load>1"] {
            assert!(parsed(wrong).unwrap_err().contains("METRIC"), "{wrong}");
        }
    }

    #[test]
    fn conditions_are_judged() {
        let value = |metric| match metric {
            Metric::Rate => Some(900.0),
            Metric::Failures => Some(0.0),
            Metric::Handshake(_) | Metric::Transaction(_) => None,
        };
        let holds = |text: &str| text.parse::<Condition>().unwrap().holds(value);
        assert_eq!(holds("rate<1000").as_deref(), Some("900 per second"));
        assert_eq!(holds("rate>1000"), None);
        // without any times a quantile is unknown, and exceeds every limit
        assert_eq!(holds("p99>50ms").as_deref(), Some("unknown"));
        assert_eq!((holds("p99<50ms"), holds("failures>0")), (None, None));
    }
}
