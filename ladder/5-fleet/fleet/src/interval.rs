//! Interval arithmetic: the ends of the inputs give the ends of the result.
//!
//! Every formula of this crate is monotonic in each input. Over a box of intervals, it therefore
//! has its least and its greatest value at two corners of the box.
//!
//! Meaning of the result: if two inputs have 95 % intervals, both intervals contain their true
//! values in at least 90 % of cases, whether the inputs are correlated or not. In these cases, the
//! interval of the result contains the true value of the result. If the errors are independent, the
//! corners are further apart than by the usual root of summed squares, and the result is wider than
//! a 95 % interval. The interval covers the errors of the inputs, not the error of the formula.

use tollgate_record::{BadEstimate, Estimate};

use crate::Error;

/// States whether the result of a formula rises or falls if one of its inputs rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// The result never falls.
    Rising,
    /// The result never rises.
    Falling,
}

/// Computes the estimate of `f` from the estimates of its inputs. The [`Slope`] of an input states
/// whether `f` rises or falls if this input rises. The result has as many samples as the input with
/// the fewest samples.
///
/// ```
/// use tollgate_fleet::interval::{Slope, propagate};
/// use tollgate_record::Estimate;
///
/// let work = Estimate::new(100.0, (90.0, 110.0), 50)?;
/// let rate = Estimate::new(10.0, (9.0, 11.0), 20)?;
/// let time = propagate([(work, Slope::Rising), (rate, Slope::Falling)], |[w, r]| Ok(w / r))?;
/// assert_eq!((time.point(), time.samples()), (10.0, 20));
/// assert_eq!(time.interval(), (90.0 / 11.0, 110.0 / 9.0));
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
///
/// # Errors
///
/// Those of `f`; a result that is not finite. [`Error::PerhapsUnstable`] if `f` is unstable at a
/// corner but not at the point.
pub fn propagate<const N: usize>(
    inputs: [(Estimate, Slope); N],
    f: impl Fn([f64; N]) -> Result<f64, Error>,
) -> Result<Estimate, Error> {
    let point = f(inputs.map(|(input, _)| input.point()))?;
    let corner = |want_least: bool| {
        let at = inputs.map(|(input, slope)| {
            let (low, high) = input.interval();
            if (slope == Slope::Rising) == want_least { low } else { high }
        });
        f(at).map_err(|error| match error {
            Error::Unstable { utilisation } => Error::PerhapsUnstable { utilisation },
            other => other,
        })
    };
    let (least, greatest) = (corner(true)?, corner(false)?);
    let samples = inputs.iter().map(|(input, _)| input.samples()).min().unwrap_or(1);
    // `min` and `max` below would hide a NaN.
    if !(least.is_finite() && greatest.is_finite()) {
        return Err(Error::Estimate(BadEstimate::NotFinite));
    }
    // Rounding can move an end past the point by the last bit.
    Ok(Estimate::new(point, (least.min(point), greatest.max(point)), samples)?)
}

/// Widens the interval of `of` to include `more`.
pub(crate) fn hull(of: Estimate, more: &[f64]) -> Result<Estimate, Error> {
    let (low, high) = of.interval();
    let low = more.iter().copied().fold(low, f64::min);
    let high = more.iter().copied().fold(high, f64::max);
    Ok(Estimate::new(of.point(), (low, high), of.samples())?)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn an_unstable_corner_is_not_an_unstable_point() {
        let f = |[x]: [f64; 1]| {
            if x < 1.0 { Ok(1.0 / (1.0 - x)) } else { Err(Error::Unstable { utilisation: x }) }
        };
        let wide = Estimate::new(0.9, (0.8, 1.1), 5).unwrap();
        assert_eq!(
            propagate([(wide, Slope::Rising)], f),
            Err(Error::PerhapsUnstable { utilisation: 1.1 })
        );
        let over = Estimate::new(1.2, (1.1, 1.3), 5).unwrap();
        assert_eq!(
            propagate([(over, Slope::Rising)], f),
            Err(Error::Unstable { utilisation: 1.2 })
        );
    }

    #[test]
    fn no_number_is_an_error() {
        let x = Estimate::new(1.0, (0.0, 2.0), 5).unwrap();
        let at_the_end = |[x]: [f64; 1]| Ok(if x == 2.0 { f64::NAN } else { x });
        assert!(matches!(propagate([(x, Slope::Rising)], at_the_end), Err(Error::Estimate(_))));
        assert!(propagate([(x, Slope::Rising)], |[x]| Ok(1.0 / x)).is_err()); // 1/0 at the low end
    }
}
