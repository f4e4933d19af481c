//! Least squares for the universal scalability law.
//!
//! `N / X(N) = a + b (N - 1) + c N (N - 1)` is linear in a = 1 / lambda, b = contention / lambda
//! and c = coherency / lambda. The sum of squared *relative* errors of N / X is made least, so that
//! the rates of one core and of many weigh alike, under b >= 0 and c >= 0: a fit below 0 would say
//! that cores help each other, and that is noise, or a clock that rose. Each of the four ways to
//! have b and c at 0 or free is solved, and the best one allowed wins.

use tollgate_record::{Estimate, PerSecond};

use super::law::{Fit, Law};
use crate::Error;

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Cores at work, at least 1.
    pub cores: u32,
    /// Sessions per second, above 0.
    pub per_s: Estimate,
}

/// The law that fits best.
///
/// ```
/// use tollgate_fleet::scaling::{Point, fit};
/// use tollgate_record::Estimate;
///
/// // 1000/s a core, and a tenth of the work waits for its turn.
/// let measured = [(1, 1000.0), (2, 2000.0 / 1.1), (4, 4000.0 / 1.3), (8, 8000.0 / 1.7)];
/// let mut points = Vec::new();
/// for (cores, rate) in measured {
///     points.push(Point { cores, per_s: Estimate::exact(rate)? });
/// }
/// let fit = fit(&points)?;
/// assert!((fit.law().contention() - 0.1).abs() < 1e-9);
/// let sixteen = fit.rate(16)?;
/// assert!((sixteen.per_s.point() - 6400.0).abs() < 1e-3 && sixteen.extrapolated);
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
///
/// # Errors
///
/// Fewer than three different numbers of cores; no cores; a rate that is not above 0.
pub fn fit(points: &[Point]) -> Result<Fit, Error> {
    let mut cores: Vec<u32> = points.iter().map(|p| p.cores).collect();
    cores.sort_unstable();
    cores.dedup();
    if cores.len() < 3 {
        return Err(Error::TooFewPoints { distinct: cores.len() });
    }
    for point in points {
        Error::positive("cores", f64::from(point.cores))?;
        Error::positive("a measured rate per second", point.per_s.interval().0)?;
    }
    let rates: Vec<f64> = points.iter().map(|p| p.per_s.point()).collect();
    let law = best(points, &rates)?;
    let mut shaken = Vec::with_capacity(points.len());
    for (i, point) in points.iter().enumerate() {
        let (low, high) = point.per_s.interval();
        let with = |rate: f64| {
            let mut rates = rates.clone();
            rates[i] = rate;
            best(points, &rates)
        };
        shaken.push([with(low)?, with(high)?]);
    }
    Ok(Fit { law, shaken, points: points.to_vec() })
}

/// One equation: the sum of coefficients times parameters should be 1.
type Row = [f64; 3];

/// The best law for `rates` at the cores of `points`.
fn best(points: &[Point], rates: &[f64]) -> Result<Law, Error> {
    // Rates in units of the largest and columns in units of their largest value, so that a machine
    // of a thousand cores does not make the equations ill-conditioned.
    let unit = rates.iter().copied().fold(0.0, f64::max);
    let rows = points.iter().zip(rates).map(|(point, rate)| {
        let n = f64::from(point.cores);
        let per = rate / unit / n;
        [per, per * (n - 1.0), per * n * (n - 1.0)]
    });
    let mut rows: Vec<Row> = rows.collect();
    let scale: Row = core::array::from_fn(|j| rows.iter().map(|row| row[j]).fold(0.0, f64::max));
    for row in &mut rows {
        *row = core::array::from_fn(|j| row[j] / scale[j]);
    }
    let mut least: Option<(f64, Row)> = None;
    for free in [[true, true, true], [true, true, false], [true, false, true], [true, false, false]]
    {
        let Some(solution) = solve(&rows, free) else {
            continue;
        };
        let allowed = solution[0] > 0.0 && solution[1] >= 0.0 && solution[2] >= 0.0;
        let error = squares(&rows, solution);
        if allowed && least.is_none_or(|(best, _)| error < best) {
            least = Some((error, solution));
        }
    }
    let (_, solution) = least.expect("a line alone has a positive slope and always fits");
    let [a, b, c]: Row = core::array::from_fn(|j| solution[j] / scale[j]);
    Law::new(PerSecond::new(unit / a), b / a, c / a)
}

/// The sum of squared relative errors.
fn squares(rows: &[Row], x: Row) -> f64 {
    rows.iter().map(|row| (row[0] * x[0] + row[1] * x[1] + row[2] * x[2] - 1.0).powi(2)).sum()
}

/// The least squares solution with the parameters that are not free at 0; `None` where the rows do
/// not fix it. By Gram and Schmidt's way to an orthogonal basis, modified: at most three columns.
fn solve(rows: &[Row], free: [bool; 3]) -> Option<Row> {
    let columns: Vec<usize> = (0..3).filter(|&j| free[j]).collect();
    let column = |j: usize| rows.iter().map(|row| row[j]).collect::<Vec<f64>>();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut target = vec![1.0; rows.len()];
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut upper = [[0.0; 3]; 3]; // columns = basis x upper
    let mut along = [0.0; 3];
    for (k, &j) in columns.iter().enumerate() {
        let mut rest = column(j);
        let length = dot(&rest, &rest).sqrt();
        for (i, direction) in basis.iter().enumerate() {
            upper[i][k] = dot(direction, &rest);
            rest.iter_mut().zip(direction).for_each(|(x, d)| *x -= upper[i][k] * d);
        }
        upper[k][k] = dot(&rest, &rest).sqrt();
        if upper[k][k] <= 1e-10 * length {
            return None;
        }
        rest.iter_mut().for_each(|x| *x /= upper[k][k]);
        along[k] = dot(&rest, &target);
        target.iter_mut().zip(&rest).for_each(|(t, d)| *t -= along[k] * d);
        basis.push(rest);
    }
    let mut solution = [0.0; 3];
    for k in (0..columns.len()).rev() {
        let known: f64 = (k + 1..columns.len()).map(|i| upper[k][i] * solution[columns[i]]).sum();
        solution[columns[k]] = (along[k] - known) / upper[k][k];
    }
    Some(solution)
}
