//! The table of `tollgate bench sensitivity`: CPU time of a session, with one change at a time.

use tollgate_record::{Estimate, Unit};

use crate::figure::number;
use crate::grid::{Column, fitting};
use crate::table::{Row, Table};

/// A server with one change.
#[derive(Clone, Debug)]
pub struct Change {
    /// The change.
    pub words: String,
    /// CPU time of all processes of the server for one session, in nanoseconds.
    pub cpu_ns: Estimate,
    /// The same divided by that of the baseline in the same round.
    pub relative: Estimate,
    /// Sessions per second.
    pub per_s: Estimate,
}

impl Change {
    /// Returns whether the interval of the ratio does not contain 1.
    #[must_use]
    pub fn has_effect(&self) -> bool {
        let (low, high) = self.relative.interval();
        low > 1.0 || high < 1.0
    }

    fn effect(&self) -> String {
        if !self.has_effect() {
            return "none shown".to_owned();
        }
        let percent = 100.0 * (self.relative.point() - 1.0);
        format!("{:.1} % {}", percent.abs(), if percent > 0.0 { "more" } else { "less" })
    }
}

/// Returns a row for each change; the first one is the baseline.
#[must_use]
pub fn table(changes: &[Change]) -> String {
    let columns = fitting([
        Column::words("one change", 36),
        Column::figures("sess/s", 7),
        Column::figures("CPU", 7),
        Column::figures("relative", 19),
        Column::figures("shows", 6),
        Column::figures("effect", 12),
    ]);
    let row = |(at, change): (usize, &Change)| {
        let (low, high) = change.relative.interval();
        let mut cells = vec![
            number(change.per_s.point(), Unit::PerSecond),
            number(change.cpu_ns.point(), Unit::Nanos),
        ];
        cells.extend(match at {
            0 => ["-", "-", "-"].map(str::to_owned),
            _ => [
                format!("{:.3} [{low:.3}-{high:.3}]", change.relative.point()),
                format!("{:.1} %", 50.0 * (high - low)),
                change.effect(),
            ],
        });
        Row::new(change.words.clone(), cells)
    };
    let notes = vec![
        "sess/s: sessions per second; CPU: of all processes of the server for one session, user and \
         system; relative: to the first row in the same round, the median with its 95 % interval; \
         shows: half the length of this interval, below which an effect would not be seen; effect: none \
         shown, if the interval contains 1"
            .to_owned(),
    ];
    Table { columns: columns.into(), rows: changes.iter().enumerate().map(row).collect(), notes }
        .text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_shown_only_if_the_interval_excludes_1() {
        let change = |low: f64, point: f64, high: f64| {
            let estimate = |point, interval| Estimate::new(point, interval, 6).expect("in order");
            Change {
                words: "x".to_owned(),
                cpu_ns: estimate(5e5, (5e5, 5e5)),
                relative: estimate(point, (low, high)),
                per_s: estimate(2e3, (2e3, 2e3)),
            }
        };
        for (of, effect) in [
            (change(0.97, 0.99, 1.01), "none shown"),
            (change(1.0, 1.02, 1.04), "none shown"),
            (change(1.01, 1.03, 1.05), "3.0 % more"),
            (change(0.7, 0.75, 0.8), "25.0 % less"),
        ] {
            assert_eq!(of.effect(), effect);
        }
        let text = table(&[change(1.0, 1.0, 1.0), change(0.97, 0.99, 1.01)]);
        assert!(text.contains("0.990 [0.970-1.010]  2.0 %  none shown"), "{text}");
    }
}
