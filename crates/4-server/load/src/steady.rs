//! Whether a rate stood still while it was measured.

/// The shape of a series of counts per bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// How far a straight line through the counts rises from the first bin to the last, relative to
    /// their mean.
    pub trend: f64,
    /// The standard error of the trend.
    pub trend_error: f64,
    /// Standard deviation over mean.
    pub spread: f64,
    /// Whether some bin is empty though the mean is at least five.
    pub stalled: bool,
}

/// Fewer bins have no shape.
const BINS_MIN: usize = 6;

impl Steady {
    /// Of counts in bins of equal width; `None` of too few, or of nothing but zeros.
    pub(crate) fn of(bins: &[u64]) -> Option<Self> {
        if bins.len() < BINS_MIN {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "counts in a bin are far below 2^52")]
        let counts: Vec<f64> = bins.iter().map(|&count| count as f64).collect();
        let n: f64 = counts.iter().map(|_| 1.0).sum();
        let mean = counts.iter().sum::<f64>() / n;
        if mean <= 0.0 {
            return None;
        }
        // least squares over x = 0, 1, ..., n - 1
        let middle = (n - 1.0) / 2.0;
        let xs = || core::iter::successors(Some(-middle), |x| Some(x + 1.0));
        let sxx: f64 = xs().zip(&counts).map(|(x, _)| x * x).sum();
        let slope = xs().zip(&counts).map(|(x, y)| x * (y - mean)).sum::<f64>() / sxx;
        let square = |value: f64| value * value;
        let rest: f64 = xs().zip(&counts).map(|(x, y)| square(y - mean - slope * x)).sum();
        let error = (rest / (n - 2.0) / sxx).sqrt();
        let variance = counts.iter().map(|y| square(y - mean)).sum::<f64>() / (n - 1.0);
        Some(Self {
            trend: slope * (n - 1.0) / mean,
            trend_error: error * (n - 1.0) / mean,
            spread: variance.sqrt() / mean,
            stalled: mean >= 5.0 && bins.contains(&0),
        })
    }

    /// Whether the trend is more than `limit`, and more than chance: three standard errors.
    pub(crate) fn drifts(&self, limit: f64) -> bool {
        self.trend.abs() > limit.max(3.0 * self.trend_error)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_trend_and_nothing_else() {
        // from 95 to 105: a tenth of the mean
        let line: Vec<u64> = (0..=10).map(|i| 95 + i).collect();
        let steady = Steady::of(&line).unwrap();
        assert!((steady.trend - 0.1).abs() < 1e-12 && steady.trend_error < 1e-9, "{steady:?}");
        assert!(steady.drifts(0.09) && !steady.drifts(0.11) && !steady.stalled);
        let flat = Steady::of(&[100; 20]).unwrap();
        assert_eq!((flat.trend, flat.spread), (0.0, 0.0));
    }

    #[test]
    fn noise_is_no_trend() {
        let noise = [90, 110, 95, 105, 104, 96, 91, 109, 97, 108];
        let steady = Steady::of(&noise).unwrap();
        assert!(!steady.drifts(0.02), "{steady:?}");
        assert!((0.07..0.09).contains(&steady.spread), "{steady:?}");
    }

    #[test]
    fn an_empty_bin_among_full_ones_is_a_stall() {
        assert!(Steady::of(&[50, 50, 0, 50, 50, 50]).unwrap().stalled);
        assert!(!Steady::of(&[1, 0, 1, 0, 1, 1]).unwrap().stalled, "few events leave gaps");
        assert_eq!(Steady::of(&[0; 10]), None);
        assert_eq!(Steady::of(&[7; 5]), None);
    }
}
