//! An axis from zero to a round number.

use tollgate_record::Unit;

use crate::figure::number;

/// The steps of an axis with round labels, as multiples of a power of ten.
const STEPS: [f64; 5] = [1.0, 2.0, 2.5, 5.0, 10.0];

/// Maximum number of steps of an axis.
const STEPS_MAX: f64 = 4.0;

/// The largest figure that is drawn. Larger figures are drawn like this one, because records may
/// contain any number.
const LARGEST: f64 = 1e290;

/// A scale from zero to the last tick. No figure is above the last tick.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    step: f64,
    steps: u32,
}

impl Scale {
    /// Creates a scale for these figures; negative figures and NaN are ignored.
    pub(super) fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let is_drawn = |figure: &f64| figure.is_finite() && *figure > 0.0;
        let largest = figures.into_iter().filter(is_drawn).fold(0.0, f64::max).min(LARGEST);
        let rough = largest / STEPS_MAX;
        let power = 10_f64.powf(rough.log10().floor());
        if !(power.is_finite() && power > 0.0) {
            return Self { step: 1.0, steps: 1 };
        }
        let step = STEPS.iter().map(|step| step * power).find(|step| *step >= 0.999_999 * rough);
        let step = step.unwrap_or(10.0 * power);
        let steps = (1..=4_u32).find(|count| f64::from(*count) * step >= 0.999_999 * largest);
        Self { step, steps: steps.unwrap_or(4) }
    }

    /// Returns the figure at the end of the axis.
    pub(super) fn top(&self) -> f64 {
        f64::from(self.steps) * self.step
    }

    /// Returns the position of a figure in percent of the axis, within 0 to 100.
    pub(super) fn at(&self, figure: f64) -> f64 {
        let share = 100.0 * figure / self.top();
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 100.0) }
    }

    /// Returns every tick: its position in percent, and its label.
    pub(super) fn ticks(&self, unit: Unit) -> Vec<(f64, String)> {
        let tick = |count: u32| {
            let figure = f64::from(count) * self.step;
            (100.0 * f64::from(count) / f64::from(self.steps), label(figure, unit))
        };
        (0..=self.steps).map(tick).collect()
    }

    /// Returns the ticks of a horizontal axis: the last label ends in `suffix`.
    pub(super) fn ticks_in(&self, unit: Unit, suffix: &str) -> Vec<(f64, String)> {
        let mut ticks = self.ticks(unit);
        if let Some((_, label)) = ticks.last_mut() {
            *label += suffix;
        }
        ticks
    }
}

/// Returns the shortest label: `0`, `500k`, `1.5M`.
fn label(figure: f64, unit: Unit) -> String {
    if figure == 0.0 {
        return "0".to_owned();
    }
    let text = number(figure, unit);
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, tail) = text.split_at(end);
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    format!("{digits}{tail}")
}

/// Formats a length in percent for SVG.
pub(super) fn percent(share: f64) -> String {
    format!("{:.2}%", share + 0.0) // turns -0 into 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_the_largest_figure_fits() {
        let labels = |largest| -> Vec<String> {
            Scale::of([largest]).ticks(Unit::Cycles).into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(labels(1.61e6), ["0", "500k", "1M", "1.5M", "2M"]);
        assert_eq!(labels(1000.0), ["0", "250", "500", "750", "1k"]);
        assert_eq!(labels(0.0), ["0", "1"]);
        for largest in [1e-300, 0.3, 7.0, 99.0, 123_456.0, 1e300, f64::MAX, f64::NAN, -4.0] {
            let scale = Scale::of([largest]);
            assert!(scale.top().is_finite() && scale.top() > 0.0, "{largest}");
            assert!((0.0..=100.0).contains(&scale.at(largest)), "{largest}");
            assert!((1..=4).contains(&scale.steps), "{largest}");
        }
        assert!((Scale::of([1.61e6]).at(1.61e6) - 80.5).abs() < 1e-9);
    }
}
