//! Limits above which a run is invalid.

use serde::{Deserialize, Serialize};

/// Limits above which a run is invalid, as shares in [0, 1]. Further limits are constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Failures divided by attempts.
    pub errors: f64,
    /// Drift of the rate during the sustained part, minus two standard errors. The default is
    /// loose, for shared machines and short runs; a doubt begins at 0.02.
    pub trend: f64,
    /// CPU time of the busiest client thread divided by elapsed time: above this limit the client
    /// limits the rate.
    pub client_cpu: f64,
    /// True if only counts are judged, not the steadiness of the rate, the arrivals or the machine.
    pub only_counts: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { errors: 0.001, trend: 0.1, client_cpu: 0.95, only_counts: false }
    }
}

impl Limits {
    /// Limits that judge only counts. Use them on busy machines, and for questions that counts
    /// answer.
    #[must_use]
    pub const fn of_counts() -> Self {
        Self { errors: 0.001, trend: 1.0, client_cpu: 1.0, only_counts: true }
    }

    /// Returns a limit that does not concern counts; 1 if only counts are judged.
    pub(crate) const fn shape(&self, limit: f64) -> f64 {
        if self.only_counts { 1.0 } else { limit }
    }

    pub(crate) fn are_shares(&self) -> bool {
        let limits = [self.errors, self.trend, self.client_cpu];
        limits.iter().all(|limit| (0.0..=1.0).contains(limit))
    }
}
