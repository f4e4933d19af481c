//! The distribution of the response time.
//!
//! The approximation makes two assumptions:
//!
//! * **The wait** is 0 for some sessions and exponential for the others. This is exact for M/M/c,
//!   and for every M/G/c in the limit as the load approaches 1 \[Kollerstrom74\]. The probability
//!   of waiting is Erlang C. This is exact for one server and for exponential service, and
//!   otherwise a good approximation \[Tijms03\].
//! * **The service time** has the simplest distribution with the two moments. If the service time
//!   varies less than an exponential time, it is a constant plus an exponential part, because a
//!   session costs at least its private-key operation. Otherwise it is one of two exponential times
//!   with balanced means.
//!
//! For exponential service times, both assumptions are exact. For a mixture of kinds as different
//! as full and resumed handshakes, the computed 0.99 quantile is up to 60 % too high.

/// The largest relative error of a quantile of the response time, for quantiles from 0.9 to 0.99
/// and loads of 0.5 to 0.85. `tests/fleet/simulation.rs` tests it.
pub const QUANTILE_ERROR_MAX: f64 = 0.2;

/// The response time in units of the mean service time.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    /// Probability of waiting.
    waits: f64,
    /// Rate of the exponential wait of those sessions that wait; infinite if none waits.
    wait_rate: f64,
    shape: Shape,
}

/// The distribution of a service time of mean 1.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// A constant plus an exponential time of this rate. With an infinite rate it is the constant
    /// alone.
    Floor { floor: f64, rate: f64 },
    /// One of two exponential times, each with probability and rate.
    Two([(f64, f64); 2]),
}

impl Shape {
    /// Returns the distribution with this squared coefficient of variation.
    fn new(scv: f64) -> Self {
        if scv <= 1.0 {
            // `abs` makes -0 positive, so that its reciprocal is positive.
            let spread = scv.abs().sqrt();
            return Self::Floor { floor: 1.0 - spread, rate: 1.0 / spread };
        }
        // Balanced means: p1 / rate1 = p2 / rate2 = 1/2. [Tijms03] appendix B.
        let p = f64::midpoint(1.0, ((scv - 1.0) / (scv + 1.0)).sqrt());
        Self::Two([(p, 2.0 * p), (1.0 - p, 2.0 * (1.0 - p))])
    }
}

impl Tail {
    /// Creates the distribution. `wait` is the mean wait of all sessions, including those that do
    /// not wait, divided by the mean service time; `scv` is the squared coefficient of variation of
    /// the service time.
    pub(crate) fn new(waits: f64, wait: f64, scv: f64) -> Self {
        Self { waits, wait_rate: waits / wait, shape: Shape::new(scv) }
    }

    /// Returns the probability that the response time is above `t`.
    pub(crate) fn above(&self, t: f64) -> f64 {
        let after = |rate: f64, t: f64| {
            if t <= 0.0 {
                return 1.0;
            }
            let alone = (-rate * t).exp();
            if self.waits > 0.0 && self.wait_rate.is_finite() {
                (1.0 - self.waits).mul_add(alone, self.waits * sum_above(rate, self.wait_rate, t))
            } else {
                alone
            }
        };
        match self.shape {
            Shape::Floor { floor, rate } => after(rate, t - floor),
            Shape::Two(parts) => parts.iter().map(|(p, rate)| p * after(*rate, t)).sum(),
        }
    }

    /// Returns the `quantile`, above 0 and below 1.
    pub(crate) fn quantile(&self, quantile: f64) -> f64 {
        let above = 1.0 - quantile;
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        while high.is_finite() && self.above(high) > above {
            low = high;
            high *= 2.0;
        }
        // Bisection; it is exact to the last bit after fewer than 100 steps.
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if self.above(middle) > above {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// Returns the probability that the sum of two exponential times of these rates (one may be
/// infinite) is above `t`. `t` is above 0.
fn sum_above(one: f64, other: f64, t: f64) -> f64 {
    let (slow, fast) = (one.min(other), one.max(other));
    // The formula is (fast e^(-slow t) - slow e^(-fast t)) / (fast - slow). The code has a form of
    // it that also holds for equal rates.
    let x = (fast - slow) * t;
    let mean_decay = if x == 0.0 { 1.0 } else { -(-x).exp_m1() / x };
    (-slow * t).exp() * (slow * t).mul_add(mean_decay, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_exponential_times() {
        // Rates 1 and 2 at t = 1 give 2/e - 1/e^2. Equal rates give (1 + t) e^-t. If one rate is
        // infinite, only the other rate counts.
        let e = core::f64::consts::E;
        assert!((sum_above(1.0, 2.0, 1.0) - (2.0 / e - 1.0 / (e * e))).abs() < 1e-15);
        assert!((sum_above(1.0, 1.0, 3.0) - 4.0 * (-3.0_f64).exp()).abs() < 1e-15);
        let nearly = sum_above(1.0, 1.0 + 1e-12, 3.0);
        assert!((nearly - sum_above(1.0, 1.0, 3.0)).abs() < 1e-12);
        assert_eq!(sum_above(1.0, f64::INFINITY, 2.0), (-2.0_f64).exp());
        assert_eq!(sum_above(1e-3, 1e6, 1e9), 0.0);
    }

    /// M/M/1: the response time is exponential with mean 1 / (1 - load).
    #[test]
    fn exact_for_one_server_and_exponential_service() {
        for load in [0.1, 0.5, 0.9] {
            let tail = Tail::new(load, load / (1.0 - load), 1.0);
            for quantile in [0.5, 0.9, 0.99, 0.999] {
                let exact = -(1.0_f64 - quantile).ln() / (1.0 - load);
                assert!((tail.quantile(quantile) / exact - 1.0).abs() < 1e-9, "{load} {quantile}");
            }
        }
    }

    /// The area under the tail is the mean, wait + 1, for every shape.
    #[test]
    fn the_mean_is_kept() {
        for (waits, wait) in [(0.0, 0.0), (0.3, 0.5), (0.9, 8.0)] {
            for scv in [0.0, 0.04, 0.5, 1.0, 1.001, 4.0] {
                let tail = Tail::new(waits, wait, scv);
                let step = 1e-3;
                let area: f64 =
                    (0..300_000).map(|i| tail.above((f64::from(i) + 0.5) * step) * step).sum();
                assert!((area / (1.0 + wait) - 1.0).abs() < 1e-3, "{waits} {wait} {scv}: {area}");
            }
        }
    }

    #[test]
    fn constant_service_and_no_wait_is_constant() {
        let tail = Tail::new(0.0, 0.0, 0.0);
        assert!((tail.quantile(0.5) - 1.0).abs() < 1e-12);
        assert!((tail.quantile(0.999) - 1.0).abs() < 1e-12);
        let negative_zero = Tail::new(0.5, 1.0, -0.0).quantile(0.99);
        assert_eq!(negative_zero, Tail::new(0.5, 1.0, 0.0).quantile(0.99));
    }
}
