//! The growth of a rate with the cores of one machine: the universal scalability law
//! \[Gunther07\], fitted by least squares.
//!
//! `N / X(N) = a + b (N - 1) + c N (N - 1)` is linear in a = 1 / lambda, b = contention / lambda
//! and c = coherency / lambda. The fit minimises the sum of squared *relative* errors of N / X, so
//! that the rates of one core and of many have the same weight. It requires b >= 0 and c >= 0,
//! because a negative value would be noise or a change of the clock. It solves each of the four
//! cases with b and c zero or free, and returns the best valid solution.

use tollgate_record::{Estimate, PerSecond};

use crate::Error;
use crate::interval::hull;

/// The rate of N cores, `X(N) := lambda N / (1 + contention (N - 1) + coherency N (N - 1))`.
///
/// If contention and coherency are 0, the law is linear; if only coherency is 0, it is Amdahl's
/// law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    lambda: f64,
    contention: f64,
    coherency: f64,
}

impl Law {
    /// Creates a law with these parameters.
    ///
    /// # Errors
    ///
    /// The rate of one core is not above 0, or another parameter is below 0.
    pub fn new(one_core: PerSecond, contention: f64, coherency: f64) -> Result<Self, Error> {
        Ok(Self {
            lambda: Error::positive("the rate of one core per second", one_core.get())?,
            contention: Error::not_negative("contention", contention)?,
            coherency: Error::not_negative("coherency", coherency)?,
        })
    }

    /// Returns the rate of one core.
    #[must_use]
    pub const fn one_core(&self) -> PerSecond {
        PerSecond::new(self.lambda)
    }

    /// Returns the serial share of the work, at least 0.
    #[must_use]
    pub const fn contention(&self) -> f64 {
        self.contention
    }

    /// Returns the cost of coherency between each pair of cores, at least 0.
    #[must_use]
    pub const fn coherency(&self) -> f64 {
        self.coherency
    }

    /// Returns the rate of `cores` cores; 0 for none.
    #[must_use]
    pub fn rate(&self, cores: u32) -> PerSecond {
        PerSecond::new(self.at(f64::from(cores)))
    }

    /// Returns the rate of `n` cores per second, as a number.
    fn at(&self, n: f64) -> f64 {
        if n == 0.0 {
            return 0.0;
        }
        self.lambda * n / (self.contention + self.coherency * n).mul_add(n - 1.0, 1.0)
    }
}

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The number of cores at work, at least 1.
    pub cores: u32,
    /// Sessions per second, above 0.
    pub per_s: Estimate,
}

/// Fits the law to measured rates.
///
/// ```
/// use tollgate_fleet::scaling::{Point, fit};
/// use tollgate_record::Estimate;
///
/// // 1000/s per core, with a contention of 0.1.
/// let measured = [(1, 1000.0), (2, 2000.0 / 1.1), (4, 4000.0 / 1.3), (8, 8000.0 / 1.7)];
/// let mut points = Vec::new();
/// for (cores, rate) in measured {
///     points.push(Point { cores, per_s: Estimate::exact(rate)? });
/// }
/// let fit = fit(&points)?;
/// assert!((fit.law().contention() - 0.1).abs() < 1e-9);
/// let sixteen = fit.rate(16)?;
/// assert!((sixteen.point() - 6400.0).abs() < 1e-3);
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
    let mut perturbed = Vec::with_capacity(points.len());
    for (i, point) in points.iter().enumerate() {
        let (low, high) = point.per_s.interval();
        let with = |rate: f64| {
            let mut rates = rates.clone();
            rates[i] = rate;
            best(points, &rates)
        };
        perturbed.push([with(low)?, with(high)?]);
    }
    Ok(Fit { law, perturbed, points: points.to_vec() })
}

/// A fitted law and the measured rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    law: Law,
    /// For each measured rate and each end of its interval: the law that is fitted if this rate has
    /// the value at this end.
    perturbed: Vec<[Law; 2]>,
    points: Vec<Point>,
}

impl Fit {
    /// Returns the law.
    #[must_use]
    pub const fn law(&self) -> Law {
        self.law
    }

    /// Returns the rate at `cores`.
    ///
    /// The interval comes from the intervals of the measured rates: the law is fitted again with
    /// each rate at either end of its interval. Errors of separately measured rates are
    /// independent, so the squares of the downward shifts are added, and likewise the squares of
    /// the upward shifts. Inputs with 95 % intervals give a 95 % interval. If there are only a few
    /// points and they are nearly linear, the result is an interval of at least 85 %. The interval
    /// does not cover deviations from the law; see [`Self::worst_residual`].
    ///
    /// # Errors
    ///
    /// The rate is not finite.
    pub fn rate(&self, cores: u32) -> Result<Estimate, Error> {
        let n = f64::from(cores);
        let point = self.law.at(n);
        let (mut down, mut up) = (0.0, 0.0);
        for pair in &self.perturbed {
            let shifts = pair.map(|law| law.at(n) - point);
            down += shifts[0].min(shifts[1]).min(0.0).powi(2);
            up += shifts[0].max(shifts[1]).max(0.0).powi(2);
        }
        let samples = self.points.iter().map(|p| p.per_s.samples()).min().unwrap_or(1);
        let at_point = Estimate::new(point, (point, point), samples)?;
        hull(at_point, &[(point - down.sqrt()).max(0.0), point + up.sqrt()])
    }

    /// Returns the largest relative difference between a measured rate and the law. With three
    /// points and three parameters it is 0 and has no meaning, unless the fit set a parameter to 0
    /// to keep it from being negative.
    #[must_use]
    pub fn worst_residual(&self) -> f64 {
        let of = |p: &Point| (p.per_s.point() / self.law.at(f64::from(p.cores)) - 1.0).abs();
        self.points.iter().map(of).fold(0.0, f64::max)
    }
}

/// The coefficients of one equation: the sum of each coefficient times its parameter should be 1.
type Coefficients = [f64; 3];

/// Returns the best law for `rates` at the cores of `points`.
fn best(points: &[Point], rates: &[f64]) -> Result<Law, Error> {
    // Rates and columns are in units of their largest value. Otherwise many cores would make the
    // equations ill-conditioned.
    let unit = rates.iter().copied().fold(0.0, f64::max);
    let rows = points.iter().zip(rates).map(|(point, rate)| {
        let n = f64::from(point.cores);
        let per = rate / unit / n;
        [per, per * (n - 1.0), per * n * (n - 1.0)]
    });
    let mut rows: Vec<Coefficients> = rows.collect();
    let scale: Coefficients =
        core::array::from_fn(|j| rows.iter().map(|row| row[j]).fold(0.0, f64::max));
    for row in &mut rows {
        *row = core::array::from_fn(|j| row[j] / scale[j]);
    }
    let mut least: Option<(f64, Coefficients)> = None;
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
    let [a, b, c]: Coefficients = core::array::from_fn(|j| solution[j] / scale[j]);
    Law::new(PerSecond::new(unit / a), b / a, c / a)
}

/// Returns the sum of squared relative errors.
fn squares(rows: &[Coefficients], x: Coefficients) -> f64 {
    rows.iter().map(|row| (row[0] * x[0] + row[1] * x[1] + row[2] * x[2] - 1.0).powi(2)).sum()
}

/// Returns the least squares solution in which the parameters that are not free are 0. Returns
/// `None` if the rows do not determine it. Uses the modified Gram-Schmidt process, with at most
/// three columns.
fn solve(rows: &[Coefficients], free: [bool; 3]) -> Option<Coefficients> {
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
