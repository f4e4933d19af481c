//! The machine's drift between two runs, from figures of code that did not change.

use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Quantity, Record, Unit};

use super::side::Figure;

/// The range of factors by which figures of one quantity may have changed without a change of code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moved {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Moved {
    pub(super) const NOT: Self = Self { least: 1.0, most: 1.0 };

    /// Creates a drift of up to `share` in either direction.
    pub(super) fn by(share: f64) -> Self {
        Self { least: 1.0 / (1.0 + share), most: 1.0 + share }
    }
}

pub(super) struct Drift {
    yardsticks: Vec<(Area, Quantity, f64)>,
    otherwise: Moved,
}

impl Drift {
    /// Collects the ratios of the yardsticks. Figures without a yardstick are assumed to drift by
    /// up to `share`.
    pub(super) fn of<'a>(yardsticks: impl Iterator<Item = (&'a Figure, f64)>, share: f64) -> Self {
        let entry = |(figure, ratio)| {
            let (rung, quantity) = place(figure);
            (rung, quantity, ratio)
        };
        Self { yardsticks: yardsticks.map(entry).collect(), otherwise: Moved::by(share) }
    }

    /// Returns the possible drift of a figure. The second value is true if the drift was derived
    /// from yardsticks.
    pub(super) fn moved(&self, figure: &Figure) -> (Moved, bool) {
        let (rung, quantity) = place(figure);
        let known = self.yardsticks.iter().filter(|(r, q, _)| *r == rung && *q == quantity);
        let ratios: Vec<f64> = known.map(|(.., ratio)| *ratio).collect();
        if ratios.is_empty() {
            return (self.otherwise, false);
        }
        // The range always includes 1.0, which is no drift.
        let least = ratios.iter().copied().fold(1.0, f64::min);
        (Moved { least, most: ratios.iter().copied().fold(1.0, f64::max) }, true)
    }
}

fn place(figure: &Figure) -> (Area, Quantity) {
    (figure.subject.area(), figure.quantity)
}

/// Returns whether a figure measures third-party code of the same version on both sides.
pub(super) fn is_yardstick(figure: &Figure, before: &Record, after: &Record) -> bool {
    let by = figure.subject.parameter(word::BY).unwrap_or("tollgate");
    let is_of_others = !by.contains("tollgate") && by != word::ENGINE && by != "external";
    let is_timed = matches!(figure.unit, Unit::PerSecond | Unit::Nanos | Unit::Cycles);
    let versions = |record: &Record| {
        let mut versions = record.versions.clone();
        // The versions of Tollgate and of the compiler do not affect third-party code.
        versions.retain(|name, _| name != "tollgate" && name != "rustc");
        versions
    };
    is_of_others && is_timed && versions(before) == versions(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::compare::tests::{figure, record};

    #[test]
    fn code_of_others_is_a_yardstick_while_its_version_stays() {
        let of = |by: &str| {
            let subject = format!("server/rsa-2048/tls13?by={by}");
            let figure = figure(&subject, "sessions_per_s", Unit::PerSecond);
            let (before, mut after) = (record(&subject, 1.0), record(&subject, 2.0));
            let same = is_yardstick(&figure, &before, &after);
            after.versions.insert("openssl".to_owned(), "4.0".to_owned());
            (same, is_yardstick(&figure, &before, &after))
        };
        assert_eq!(of("openssl"), (true, false));
        assert_eq!(of("nginx-openssl"), (true, false));
        assert_eq!(of("nginx-tollgate"), (false, false));
        assert_eq!(of("engine"), (false, false));
    }

    #[test]
    fn yardsticks_speak_for_their_rung_and_quantity() {
        let of = |subject, quantity| figure(subject, quantity, Unit::PerSecond);
        let stick = of("server/x?by=openssl", "sessions_per_s");
        let drift = Drift::of([(&stick, 0.9), (&stick, 0.95)].into_iter(), 0.05);
        let other = of("server/x?by=tollgate", "sessions_per_s");
        assert_eq!(drift.moved(&other), (Moved { least: 0.9, most: 1.0 }, true));
        let (moved, told) = drift.moved(&of("operation/x?by=tollgate", "operations_per_s"));
        assert_eq!((moved.most, told), (1.05, false));
    }
}
