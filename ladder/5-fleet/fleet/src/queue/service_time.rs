//! Service times by their first two moments.

use tollgate_record::{BadEstimate, Estimate, Nanos};

use crate::Error;
use crate::demand::as_f64;
use crate::interval::hull;

/// Minimum number of samples for an interval of the squared coefficient of variation.
const SAMPLES_MIN: usize = 30;

/// Standard errors to each side of a 95 % interval.
const Z: f64 = 1.96;

/// The mean service time of a session, and its variation.
///
/// This estimate is a mean, but most estimates of this project are medians. A queue depends on the
/// sum of the work, and so on the mean. The CPU time of a run divided by its sessions is a mean.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceTime {
    mean_ns: Estimate,
    scv: Estimate,
    /// The kinds of a mixture. Each kind has its share, its mean divided by the mean of all, and
    /// its variation.
    kinds: Vec<(f64, f64, f64)>,
}

impl ServiceTime {
    /// Creates a service time of mean `mean_ns` nanoseconds and squared coefficient of variation
    /// `scv` (variance over squared mean: 0 for a constant, 1 for an exponential distribution).
    ///
    /// # Errors
    ///
    /// The mean is not above 0, or `scv` is below 0, at the point or within the interval.
    pub fn new(mean_ns: Estimate, scv: Estimate) -> Result<Self, Error> {
        Error::positive("mean service time in ns", mean_ns.interval().0)?;
        Error::not_negative("squared coefficient of variation", scv.interval().0)?;
        Ok(Self { mean_ns, scv, kinds: Vec::new() })
    }

    /// Computes the mean and variation of at least 30 measured service times.
    ///
    /// Intervals extend 1.96 standard errors to each side. The standard error of the variation is
    /// computed by the jackknife. The intervals are too narrow if the samples are not independent,
    /// as is usual on one machine.
    ///
    /// # Errors
    ///
    /// Too few samples; a sample that is below 0 or not finite; a mean whose interval includes 0.
    pub fn from_samples(samples: &[Nanos]) -> Result<Self, Error> {
        let n = as_f64(samples.len() as u64);
        if samples.len() < SAMPLES_MIN {
            let must = "be at least 30";
            return Err(Error::Rejected { what: "the number of service times", value: n, must });
        }
        for time in samples {
            Error::not_negative("a service time in ns", time.get())?;
        }
        let mean = samples.iter().map(|x| x.get()).sum::<f64>() / n;
        Error::positive("mean service time in ns", mean)?;
        // Deviations are in units of the mean, so that squares stay in range.
        let deviations = || samples.iter().map(|x| x.get() / mean - 1.0);
        let squares = deviations().map(|d| d * d).sum::<f64>();
        let scv = squares / (n - 1.0);
        // Without a sample with deviation d, the mean moves by -d/(n-1), and the sum of squares is
        // smaller by d^2 n/(n-1).
        let without = |d: f64| {
            let rest = d.mul_add(-d * n / (n - 1.0), squares) / (n - 2.0);
            rest.max(0.0) / (1.0 - d / (n - 1.0)).powi(2)
        };
        let centre = deviations().map(without).sum::<f64>() / n;
        let spread = deviations().map(|d| (without(d) - centre).powi(2)).sum::<f64>();
        let scv_error = Z * ((n - 1.0) / n * spread).sqrt();
        let mean_error = Z * mean * (scv / n).sqrt();
        let count = samples.len() as u64;
        Self::new(
            Estimate::new(mean, (mean - mean_error, mean + mean_error), count)?,
            Estimate::new(scv, ((scv - scv_error).max(0.0), scv + scv_error), count)?,
        )
    }

    /// Creates a mixture of several kinds of sessions with their shares, whose sum is 1. Full and
    /// resumed handshakes together vary more than either kind. Quantiles of the response time use
    /// the kinds separately, at the points of their estimates.
    ///
    /// # Errors
    ///
    /// No kind; a share below 0; a sum that is not 1.
    pub fn mixed(kinds: &[(f64, Self)]) -> Result<Self, Error> {
        for (share, _) in kinds {
            Error::not_negative("the share of a kind of session", *share)?;
        }
        let total: f64 = kinds.iter().map(|(share, _)| share).sum();
        if (total - 1.0).abs() > 1e-9 {
            let must = "be 1";
            return Err(Error::Rejected { what: "the sum of the shares", value: total, must });
        }
        let sum = |of: &dyn Fn(&Self) -> f64| -> f64 {
            kinds.iter().map(|(share, kind)| share / total * of(kind)).sum()
        };
        // First and second moments at the ends of the intervals: both increase with every mean and
        // every variation.
        let low = |x: Estimate| x.interval().0;
        let high = |x: Estimate| x.interval().1;
        let second = |mean: f64, scv: f64| mean * mean * (1.0 + scv);
        let (mean, mean_low, mean_high) =
            (sum(&|k| k.mean_ns.point()), sum(&|k| low(k.mean_ns)), sum(&|k| high(k.mean_ns)));
        let square = sum(&|k| second(k.mean_ns.point(), k.scv.point()));
        let square_low = sum(&|k| second(low(k.mean_ns), low(k.scv)));
        let square_high = sum(&|k| second(high(k.mean_ns), high(k.scv)));
        let scv = |square: f64, mean: f64| (square / (mean * mean) - 1.0).max(0.0);
        let samples = kinds.iter().map(|(_, k)| k.mean_ns.samples().min(k.scv.samples())).min();
        let samples = samples.ok_or(Error::Estimate(BadEstimate::NoSamples))?;
        let point =
            Estimate::new(scv(square, mean), (scv(square, mean), scv(square, mean)), samples)?;
        let mixed = Self::new(
            Estimate::new(mean, (mean_low.min(mean), mean_high.max(mean)), samples)?,
            // This interval is wider than necessary, because both moments depend on the same mean.
            hull(point, &[scv(square_low, mean_high), scv(square_high, mean_low)])?,
        )?;
        let parts = kinds.iter().flat_map(|(share, kind)| {
            let scale = kind.mean_ns.point() / mean;
            let of = move |(part, over, scv)| (share / total * part, over * scale, scv);
            kind.kinds(kind.scv.point()).into_iter().map(of)
        });
        Ok(Self { kinds: parts.collect(), ..mixed })
    }

