//! Limits above which a run is invalid or doubtful.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Limits above which a run is invalid or doubtful. All are shares in [0, 1].
///
/// `trend` limits the drift above which a run is invalid. It is loose, for shared machines and
/// short runs. `trend_doubt`, the limit for doubts, is strict. Both limits are compared with the
/// near end of the drift's interval ([`Steady`](crate::Steady)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Failures divided by attempts; a run above this is invalid.
    pub errors: f64,
    /// Arrivals that began on the wrong side of a boundary of the sustained part, divided by all
    /// arrivals of the sustained part; a run above this is invalid.
    pub outside: f64,
    /// Drift of the rate during the sustained part, minus two standard errors; a run above this is
    /// invalid.
    pub trend: f64,
    /// The same drift, minus two standard errors; a run above this is doubtful.
    pub trend_doubt: f64,
    /// Standard deviation of the rate per bin divided by its mean; a run above this is doubtful.
    pub spread_doubt: f64,
    /// CPU time of the busiest client thread divided by elapsed time. A run above this is invalid,
    /// because the client limits the rate.
    pub client_cpu: f64,
    /// CPU time of the busiest client thread divided by elapsed time; a run above this is doubtful.
    pub client_cpu_doubt: f64,
    /// Share of time that a client thread waited for a core; a run above this is doubtful.
    pub client_wait_doubt: f64,
    /// Disagreement of the clocks divided by the time of the run; a run above this is invalid.
    pub clock: f64,
    /// Disagreement of the clocks divided by the time of the run; a run above this is doubtful.
    pub clock_doubt: f64,
    /// Retransmitted TCP segments divided by all sent segments; a run above this is invalid.
    pub retransmits: f64,
    /// Retransmitted TCP segments divided by all sent segments; a run above this is doubtful.
    pub retransmits_doubt: f64,
    /// Connections dropped by full listen queues, divided by attempts; a run above this is
    /// doubtful.
    pub listen_drops_doubt: f64,
    /// Sockets in `TIME_WAIT` divided by the ports to connect from; a run above this is doubtful.
    pub ports_doubt: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            errors: 0.001,
            outside: 0.01,
            trend: 0.1,
            trend_doubt: 0.02,
            spread_doubt: 0.05,
            client_cpu: 0.95,
            client_cpu_doubt: 0.8,
            client_wait_doubt: 0.2,
            clock: 0.01,
            clock_doubt: 0.001,
            retransmits: 0.05,
            retransmits_doubt: 0.001,
            listen_drops_doubt: 0.001,
            ports_doubt: 0.8,
        }
    }
}

impl Limits {
    /// Limits that judge only counts, not the steadiness of the rate or the client's load. Use them
    /// on busy machines, and for questions that counts answer.
    #[must_use]
    pub const fn of_counts() -> Self {
        Self {
            errors: 0.001,
            outside: 1.0,
            trend: 1.0,
            trend_doubt: 1.0,
            spread_doubt: 1.0,
            client_cpu: 1.0,
            client_cpu_doubt: 1.0,
            client_wait_doubt: 1.0,
            clock: 1.0,
            clock_doubt: 1.0,
            retransmits: 1.0,
            retransmits_doubt: 1.0,
            listen_drops_doubt: 1.0,
            ports_doubt: 1.0,
        }
    }

    pub(crate) fn are_shares(&self) -> bool {
        let Ok(Value::Object(limits)) = serde_json::to_value(self) else { return false };
        // NaN is null in JSON
        let is_share =
            |limit: &Value| limit.as_f64().is_some_and(|limit| (0.0..=1.0).contains(&limit));
        limits.values().all(is_share)
    }
}
