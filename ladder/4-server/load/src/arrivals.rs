//! Arrivals of transactions.

use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Closed or open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Each connection of the plan begins a new transaction when the previous one has ended,
    /// after a pause. A slow server gets fewer requests. Times are service times, without
    /// correction.
    Closed {
        /// The pause between transactions of a connection.
        think: Think,
    },
    /// Transactions arrive by the clock, independently of the server. Times count from the
    /// arrival. The plan's connections are a limit: an arrival without a free connection waits
    /// in a queue.
    Open {
        /// The pattern of arrivals.
        pattern: Pattern,
        /// Maximum length of the queue, over all threads; arrivals beyond it are dropped and
        /// counted.
        waiting_max: u32,
    },
}

/// The pause between two transactions of a connection (think time).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Think {
    /// No pause.
    None,
    /// A constant pause.
    Constant {
        /// The pause, in milliseconds.
        ms: f64,
    },
    /// Exponentially distributed.
    Exponential {
        /// The mean, in milliseconds.
        mean_ms: f64,
    },
}

/// Arrival times of an open loop, drawn from the plan's seed. `per_s` is the mean rate of all
/// threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Equal gaps.
    Constant {
        /// Arrivals per second.
        per_s: f64,
    },
    /// Independent arrivals: the gaps are exponentially distributed.
    Poisson {
        /// Arrivals per second.
        per_s: f64,
    },
    /// Gamma-distributed gaps: burstier or more even than Poisson.
    Gamma {
        /// Arrivals per second.
        per_s: f64,
        /// The variance of the gaps divided by the square of their mean, within
        /// [`Pattern::DISPERSIONS`]. It is 1 for Poisson arrivals, and more for bursts. Over long
        /// intervals it is also the variance of the number of arrivals divided by its mean (W. L.
        /// Smith, *Renewal theory and its ramifications*, J. R. Stat. Soc. B 20, 1958).
        dispersion: f64,
    },
}

impl Arrivals {
    /// Maximum of `waiting_max`.
    pub const WAITING_MAX: u32 = 1_000_000;

    /// Creates an open loop with a queue of 10,000.
    #[must_use]
    pub const fn open(pattern: Pattern) -> Self {
        Self::Open { pattern, waiting_max: 10_000 }
    }

    /// Returns whether this is an open loop.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Returns the violated rule, if any.
    pub(crate) fn broken_rule(&self) -> Option<&'static str> {
        match self {
            Self::Closed { think } => {
                let (Think::Constant { ms } | Think::Exponential { mean_ms: ms }) = *think else {
                    return None;
                };
                let ok = (0.0..=3_600_000.0).contains(&ms);
                (!ok).then_some("think times are 0 to 3600000 ms")
            }
            Self::Open { waiting_max, .. } if *waiting_max > Self::WAITING_MAX => {
                Some("waiting_max is at most 1000000")
            }
            Self::Open { pattern, .. } => pattern.broken_rule(),
        }
    }
}

impl Pattern {
    /// Maximum rate.
    pub const PER_S_MAX: f64 = 1e7;
    /// Range of the dispersion of gamma-distributed gaps. Below the range all gaps are equal; above
    /// it thousands of arrivals come at once.
    pub const DISPERSIONS: RangeInclusive<f64> = 0.01..=1000.0;

    /// Returns the name of the pattern in conditions of records and in flags.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Constant { .. } => "constant",
            Self::Poisson { .. } => "poisson",
            Self::Gamma { .. } => "gamma",
        }
    }

    /// Returns the mean arrivals per second.
    #[must_use]
    pub const fn per_s(&self) -> f64 {
        match *self {
            Self::Constant { per_s } | Self::Poisson { per_s } | Self::Gamma { per_s, .. } => per_s,
        }
    }

    /// Returns the same pattern at another rate.
    #[must_use]
    pub const fn at(&self, per_s: f64) -> Self {
        match *self {
            Self::Constant { .. } => Self::Constant { per_s },
            Self::Poisson { .. } => Self::Poisson { per_s },
            Self::Gamma { dispersion, .. } => Self::Gamma { per_s, dispersion },
        }
    }

    fn broken_rule(&self) -> Option<&'static str> {
        // at a lower rate a run would see no arrival
        if !(0.001..=Self::PER_S_MAX).contains(&self.per_s()) {
            return Some("arrivals are 0.001 to 10000000 per second");
        }
        match *self {
            Self::Gamma { dispersion, .. } if !Self::DISPERSIONS.contains(&dispersion) => {
                Some("the dispersion of gamma-distributed gaps is 0.01 to 1000")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused() {
        let refused = |pattern: Pattern| {
            assert!(Arrivals::open(pattern).broken_rule().is_some());
        };
        refused(Pattern::Constant { per_s: 0.0 });
        refused(Pattern::Poisson { per_s: f64::NAN });
        refused(Pattern::Poisson { per_s: 1e8 });
        refused(Pattern::Gamma { per_s: 1.0, dispersion: 0.0 });
        refused(Pattern::Gamma { per_s: 1.0, dispersion: f64::NAN });
        let think = |think| Arrivals::Closed { think }.broken_rule();
        assert!(think(Think::Constant { ms: -1.0 }).is_some());
        assert!(think(Think::Exponential { mean_ms: f64::NAN }).is_some());
        assert_eq!(think(Think::None), None);
        let line = Arrivals::Open {
            pattern: Pattern::Constant { per_s: 1.0 },
            waiting_max: Arrivals::WAITING_MAX + 1,
        };
        assert!(line.broken_rule().is_some());
    }

    #[test]
    fn words_equal_the_json() {
        let patterns = [
            Pattern::Constant { per_s: 1.0 },
            Pattern::Poisson { per_s: 1.0 },
            Pattern::Gamma { per_s: 1.0, dispersion: 2.5 },
        ];
        for pattern in patterns {
            let json = serde_json::to_string(&Arrivals::open(pattern)).unwrap();
            assert!(json.contains(&format!("\"{}\":", pattern.word())), "{json}");
            let again: Arrivals = serde_json::from_str(&json).unwrap();
            assert_eq!(again, Arrivals::open(pattern));
        }
    }
}