    /// Returns the kinds. Each kind has its share, its mean divided by the mean of all, and its
    /// variation. A service time that is not a mixture has one kind, with the variation `scv`.
    pub(crate) fn kinds(&self, scv: f64) -> Vec<(f64, f64, f64)> {
        if self.kinds.is_empty() { vec![(1.0, 1.0, scv)] } else { self.kinds.clone() }
    }

    /// Returns the mean in nanoseconds.
    #[must_use]
    pub const fn mean_ns(&self) -> Estimate {
        self.mean_ns
    }

    /// Returns the squared coefficient of variation.
    #[must_use]
    pub const fn scv(&self) -> Estimate {
        self.scv
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn exact(mean: f64, scv: f64) -> ServiceTime {
        let of = |x| Estimate::exact(x).unwrap();
        ServiceTime::new(of(mean), of(scv)).unwrap()
    }

    #[test]
    fn two_constants_vary_when_mixed() {
        // Half of the sessions take 100 and half take 300. The mean is 200, the deviation 100 and
        // the variation 1/4.
        let mixed =
            ServiceTime::mixed(&[(0.5, exact(100.0, 0.0)), (0.5, exact(300.0, 0.0))]).unwrap();
        assert_eq!((mixed.mean_ns().point(), mixed.scv().point()), (200.0, 0.25));
        let alone = ServiceTime::mixed(&[(1.0, exact(100.0, 0.5))]).unwrap();
        assert!((alone.scv().point() - 0.5).abs() < 1e-15);
        for bad in [&[][..], &[(0.5, exact(1.0, 0.0))], &[(f64::NAN, exact(1.0, 0.0))]] {
            assert!(ServiceTime::mixed(bad).is_err());
        }
        assert!(ServiceTime::mixed(&[(-1.0, exact(1.0, 0.0)), (2.0, exact(1.0, 0.0))]).is_err());
    }

    #[test]
    fn a_mixture_has_the_uncertainty_of_its_kinds() {
        let wide = |mean: f64| Estimate::new(mean, (0.9 * mean, 1.1 * mean), 40).unwrap();
        let kind = |mean| ServiceTime::new(wide(mean), wide(0.1)).unwrap();
        let mixed = ServiceTime::mixed(&[(0.3, kind(100.0)), (0.7, kind(500.0))]).unwrap();
        let (low, high) = mixed.mean_ns().interval();
        assert!((low - 342.0).abs() < 1e-9 && (high - 418.0).abs() < 1e-9);
        let (low, high) = mixed.scv().interval();
        assert!(low < mixed.scv().point() && mixed.scv().point() < high);
        assert_eq!(mixed.scv().samples(), 40);
    }

    #[test]
    fn samples_give_their_own_moments() {
        let constant = ServiceTime::from_samples(&[Nanos::new(5.0); 30]).unwrap();
        assert_eq!((constant.mean_ns(), constant.scv().point()), {
            (Estimate::new(5.0, (5.0, 5.0), 30).unwrap(), 0.0)
        });
        let two: Vec<Nanos> = (0..100).map(|i| Nanos::new([1.0, 3.0][i % 2])).collect();
        let two = ServiceTime::from_samples(&two).unwrap();
        assert_eq!(two.mean_ns().point(), 2.0);
        assert!((two.scv().point() - 0.25 * 100.0 / 99.0).abs() < 1e-12);
        assert!(ServiceTime::from_samples(&[Nanos::new(5.0); 29]).is_err());
        assert!(ServiceTime::from_samples(&[Nanos::new(0.0); 30]).is_err());
        assert!(ServiceTime::from_samples(&[Nanos::new(f64::NAN); 30]).is_err());
        assert!(ServiceTime::from_samples(&[Nanos::new(-1.0); 30]).is_err());
    }

    /// Computes 95 % intervals from 400 samples of an exponential time, 500 times, and counts the
    /// intervals that contain the true value. The distribution is skewed, so the jackknife reaches
    /// only about 90 %.
    #[test]
    fn intervals_contain_the_true_value_about_as_often_as_stated() {
        let mut random = fastrand::Rng::with_seed(3);
        let (mut mean, mut scv) = (0, 0);
        for _ in 0..500 {
            let times: Vec<Nanos> =
                (0..400).map(|_| Nanos::new(-1000.0 * (1.0 - random.f64()).ln())).collect();
            let found = ServiceTime::from_samples(&times).unwrap();
            let holds = |x: Estimate, truth| x.interval().0 <= truth && truth <= x.interval().1;
            mean += u32::from(holds(found.mean_ns(), 1000.0));
            scv += u32::from(holds(found.scv(), 1.0));
        }
        assert!((460..=490).contains(&mean), "{mean} of 500");
        assert!((410..=490).contains(&scv), "{scv} of 500");
    }
}
