//! A core that serves in turns, as a worker of `tollgate signer` does.
//!
//! A turn takes the requests that are there when it begins, runs their operations in batches, and
//! answers all of them at its end. Those that come meanwhile are the next turn. If none came, the next
//! request has a turn of its own, at once.
//!
//! By the method of \[Bailey54\], the sizes of the turns form a Markov chain. With T(n) the time of a
//! turn of n requests and p(k; a) the Poisson probability of k if a are expected, a turn of n is
//! followed by one of k with probability `p(k; rate T(n))`, and by one of 1 also if k is 0. Of the k
//! requests that come during a turn of n, each waits for a uniform part of T(n), and then takes T(k).
//! The mean and the distribution of the response time follow without a further approximation.

use crate::Error;
use crate::demand::as_f64;

/// The largest number of requests in a turn of the chain. Turns at 95 % of the capacity hardly ever
/// have more.
const STATES: usize = 512;
/// The largest rate, as a share of the capacity.
const LOAD_MAX: f64 = 0.95;

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
/// // At nearly full load, turns are long and batches full.
/// let busy = turns.at(0.9 * turns.capacity_per_s())?;
/// assert!(busy.operations_per_batch() > 1.5 && busy.mean_ns() > 2.0 * calm.mean_ns());
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    work_ns: f64,
    batch_ns: Vec<f64>,
}

impl Turns {
    /// Creates a core. `work_ns` is its work for a request beside the operation, in nanoseconds, and
    /// `batch_ns` the time of a batch of one operation, of two, and so on.
    ///
    /// # Errors
    ///
    /// No batch; a time that is below 0 or not finite; a batch without a time.
    pub fn new(work_ns: f64, batch_ns: Vec<f64>) -> Result<Self, Error> {
        let work_ns = Error::not_negative("the work for a request in ns", work_ns)?;
        Error::positive("the number of sizes of batches", as_f64(batch_ns.len() as u64))?;
        for ns in &batch_ns {
            Error::positive("the time of a batch in ns", *ns)?;
        }
        Ok(Self { work_ns, batch_ns })
    }

    /// Returns the time of a turn of `requests`, in nanoseconds.
    fn turn_ns(&self, requests: usize) -> f64 {
        let width = self.batch_ns.len();
        let full = as_f64((requests / width) as u64) * self.batch_ns[width - 1];
        let rest = requests % width;
        let rest = if rest == 0 { 0.0 } else { self.batch_ns[rest - 1] };
        self.work_ns.mul_add(as_f64(requests as u64), full + rest)
    }

    /// Returns the requests per second of full batches.
    #[must_use]
    pub fn capacity_per_s(&self) -> f64 {
        let width = self.batch_ns.len();
        1e9 * as_f64(width as u64) / self.turn_ns(width)
    }

    /// Returns the steady state at random arrivals.
    ///
    /// # Errors
    ///
    /// The rate is not above 0, or above 95 % of the capacity.
    pub fn at(&self, per_s: f64) -> Result<Steady, Error> {
        let rate = Error::positive("the rate per second", per_s)? * 1e-9;
        let load = per_s / self.capacity_per_s();
        if load > 1.0 {
            return Err(Error::Unstable { utilisation: load });
        } else if load > LOAD_MAX + 1e-9 {
            let must = "be at most 95 % of the capacity";
            return Err(Error::Rejected { what: "the rate per second", value: per_s, must });
        }
        let turn_ns: Vec<f64> = (0..=STATES).map(|requests| self.turn_ns(requests)).collect();
        let rows: Vec<Vec<f64>> = turn_ns.iter().map(|ns| poisson(rate * ns)).collect();
        let mut shares = vec![0.0; STATES + 1];
        shares[1] = 1.0;
        // The chain forgets its beginning within some hundred turns.
        for _ in 0..10_000 {
            let next = after(&shares, &rows);
            let change: f64 = shares.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
            shares = next;
            if change < 1e-10 {
                break;
            }
        }
        Ok(Steady { width: self.batch_ns.len(), turn_ns, rows, shares, rate })
    }
}

/// Returns the probabilities of 0 to [`STATES`] arrivals; the last one is that of all more.
fn poisson(expected: f64) -> Vec<f64> {
    let mut probability = (-expected).exp(); // at most 0.95 * STATES are expected: no underflow
    let mut row = vec![probability];
    for k in 1..STATES {
        probability *= expected / as_f64(k as u64);
        row.push(probability);
    }
    let below: f64 = row.iter().sum();
    row.push((1.0 - below).max(0.0));
    row
}

