//! A core that serves in turns, as a worker of `tollgate signer` does.
//!
//! A turn takes the requests that have come, runs one batch of their operations, and answers it. The
//! requests that are left, and those that come meanwhile, are for the next turns. If there are none,
//! the next request has a turn of its own, at once.
//!
//! By the method of \[Bailey54\], the numbers of requests at the beginnings of the turns form a Markov
//! chain. With w the operations of a full batch and T(b) the time of a turn with a batch of b, a turn
//! that begins with n requests runs b = min(n, w) of them, and the next one begins with n - b and a
//! Poisson number of new ones, of mean rate T(b), or with 1 if both are 0.
//!
//! A request that comes during a turn waits for a uniform part of T(b). Those of one turn come from
//! many connections, which the next turn reads in any order, so the place of a request among them does
//! not depend on its time. With i requests before it, floor(i / w) full turns follow, and then its
//! own. The size of its own batch is w, if so many have come by then, which again is a Poisson number.
//! The mean and the distribution of the response time follow without a further approximation.

use crate::Error;
use crate::demand::as_f64;

/// The largest number of requests in the chain. At 95 % of the capacity there are hardly ever more.
const STATES: usize = 512;
/// The largest rate, as a share of the capacity.
const LOAD_MAX: f64 = 0.95;
/// The largest number of operations in a batch.
const WIDTH_MAX: usize = 64;
/// Probabilities below this one are left out.
const NEGLIGIBLE: f64 = 1e-14;

/// The times of a core that serves in turns.
///
/// ```
/// use tollgate_fleet::queue::Turns;
///
/// // A batch of one takes 10 us, one of two 12 us; each request has 1 us of other work.
/// let turns = Turns::new(1e3, vec![10e3, 12e3])?;
/// assert!((turns.capacity_per_s() - 2.0 / 14e-6).abs() < 1e-6);
/// // Without load, a request takes its own turn.
/// let calm = turns.at(1e-3)?;
/// assert!((calm.mean_ns() - 11e3).abs() < 1.0);
/// // At nearly full load, requests wait and batches are full.
/// let busy = turns.at(0.9 * turns.capacity_per_s())?;
/// assert!(busy.operations_per_batch() > 1.5 && busy.mean_ns() > 2.0 * calm.mean_ns());
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// The time of a turn with a batch of one operation, of two, and so on.
    turn_ns: Vec<f64>,
}

impl Turns {
    /// Creates a core. `work_ns` is its work for a request beside the operation, in nanoseconds, and
    /// `batch_ns` the time of a batch of one operation, of two, and so on.
    ///
    /// # Errors
    ///
    /// No batch, or more than 64 sizes; a time that is below 0 or not finite; a batch without a time.
    pub fn new(work_ns: f64, batch_ns: Vec<f64>) -> Result<Self, Error> {
        let work_ns = Error::not_negative("the work for a request in ns", work_ns)?;
        Error::positive("the number of sizes of batches", as_f64(batch_ns.len() as u64))?;
        if batch_ns.len() > WIDTH_MAX {
            let (what, value) = ("the number of sizes of batches", as_f64(batch_ns.len() as u64));
            return Err(Error::Rejected { what, value, must: "be at most 64" });
        }
        let turn = |(others, ns): (usize, &f64)| {
            let ns = Error::positive("the time of a batch in ns", *ns)?;
            Ok::<f64, Error>(work_ns.mul_add(as_f64(others as u64 + 1), ns))
        };
        Ok(Self { turn_ns: batch_ns.iter().enumerate().map(turn).collect::<Result<_, _>>()? })
    }

    /// Returns the requests per second of full batches.
    #[must_use]
    pub fn capacity_per_s(&self) -> f64 {
        let width = self.turn_ns.len();
        1e9 * as_f64(width as u64) / self.turn_ns[width - 1]
    }

    /// Returns the steady state at random arrivals.
    ///
    /// # Errors
    ///
    /// The rate is not above 0, or above 95 % of the capacity; a turn is so long that more than 256
    /// requests come in it.
    pub fn at(&self, per_s: f64) -> Result<Steady, Error> {
        let rate = Error::positive("the rate per second", per_s)? * 1e-9;
        let load = per_s / self.capacity_per_s();
        if load > 1.0 {
            return Err(Error::Unstable { utilisation: load });
        } else if load > LOAD_MAX + 1e-9 {
            let must = "be at most 95 % of the capacity";
            return Err(Error::Rejected { what: "the rate per second", value: per_s, must });
        }
        let most = self.turn_ns.iter().copied().fold(0.0, f64::max) * rate;
        if most > as_f64(STATES as u64 / 2) {
            let (what, must) = ("the requests that come in a turn", "be at most 256");
            return Err(Error::Rejected { what, value: most, must });
        }
        let rows: Vec<Vec<f64>> = self.turn_ns.iter().map(|ns| poisson(rate * ns)).collect();
        let mut shares = vec![0.0; STATES + 1];
        shares[1] = 1.0;
        // The chain forgets its beginning within some thousand turns.
        for _ in 0..20_000 {
            let next = after(&shares, &rows);
            let change: f64 = shares.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
            shares = next;
            if change < 1e-10 {
                break;
            }
        }
        Ok(Steady::new(&self.turn_ns, rate, &shares, &rows))
    }
}

