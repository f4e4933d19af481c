//! Steadiness of the rate during the measurement.

/// The shape of a series of counts per bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steady {
    /// Rise of the regression line from the first bin to the last, relative to the mean.
    pub(crate) trend: f64,
    /// Standard error of the trend. It is wider if neighbouring bins correlate: other load on the
    /// machine comes in waves, and a wave is not a trend.
    pub(crate) trend_error: f64,
    /// Standard deviation divided by mean.
    pub(crate) spread: f64,
    /// True if a bin is empty although the mean is at least twelve. By chance, this happens in one
    /// run in eight thousand.
    pub(crate) stalled: bool,
}

/// An empty bin is a stall if at least this number of transactions is expected in it.
const STALL_MEAN: f64 = 12.0;

/// Minimum number of bins.
const BINS_MIN: usize = 6;

impl Steady {
    /// Judges counts in bins of equal width; `None` if there are too few bins, or all are zero.
    pub(crate) fn new(bins: &[u64]) -> Option<Self> {
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
        // A warm-up is a curve, so the residuals of a fitted parabola are the noise. With centred x
        // the quadratic term does not change the slope.
        let bends = || xs().map(|x| square(x) - sxx / n);
        let sbb: f64 = bends().zip(&counts).map(|(b, _)| b * b).sum();
        let bend = bends().zip(&counts).map(|(b, y)| b * (y - mean)).sum::<f64>() / sbb;
        let line = xs().zip(bends()).map(|(x, b)| mean + slope * x + bend * b);
        let rests: Vec<f64> = line.zip(&counts).map(|(line, y)| y - line).collect();
        let rest: f64 = rests.iter().copied().map(square).sum();
        let error = (rest / (n - 3.0) / sxx).sqrt() * inflation(&rests);
        let variance = counts.iter().map(|y| square(y - mean)).sum::<f64>() / (n - 1.0);
        Some(Self {
            trend: slope * (n - 1.0) / mean,
            trend_error: error * (n - 1.0) / mean,
            spread: variance.sqrt() / mean,
            stalled: mean >= STALL_MEAN && bins.contains(&0),
        })
    }

    /// Returns the size of the trend, minus two standard errors. If the trend is too uncertain to
    /// exceed a limit by that, [`spread`](Self::spread) is large.
    pub(crate) fn drift(&self) -> f64 {
        self.trend.abs() - 2.0 * self.trend_error
    }
}

/// Returns the factor for the standard error of a slope if the residuals are autocorrelated, AR(1):
/// `sqrt((1 + r) / (1 - r))`. r is limited to 0 to 0.8: alternating bins do not make an estimate
/// more precise, and few bins can have a larger r by chance.
fn inflation(rests: &[f64]) -> f64 {
    let all: f64 = rests.iter().map(|rest| rest * rest).sum();
    let next: f64 = rests.iter().zip(&rests[1..]).map(|(a, b)| a * b).sum();
    let n: f64 = rests.iter().map(|_| 1.0).sum();
    if all <= 0.0 {
        return 1.0;
    }
    // residuals of a parabola underestimate the correlation by about (3 + 6 r) / n
    let r = ((next / all + 3.0 / n) / (1.0 - 6.0 / n).max(0.3)).clamp(0.0, 0.8);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_trend_and_nothing_else() {
        // from 95 to 105: a tenth of the mean
        let line: Vec<u64> = (0..=10).map(|i| 95 + i).collect();
        let steady = Steady::new(&line).unwrap();
        assert!((steady.trend - 0.1).abs() < 1e-12 && steady.trend_error < 1e-9, "{steady:?}");
        assert!((0.09..0.11).contains(&steady.drift()) && !steady.stalled);
        let flat = Steady::new(&[100; 20]).unwrap();
        assert_eq!((flat.trend, flat.spread), (0.0, 0.0));
    }

    #[test]
    fn noise_is_not_a_trend() {
        let noise = [90, 110, 95, 105, 104, 96, 91, 109, 97, 108];
        let steady = Steady::new(&noise).unwrap();
        assert!(steady.drift() <= 0.02, "{steady:?}");
        assert!((0.07..0.09).contains(&steady.spread), "{steady:?}");
    }

    /// Returns counts of about 1000 per bin, times `shape`, with noise as on a shared machine: its
    /// standard deviation is 60, and the correlation of neighbouring bins is 0.8.
    fn waves(rng: &mut fastrand::Rng, shape: impl Fn(u32) -> f64) -> Vec<u64> {
        let mut uniform = || 2.0 * 3f64.sqrt() * (rng.f64() - 0.5);
        let mut wave = uniform();
        let bin = |i| {
            wave = 0.8 * wave + 0.6 * uniform();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "near 1000")]
            let count = (1000.0 * shape(i) + 60.0 * wave) as u64;
            count
        };
        (0..20).map(bin).collect()
    }

    #[test]
    fn waves_seldom_count_as_drift_and_a_warm_up_does() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut drifting = |shape: fn(u32) -> f64| {
            let of = |_: &u32| Steady::new(&waves(&mut rng, shape)).unwrap().drift() > 0.1;
            (0..1000).filter(of).count()
        };
        let false_alarms = drifting(|_| 1.0);
        assert!(false_alarms < 60, "{false_alarms} of 1000 steady runs");
        let found = drifting(|i| 1.0 + f64::from(i) / 19.0);
        assert!(found > 950, "{found} of 1000 runs that doubled");
        // the first rate is 40 % below the final rate; the time constant is a quarter of the run
        let warm_up: Vec<u64> = vec![
            600, 672, 732, 780, 820, 853, 880, 901, 919, 934, 946, 956, 964, 970, 976, 980, 984,
            987, 989, 991,
        ];
        let steady = Steady::new(&warm_up).unwrap();
        assert!(steady.drift() > 0.1, "{steady:?}");
    }

    #[test]
    fn an_empty_bin_among_full_ones_is_a_stall() {
        assert!(Steady::new(&[50, 50, 0, 50, 50, 50]).unwrap().stalled);
        assert!(!Steady::new(&[9, 0, 8, 7, 9, 9]).unwrap().stalled, "few events leave gaps");
        assert_eq!(Steady::new(&[0; 10]), None);
        assert_eq!(Steady::new(&[7; 5]), None);
    }
}