/// Returns the shares of the turns that follow.
fn after(shares: &[f64], rows: &[Vec<f64>]) -> Vec<f64> {
    let mut next = vec![0.0; shares.len()];
    for (share, row) in shares.iter().zip(rows).filter(|(share, _)| **share > 1e-18) {
        for (next, probability) in next.iter_mut().zip(row) {
            *next += share * probability;
        }
    }
    next[1] += core::mem::take(&mut next[0]);
    next
}

/// The steady state of [`Turns`] at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    width: usize,
    turn_ns: Vec<f64>,
    /// The probabilities of arrivals during a turn of each size.
    rows: Vec<Vec<f64>>,
    shares: Vec<f64>,
    /// Requests in a nanosecond.
    rate: f64,
}

impl Steady {
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.shares.iter().enumerate().map(|(requests, share)| share * of(requests)).sum()
    }

    /// Returns the shares of turns by their number of requests.
    #[must_use]
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Returns the mean number of operations in a batch.
    #[must_use]
    pub fn operations_per_batch(&self) -> f64 {
        let batches = |requests: usize| as_f64(requests.div_ceil(self.width) as u64);
        self.mean(|requests| as_f64(requests as u64)) / self.mean(batches)
    }

    /// Returns the share of the time in which the core works.
    #[must_use]
    pub fn busy(&self) -> f64 {
        let (requests, ns) =
            (self.mean(|requests| as_f64(requests as u64)), self.mean(|n| self.turn_ns[n]));
        (self.rate * ns / requests).min(1.0)
    }

    /// Returns the mean response time in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.over_requests(|before, own| before / 2.0 + own)
    }

    /// Returns the share of the requests that take longer than `ns` nanoseconds.
    #[must_use]
    pub fn exceeding(&self, ns: f64) -> f64 {
        self.over_requests(|before, own| match ns - own {
            left if left < 0.0 => 1.0,
            left if left < before => 1.0 - left / before,
            _ => 0.0,
        })
    }

    /// Returns the quantile `q` of the response time, in nanoseconds: 0.5 for the median.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> f64 {
        quantile(1.0 - q, |ns| self.exceeding(ns))
    }

    /// Returns the mean over all requests of a function of the turn in which a request came, 0 if
    /// there was none, and of its own turn.
    fn over_requests(&self, of: impl Fn(f64, f64) -> f64) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (share, (row, before)) in self.shares.iter().zip(self.rows.iter().zip(&self.turn_ns)) {
            if *share < 1e-12 {
                continue;
            }
            let mut add = |weight: f64, before: f64, own: f64| {
                sum += weight * of(before, own);
                count += weight;
            };
            add(share * row[0], 0.0, self.turn_ns[1]);
            for (requests, (probability, own)) in row.iter().zip(&self.turn_ns).enumerate().skip(1)
            {
                if *probability > 1e-12 {
                    add(share * probability * as_f64(requests as u64), *before, *own);
                }
            }
        }
        sum / count
    }
}

/// Returns the time, in nanoseconds, that a share of `above` exceeds, if `exceeding` falls.
fn quantile(above: f64, exceeding: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    while exceeding(high) > above && high < 1e18 {
        high *= 2.0;
    }
    let mut low = 0.0;
    while high - low > 1e-4 * high {
        let middle = f64::midpoint(low, high);
        if exceeding(middle) > above { low = middle } else { high = middle }
    }
    high
}

/// Requests that go to a second core if the first has not answered within a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Hedged {
    steady: Steady,
    after_ns: f64,
    /// Further requests, as a share of all.
    pub more: f64,
}

impl Hedged {
    /// Returns the steady state of cores of which each has `per_s` requests of its own, and as many
    /// second ones as others have late. The two answers of a request are taken to be independent; the
    /// one that comes later is work for nothing.
    ///
    /// # Errors
    ///
    /// As [`Turns::at`], also for all requests together.
    pub fn new(turns: &Turns, per_s: f64, after_ns: f64) -> Result<Self, Error> {
        let mut more = 0.0;
        // Each step adds the second requests that the load of the last one causes.
        for _ in 0..200 {
            let steady = turns.at(per_s * (1.0 + more))?;
            let next = steady.exceeding(after_ns);
            if (next - more).abs() < 1e-5 {
                return Ok(Self { steady, after_ns, more: next });
            }
            more = f64::midpoint(more, next);
        }
        Err(Error::Unstable { utilisation: per_s * (1.0 + more) / turns.capacity_per_s() })
    }

    /// Returns the quantile `q` of the time to the first answer, in nanoseconds.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> f64 {
        quantile(1.0 - q, |ns| {
            let first = self.steady.exceeding(ns);
            let second = ns - self.after_ns;
            if second < 0.0 { first } else { first * self.steady.exceeding(second) }
        })
    }
}