/// Returns the probabilities of 0, 1 and more arrivals, up to [`STATES`] and as far as they count.
fn poisson(expected: f64) -> Vec<f64> {
    let mut probability = (-expected).exp();
    let mut row = vec![probability];
    for k in 1..=STATES {
        probability *= expected / as_f64(k as u64);
        if probability < NEGLIGIBLE && as_f64(k as u64) > expected {
            break;
        }
        row.push(probability);
    }
    row
}

/// Returns the shares of the turns that follow, by the number of requests at their beginnings.
fn after(shares: &[f64], rows: &[Vec<f64>]) -> Vec<f64> {
    let mut next = vec![0.0; shares.len()];
    for (requests, share) in shares.iter().enumerate().filter(|(_, share)| **share > 1e-18) {
        let batch = requests.min(rows.len());
        for (come, probability) in rows[batch - 1].iter().enumerate() {
            next[(requests - batch + come).min(STATES)] += share * probability;
        }
    }
    next[1] += core::mem::take(&mut next[0]);
    let sum: f64 = next.iter().sum(); // what was left out
    next.iter_mut().for_each(|share| *share /= sum);
    next
}

/// Adds a weight to those of batches by their size, of which the last one is full: the batch has the
/// requests that are there, and those that come before it begins.
fn add_batch(weights: &mut [f64], weight: f64, there: usize, come: &[f64]) {
    let full = weights.len() - 1;
    let mut rest = 1.0;
    for (size, probability) in (there..full).zip(come) {
        weights[size] += weight * probability;
        rest -= probability;
    }
    weights[full] += weight * f64::max(rest, 0.0);
}

/// The steady state of [`Turns`] at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    operations_per_batch: f64,
    busy: f64,
    times: Vec<Time>,
}

/// The response time of a share of the requests.
#[derive(Clone, Debug, PartialEq)]
struct Time {
    share: f64,
    /// The turn in which they come, of which they wait for a uniform part; 0 if there is none.
    before_ns: f64,
    /// From the end of this turn to the end of their own.
    after_ns: f64,
}

impl Steady {
    fn new(turn_ns: &[f64], rate: f64, shares: &[f64], rows: &[Vec<f64>]) -> Self {
        let width = turn_ns.len();
        let full_ns = turn_ns[width - 1];
        let turns = |count: usize| as_f64(count as u64) * full_ns;
        // The arrivals during a number of full turns.
        let during: Vec<Vec<f64>> =
            (0..=STATES / width).map(|count| poisson(rate * turns(count))).collect();
        // By the batch of the turn before, 0 if there is none; the full turns between; the own batch.
        let mut weights = vec![vec![vec![0.0; width + 1]; STATES / width + 1]; width + 1];
        let (mut operations, mut ns) = (0.0, 0.0);
        for (requests, share) in shares.iter().enumerate().skip(1) {
            let batch = requests.min(width);
            operations += share * as_f64(batch as u64);
            ns += share * turn_ns[batch - 1];
            let left = requests - batch;
            for (come, probability) in rows[batch - 1].iter().enumerate() {
                let (weight, next) = (share * probability, (left + come).min(STATES));
                if weight < NEGLIGIBLE {
                    continue;
                }
                if next == 0 {
                    weights[0][0][1] += weight;
                }
                for place in left..next {
                    let between = place / width;
                    let there = next - between * width;
                    add_batch(&mut weights[batch][between], weight, there, &during[between]);
                }
            }
        }
        let mut times = Vec::new();
        for (batch, weights) in weights.iter().enumerate() {
            let before_ns = batch.checked_sub(1).map_or(0.0, |last| turn_ns[last]);
            for (between, weights) in weights.iter().enumerate() {
                for (own_ns, share) in turn_ns.iter().zip(&weights[1..]) {
                    if *share > 0.0 {
                        let after_ns = turns(between) + own_ns;
                        times.push(Time { share: share / operations, before_ns, after_ns });
                    }
                }
            }
        }
        let busy = (rate * ns / operations).min(1.0);
        Self { operations_per_batch: operations, busy, times }
    }

    /// Returns the mean number of operations in a batch.
    #[must_use]
    pub const fn operations_per_batch(&self) -> f64 {
        self.operations_per_batch
    }

    /// Returns the share of the time in which the core works.
    #[must_use]
    pub const fn busy(&self) -> f64 {
        self.busy
    }

    /// Returns the mean response time in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.over_requests(|time| time.before_ns / 2.0 + time.after_ns)
    }

    /// Returns the share of the requests that take longer than `ns` nanoseconds.
    #[must_use]
    pub fn exceeding(&self, ns: f64) -> f64 {
        self.over_requests(|time| match ns - time.after_ns {
            left if left < 0.0 => 1.0,
            left if left < time.before_ns => 1.0 - left / time.before_ns,
            _ => 0.0,
        })
    }

    /// Returns the quantile `q` of the response time, in nanoseconds: 0.5 for the median.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> f64 {
        let mut high = 1.0;
        while self.exceeding(high) > 1.0 - q && high < 1e18 {
            high *= 2.0;
        }
        let mut low = 0.0;
        while high - low > 1e-4 * high {
            let middle = f64::midpoint(low, high);
            if self.exceeding(middle) > 1.0 - q { low = middle } else { high = middle }
        }
        high
    }

    fn over_requests(&self, of: impl Fn(&Time) -> f64) -> f64 {
        self.times.iter().map(|time| time.share * of(time)).sum()
    }
}
