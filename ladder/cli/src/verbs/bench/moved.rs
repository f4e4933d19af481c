//! A rate that is measured before a sweep and again after it.

use core::fmt;

use tollgate_record::PerSecond;

use crate::cells::or_dash;

/// A rate that moved during a sweep, in sessions per second: the figures between belong to no known
/// machine. `None` without a valid run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moved {
    before: Option<f64>,
    after: Option<f64>,
}

impl Moved {
    /// Returns `None` if the rate moved by at most the share `drift_max` of the first one.
    pub(super) fn judge(before: Option<f64>, after: Option<f64>, drift_max: f64) -> Option<Self> {
        let drift = before.zip(after).map(|(before, after)| (after / before - 1.0).abs());
        let is_steady = drift.is_some_and(|drift| drift <= drift_max);
        (!is_steady).then_some(Self { before, after })
    }
}

impl fmt::Display for Moved {
    /// `1.00k/s before, 880/s after, which --drift-max forbids`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |rate| or_dash(rate, |rate| PerSecond::new(rate).to_string());
        let (before, after) = (rate(self.before), rate(self.after));
        write!(f, "{before} before, {after} after, which --drift-max forbids")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_may_move_by_the_limit_in_either_direction() {
        let judged = |after| Moved::judge(Some(1000.0), Some(after), 0.1);
        for after in [901.0, 1000.0, 1099.0] {
            assert_eq!(judged(after), None, "{after}");
        }
        for (after, words) in [(899.0, "1.00k/s before, 899/s after"), (1101.0, "1.10k/s after")] {
            let told = judged(after).map(|moved| moved.to_string()).unwrap_or_default();
            assert!(told.contains(words), "{after}: {told}");
        }
    }

    #[test]
    fn a_rate_that_is_unknown_is_not_steady() {
        for (before, after) in [(None, Some(1.0)), (Some(1.0), None), (None, None)] {
            assert!(Moved::judge(before, after, 1.0).is_some(), "{before:?} {after:?}");
        }
    }
}
