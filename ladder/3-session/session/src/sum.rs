//! Sums of estimates.

use tollgate_record::Estimate;

use crate::error::Error;

/// Returns the sum of estimates, each multiplied by its count. The errors are assumed to be
/// independent: the distances to the ends of the intervals add in quadrature.
pub(crate) fn sum(terms: &[(f64, Estimate)]) -> Result<Estimate, Error> {
    let (mut point, mut below, mut above, mut samples) = (0.0, 0.0, 0.0, u64::MAX);
    for (count, estimate) in terms {
        let (low, high) = estimate.interval();
        let (middle, ends) = (count * estimate.point(), [count * low, count * high]);
        point += middle;
        below += (middle - ends[0].min(ends[1])).powi(2);
        above += (ends[0].max(ends[1]) - middle).powi(2);
        samples = samples.min(estimate.samples());
    }
    let samples = if terms.is_empty() { 1 } else { samples };
    Ok(Estimate::new(point, (point - f64::sqrt(below), point + f64::sqrt(above)), samples)?)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn sums_and_differences() {
        let a = Estimate::new(10.0, (7.0, 13.0), 9).unwrap();
        let b = Estimate::new(4.0, (0.0, 8.0), 5).unwrap();
        assert_eq!(
            sum(&[(1.0, a), (1.0, b)]).unwrap(),
            Estimate::new(14.0, (9.0, 19.0), 5).unwrap()
        );
        assert_eq!(
            sum(&[(1.0, a), (-1.0, b)]).unwrap(),
            Estimate::new(6.0, (1.0, 11.0), 5).unwrap()
        );
        assert_eq!(sum(&[]).unwrap(), Estimate::exact(0.0).unwrap());
        // A subtraction swaps the distances to the lower and the upper end.
        let skewed = Estimate::new(1.0, (0.0, 1.0), 3).unwrap();
        assert_eq!(sum(&[(-1.0, skewed)]).unwrap().interval(), (-1.0, 0.0));
    }
}
