//! The meaning of a change: faster, slower, or not proven.

use core::fmt;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Unit};

use super::change::Change;
use super::drift::Moved;
use super::side::Figure;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Proven better than on the first side.
    Faster,
    Slower,
    /// Proven larger; neither direction is better.
    More,
    /// Proven smaller; neither direction is better.
    Less,
    Same,
    /// The interval, widened by the machine's drift, contains 1.
    Unproven,
    /// A yardstick: its code did not change. The machine caused the difference.
    Yardstick,
}

/// The better direction of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
    Unknown,
}

impl Better {
    pub(super) fn of(figure: &Figure) -> Self {
        match (figure.unit, figure.quantity) {
            (Unit::PerSecond | Unit::PerCycle, _) => Self::Higher,
            (Unit::Cycles | Unit::Nanos, _) => Self::Lower,
            (_, word::SERVER_CPU_RATIO) => Self::Lower,
            (
                _,
                word::OPERATIONS_PER_JOULE
                | word::TIMES_AS_FAST
                | word::SESSIONS_PER_S_RATIO
                | word::OPERATIONS_PER_S_RATIO,
            ) => Self::Higher,
            (_, word::RESPONSE_SERVICES_P99) => Self::Lower,
            _ => Self::Unknown,
        }
    }
}

/// Returns whether a figure compares two contenders within one run. The machine's drift between
/// runs does not affect such a figure.
pub(super) fn is_ratio(figure: &Figure) -> bool {
    figure.unit == Unit::Ratio
}

/// Returns the answer to a change; `moved` is the possible drift of the machine for this figure.
pub(super) fn answer(figure: &Figure, change: &Change, moved: Moved) -> Answer {
    let machine =
        if is_ratio(figure) || change.basis.knows_the_machine() { Moved::NOT } else { moved };
    let Some((low, high)) = beyond(&change.ratio, machine).filter(|_| change.basis.is_enough())
    else {
        return Answer::Unproven;
    };
    let better = Better::of(figure);
    match (low > 1.0, high < 1.0) {
        _ if low == 1.0 && high == 1.0 => Answer::Same,
        (false, false) => Answer::Unproven,
        (up, _) => match better {
            Better::Unknown if up => Answer::More,
            Better::Unknown => Answer::Less,
            _ if up == (better == Better::Higher) => Answer::Faster,
            _ => Answer::Slower,
        },
    }
}

/// Returns the part of the interval beyond the machine's drift.
fn beyond(ratio: &Estimate, machine: Moved) -> Option<(f64, f64)> {
    let (low, high) = ratio.interval();
    let (low, high) = (low / machine.most, high / machine.least);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

impl Answer {
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::More => "more",
            Self::Less => "less",
            Self::Same => "same",
            Self::Unproven => "no change proven",
            Self::Yardstick => "yardstick",
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unproven => "unproven",
            other => other.word(),
        })
    }
}

#[cfg(test)]
mod tests {
    use tollgate_record::Quantity;

    use super::*;
    use crate::verbs::compare::change::Basis;
    use crate::verbs::compare::tests::figure;

    fn answered(quantity: Quantity, unit: Unit, interval: (f64, f64), moved: Moved) -> Answer {
        let ratio = Estimate::new(f64::midpoint(interval.0, interval.1), interval, 9).unwrap();
        answer(
            &figure("server/x", quantity.as_str(), unit),
            &Change { ratio, basis: Basis::Runs(9) },
            moved,
        )
    }

    #[test]
    fn rates_and_times_are_better_in_opposite_ways() {
        let still = Moved::NOT;
        let up = (1.02, 1.04);
        assert_eq!(answered(word::SESSIONS_PER_S, Unit::PerSecond, up, still), Answer::Faster);
        assert_eq!(answered(word::NS_PER_OPERATION, Unit::Nanos, up, still), Answer::Slower);
        assert_eq!(answered(word::SERVER_CPU_RATIO, Unit::Ratio, up, still), Answer::Slower);
        assert_eq!(answered(word::TIMES_AS_FAST, Unit::Ratio, up, still), Answer::Faster);
        assert_eq!(answered(word::MEAN_FILL, Unit::Count, up, still), Answer::More);
        let around = (0.99, 1.01);
        assert_eq!(
            answered(word::SESSIONS_PER_S, Unit::PerSecond, around, still),
            Answer::Unproven
        );
    }

    #[test]
    fn what_the_machine_may_have_done_proves_nothing_but_ratios_are_above_that() {
        let moved = Moved { least: 0.95, most: 1.05 };
        let up = (1.02, 1.04);
        assert_eq!(answered(word::SESSIONS_PER_S, Unit::PerSecond, up, moved), Answer::Unproven);
        assert_eq!(answered(word::SESSIONS_PER_S_RATIO, Unit::Ratio, up, moved), Answer::Faster);
        let far = (1.06, 1.10);
        assert_eq!(answered(word::SESSIONS_PER_S, Unit::PerSecond, far, moved), Answer::Faster);
        assert_eq!(
            answered(word::NS_PER_OPERATION, Unit::Nanos, (0.90, 0.94), moved),
            Answer::Faster
        );
    }

    #[test]
    fn too_few_values_prove_nothing() {
        let ratio = Estimate::new(3.0, (2.9, 3.1), 5).unwrap();
        let change = Change { ratio, basis: Basis::Pairs(5) };
        let figure = figure("server/x", "sessions_per_s", Unit::PerSecond);
        assert_eq!(answer(&figure, &change, Moved::NOT), Answer::Unproven);
    }
}
