//! Welch's t-test, online: mean and variance of two classes, one sample at a time.

/// Count, mean and sum of squared deviations of one class, by Welford's recurrence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(crate) fn push(&mut self, x: f64) {
        self.count += 1.0;
        let deviation = x - self.mean;
        self.mean += deviation / self.count;
        self.squares += deviation * (x - self.mean);
    }

    /// Returns the variance of the samples.
    pub(crate) fn variance(&self) -> f64 {
        self.squares / (self.count - 1.0)
    }

    /// Returns the variance of the mean.
    fn of_mean(&self) -> f64 {
        self.variance() / self.count
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    pub(crate) fn count(&self) -> f64 {
        self.count
    }

    /// Returns Student's t: the mean divided by its standard error. 0 if there are fewer than two
    /// samples, or if all samples are zero.
    pub(crate) fn t(&self) -> f64 {
        if self.count < 2.0 || self.mean == 0.0 { 0.0 } else { self.mean / self.of_mean().sqrt() }
    }
}

/// The test of two classes of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Welch([Moments; 2]);

impl Welch {
    /// Adds a sample of one class.
    pub(crate) fn push(&mut self, second: bool, x: f64) {
        self.0[usize::from(second)].push(x);
    }

    /// Returns the number of samples of the smaller class.
    pub(crate) fn samples(&self) -> f64 {
        self.0[0].count.min(self.0[1].count)
    }

    /// Returns the number of samples of both classes.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    pub(crate) fn total(&self) -> u64 {
        (self.0[0].count + self.0[1].count) as u64
    }

    /// Returns the mean of a class; 0 if it has no samples.
    pub(crate) fn mean(&self, second: bool) -> f64 {
        self.0[usize::from(second)].mean
    }

    /// Returns the first class's mean minus the second's.
    pub(crate) fn difference(&self) -> f64 {
        self.mean(false) - self.mean(true)
    }

    /// Returns the variance of [`difference`](Self::difference).
    pub(crate) fn of_difference(&self) -> f64 {
        let [first, second] = self.0;
        first.of_mean() + second.of_mean()
    }

    /// Returns t: the difference of the means divided by its standard error. 0 if a class has fewer
    /// than two samples, or if the means are equal.
    pub(crate) fn t(&self) -> f64 {
        let difference = self.difference();
        if self.samples() < 2.0 || difference == 0.0 {
            return 0.0;
        }
        difference / self.of_difference().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::Welch;

    fn welch(first: &[f64], second: &[f64]) -> Welch {
        let mut welch = Welch::default();
        first.iter().for_each(|x| welch.push(false, *x));
        second.iter().for_each(|x| welch.push(true, *x));
        welch
    }

    #[test]
    fn the_statistic_of_a_small_example() {
        let first = [1.0, 2.0, 3.0, 4.0]; // mean 2.5, variance 5/3
        let second = [2.0, 4.0, 6.0]; // mean 4, variance 4
        let t = -1.5 / (5.0 / 12.0 + 4.0 / 3.0_f64).sqrt();
        assert!((welch(&first, &second).t() - t).abs() < 1e-12);
        assert!((welch(&second, &first).t() + t).abs() < 1e-12);
    }

    #[test]
    fn a_large_offset_loses_no_digits() {
        let first = [1.0, 2.0, 3.0, 4.0];
        let second = [2.0, 4.0, 6.0];
        let shift = |x: &[f64]| x.iter().map(|x| x + 1e9).collect::<Vec<_>>();
        let t = welch(&first, &second).t();
        assert!((welch(&shift(&first), &shift(&second)).t() - t).abs() < 1e-6);
    }

    #[test]
    fn t_is_zero_without_samples_and_infinite_without_variance() {
        assert_eq!(Welch::default().t(), 0.0);
        assert_eq!(welch(&[1.0], &[2.0, 3.0]).t(), 0.0);
        assert_eq!(welch(&[2.0, 2.0], &[2.0, 2.0]).t(), 0.0);
        assert_eq!(welch(&[2.0, 2.0], &[1.0, 1.0]).t(), f64::INFINITY);
    }
}
