//! Objectives of a search.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A quantile of transaction times with its limit: `p99=20ms`.
///
/// ```
/// use tollgate_load::Objective;
///
/// let objective: Objective = "p99.9=1.5s".parse()?;
/// assert_eq!(objective.limit().as_millis(), 1500);
/// assert_eq!(objective.to_string(), "p99.9=1.5s");
/// assert!("p99".parse::<Objective>().is_err());
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Objective {
    percent: f64,
    limit: Duration,
}

const RULE: &str = "give a quantile and a time, as in p99=20ms: p1 to p99.99, 1us to 100s";

impl Objective {
    /// Returns the quantile in [0, 1].
    #[must_use]
    pub fn quantile(&self) -> f64 {
        self.percent / 100.0
    }

    /// Returns the limit.
    #[must_use]
    pub const fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the quantile's name: `p99`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("p{}", self.percent)
    }

    /// Returns the number of arrivals of which ten lie beyond the quantile. The quantile of fewer
    /// arrivals is not significant.
    pub(crate) fn arrivals_min(&self) -> f64 {
        10.0 / (1.0 - self.quantile())
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.to_string()
    }
}

impl TryFrom<String> for Objective {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

impl FromStr for Objective {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (quantile, limit) = text.split_once('=').ok_or(RULE)?;
        let percent: f64 = quantile.strip_prefix('p').ok_or(RULE)?.parse().map_err(|_| RULE)?;
        let limit = duration(limit).ok_or(RULE)?;
        let limits = Duration::from_micros(1)..=Duration::from_secs(100);
        if !(1.0..=99.99).contains(&percent) || !limits.contains(&limit) {
            return Err(RULE);
        }
        Ok(Self { percent, limit })
    }
}

/// Reads a time with its unit: `20ms`, `1.5s`, `300us`.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    let at = text.find(char::is_alphabetic)?;
    let (number, unit) = text.split_at(at);
    let unit = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}={:?}", self.percent, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_objectives_are_read_back() {
        for text in ["p99=1us", "p50=1.5us", "p99.9=300us", "p1=20ms", "p99.99=100s"] {
            let objective: Objective = text.parse().unwrap();
            assert_eq!(objective.to_string().parse(), Ok(objective), "{text}");
        }
        assert_eq!(duration("2µs"), Some(Duration::from_micros(2)));
    }

    #[test]
    fn invalid_objectives_are_refused() {
        for text in
            ["", "99=20ms", "p0=20ms", "p100=20ms", "p99=20", "p99=-1ms", "p99=1h", "pNaN=1s"]
        {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
        let objective: Objective = "p99=20ms".parse().unwrap();
        assert_eq!(
            (objective.name().as_str(), objective.to_string().as_str()),
            ("p99", "p99=20ms")
        );
        assert!((objective.arrivals_min() - 1000.0).abs() < 1e-6);
    }
}
