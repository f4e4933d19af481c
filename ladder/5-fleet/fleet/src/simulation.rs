//! Response times by discrete-event simulation, where no closed form applies.
//!
//! A [`Simulator`] has cores with one queue. A core that is free serves the attempts that wait, up
//! to the size of a batch, together: one session at a time, or a batch of private-key operations,
//! as a worker of `tollgate signer` does. Clients can give up after a timeout and try again
//! ([`Clients`]).

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_record::Nanos;

use crate::Error;
use crate::demand::as_f64;
use crate::queue::{ServiceTime, Shape, Station};

/// The largest number of operations in a batch.
const WIDTH_MAX: usize = 64;

/// Clients with a timeout.
#[derive(Clone, Debug, PartialEq)]
pub struct Clients {
    /// Equally likely timeouts of an attempt, in nanoseconds. Each attempt draws one.
    pub patience_ns: Vec<f64>,
    /// Further attempts after a timeout.
    pub retries: u32,
    /// The share of a session's work that the server does for a client that gave up in the queue:
    /// 0 if the server knows that the client has gone, as \[Palm57\] assumes.
    pub abandoned_work: f64,
}

impl Clients {
    /// Returns clients that never give up.
    #[must_use]
    pub fn patient() -> Self {
        Self { patience_ns: vec![f64::INFINITY], retries: 0, abandoned_work: 0.0 }
    }

    fn check(&self) -> Result<(), Error> {
        Error::positive("the number of timeouts", as_f64(self.patience_ns.len() as u64))?;
        for ns in self.patience_ns.iter().filter(|ns| **ns != f64::INFINITY) {
            Error::positive("a timeout in ns", *ns)?;
        }
        if !(0.0..=1.0).contains(&self.abandoned_work) {
            let (what, value) = ("the share of abandoned work", self.abandoned_work);
            return Err(Error::Rejected { what, value, must: "be within 0 and 1" });
        }
        Ok(())
    }
}

/// Cores with one queue.
///
/// ```
/// use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
/// use tollgate_fleet::simulation::{Clients, Simulator};
/// use tollgate_record::{Estimate, Nanos};
///
/// // Sessions take 10 ns. Clients give up after 15 ns, and try once more.
/// let service = ServiceTime::new(Estimate::exact(10.0)?, Estimate::exact(0.0)?)?;
/// let clients = Clients { patience_ns: vec![15.0], retries: 1, abandoned_work: 1.0 };
/// let server = Simulator::new(Station::new(1, Discipline::OneQueue)?, &service, clients)?;
/// // The second client gives up at 16 ns. Its first attempt is served until 20 ns all the same, and
/// // its second until 30 ns.
/// let [first, second] = server.run([0.0, 1.0].map(Nanos::new), 1).try_into().unwrap();
/// assert_eq!((first.response, first.attempts), (Some(10.0), 1));
/// assert_eq!((second.response, second.attempts, second.wasted_ns), (Some(29.0), 2, 10.0));
///
/// // A signer: a batch of one takes 10 us, one of two 12 us; each request has 1 us of other work.
/// let core = Simulator::batching(1e3, &[10e3, 12e3])?;
/// assert!((core.capacity_per_s() - 2.0 / 14e-6).abs() < 1e-6);
/// // Without load, a request runs alone. At nearly full load, requests wait and batches are full.
/// let (calm, busy) = (core.steady(1.0)?, core.steady(0.9 * core.capacity_per_s())?);
/// assert!((calm.quantile_ns(0.5) - 11e3).abs() < 1.0);
/// assert!(busy.operations_per_batch > 1.5 && busy.quantile_ns(0.5) > 2.0 * 11e3);
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulator {
    cores: usize,
    work: Work,
    clients: Clients,
}

/// The work of a core for the attempts that it serves together.
#[derive(Clone, Debug)]
enum Work {
    /// One session at a time, with its mean service time in nanoseconds, and its distribution.
    Sessions { mean_ns: f64, shape: Shape },
    /// The time of a batch of one operation, of two, and so on, in nanoseconds.
    Batches(Vec<f64>),
}

/// A session of a simulated run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The response time in nanoseconds, from the first attempt; `None` if the client gave up.
    pub response: Option<f64>,
    /// The number of attempts.
    pub attempts: u32,
    /// The number of attempts that ended in the queue.
    pub left_queue: u32,
    /// The size of the batch of the last attempt.
    pub batch: u32,
    /// CPU time of all attempts in nanoseconds.
    pub busy_ns: f64,
    /// CPU time of attempts that did not end in time, in nanoseconds.
    pub wasted_ns: f64,
}

/// An attempt in the queue: its time, its session, and the number of attempts before it. The order
/// is that of the time, as the bits of a positive number.
type Attempt = Reverse<(u64, usize, u32)>;

impl Simulator {
    /// Creates cores whose sessions have this service time, one at a time. Its distribution is the
    /// one that [`Station::quantile_at_load`] assumes. All cores share one queue.
    ///
    /// # Errors
    ///
    /// No timeout, or one that is not above 0; a share of abandoned work outside 0 to 1.
    pub fn new(station: Station, service: &ServiceTime, clients: Clients) -> Result<Self, Error> {
        clients.check()?;
        let (mean_ns, scv) = (service.mean_ns().point(), service.scv().point());
        let work = Work::Sessions { mean_ns, shape: Shape::of(scv) };
        Ok(Self { cores: station.cores() as usize, work, clients })
    }

    /// Creates a core that runs the operations of the requests that wait as one batch. `work_ns` is
    /// the work for a request beside the operation, in nanoseconds, and `batch_ns` the time of a
    /// batch of one operation, of two, and so on. Clients do not give up.
    ///
    /// # Errors
    ///
    /// No batch, or more than 64 sizes; a time that is not above 0 or not finite; work below 0.
    pub fn batching(work_ns: f64, batch_ns: &[f64]) -> Result<Self, Error> {
        let work_ns = Error::not_negative("the work for a request in ns", work_ns)?;
        let width = as_f64(batch_ns.len() as u64);
        Error::positive("the number of sizes of batches", width)?;
        if batch_ns.len() > WIDTH_MAX {
            let what = "the number of sizes of batches";
            return Err(Error::Rejected { what, value: width, must: "be at most 64" });
        }
        let mut times_ns = Vec::new();
        for (others, ns) in batch_ns.iter().enumerate() {
            Error::positive("the time of a batch in ns", *ns)?;
            times_ns.push(work_ns.mul_add(as_f64(others as u64 + 1), *ns));
        }
        Ok(Self { cores: 1, work: Work::Batches(times_ns), clients: Clients::patient() })
    }

    /// Returns the sessions, or requests in full batches, per second of fully used cores.
    #[must_use]
    pub fn capacity_per_s(&self) -> f64 {
        let each_ns = match &self.work {
            Work::Sessions { mean_ns, .. } => *mean_ns,
            Work::Batches(times) => times[times.len() - 1] / as_f64(times.len() as u64),
        };
        1e9 * as_f64(self.cores as u64) / each_ns
    }

    /// Simulates a run. Returns its sessions in the order of the arrivals, which are times from 0
    /// on in increasing order. The seed determines service times and timeouts; it must not be that
    /// of random arrivals.
    #[must_use]
    pub fn run(&self, arrivals: impl IntoIterator<Item = Nanos>, seed: u64) -> Vec<Outcome> {
        let mut random = fastrand::Rng::with_seed(seed);
        let arrivals: Vec<f64> = arrivals.into_iter().map(|at| at.get().max(0.0)).collect();
        let works: Vec<f64> = arrivals.iter().map(|_| self.service_ns(&mut random)).collect();
        let mut outcomes = vec![Outcome::default(); arrivals.len()];
        let mut queue = Queue { arrivals: &arrivals, next: 0, again: BinaryHeap::new() };
        let mut free_at = vec![0.0_f64; self.cores];
        let mut batch = Vec::new();
        while let Some(first) = queue.first() {
            let core = first_free(&free_at);
            let start = free_at[core].max(first);
            batch.clear();
            while batch.len() < self.width()
                && let Some(attempt) = queue.pop(start)
            {
                let timeouts = &self.clients.patience_ns;
                batch.push((attempt, attempt.0 + timeouts[random.usize(..timeouts.len())]));
            }
            let together_ns = match &self.work {
                Work::Sessions { .. } => works[batch[0].0.1],
                Work::Batches(times) => times[batch.len() - 1],
            };
            let each_ns = together_ns / as_f64(batch.len() as u64);
            let left = batch.iter().filter(|(_, deadline)| start >= *deadline).count();
            let abandoned = as_f64(left as u64) * each_ns * (1.0 - self.clients.abandoned_work);
            free_at[core] = start + (together_ns - abandoned);
            for &((_, session, attempt), deadline) in &batch {
                let outcome = &mut outcomes[session];
                outcome.batch = u32::try_from(batch.len()).unwrap_or(u32::MAX);
                let has_left = start >= deadline;
                let work = if has_left { self.clients.abandoned_work * each_ns } else { each_ns };
                if outcome.serve(work, has_left, free_at[core] <= deadline) {
                    outcome.response = Some(free_at[core] - arrivals[session]);
                } else if attempt < self.clients.retries {
                    queue.again.push(Reverse((deadline.to_bits(), session, attempt + 1)));
                }
            }
        }
        outcomes
    }

    const fn width(&self) -> usize {
        match &self.work {
            Work::Sessions { .. } => 1,
            Work::Batches(times) => times.len(),
        }
    }

    fn service_ns(&self, random: &mut fastrand::Rng) -> f64 {
        match self.work {
            Work::Sessions { mean_ns, shape } => mean_ns * shape.draw(random),
            Work::Batches(_) => 0.0,
        }
    }

    /// Simulates random arrivals at a rate, of clients that do not give up.
    ///
    /// # Errors
    ///
    /// The rate is not above 0, or above 95 % of the capacity.
    pub fn steady(&self, per_s: f64) -> Result<Steady, Error> {
        let rate = Error::positive("the rate per second", per_s)? * 1e-9;
        let load = per_s / self.capacity_per_s();
        if load > 1.0 {
            return Err(Error::Unstable { utilisation: load });
        } else if load > LOAD_MAX + 1e-9 {
            let must = "be at most 95 % of the capacity";
            return Err(Error::Rejected { what: "the rate per second", value: per_s, must });
        }
        let mut random = fastrand::Rng::with_seed(1);
        let mut now = 0.0;
        let arrivals = (0..REQUESTS).map(|_| {
            now -= (1.0 - random.f64()).ln() / rate;
            Nanos::new(now)
        });
        let run = self.run(arrivals, 77); // another seed: service times do not follow the gaps
        let steady = &run[WARM_UP..];
        let count = as_f64(steady.len() as u64);
        let batches: f64 = steady.iter().map(|request| 1.0 / f64::from(request.batch)).sum();
        let busy_ns: f64 = steady.iter().map(|request| request.busy_ns).sum();
        let mut times_ns: Vec<f64> = steady.iter().filter_map(|request| request.response).collect();
        times_ns.sort_by(f64::total_cmp);
        let busy = (rate * busy_ns / count / as_f64(self.cores as u64)).min(1.0);
        Ok(Steady { operations_per_batch: count / batches, busy, times_ns })
    }
}

impl Outcome {
    /// Adds an attempt; returns whether it ended in time. A server does not notice that a client
    /// gives up while it serves it.
    fn serve(&mut self, work: f64, has_left: bool, ends_in_time: bool) -> bool {
        let in_time = !has_left && ends_in_time;
        self.attempts += 1;
        self.left_queue += u32::from(has_left);
        self.busy_ns += work;
        self.wasted_ns += if in_time { 0.0 } else { work };
        in_time
    }
}

/// The attempts that have not been served.
struct Queue<'a> {
    arrivals: &'a [f64],
    /// The first session that has not arrived.
    next: usize,
    again: BinaryHeap<Attempt>,
}

impl Queue<'_> {
    /// Returns the time of the first attempt.
    fn first(&self) -> Option<f64> {
        let repeated = self.again.peek().map(|Reverse((at, ..))| f64::from_bits(*at));
        let arrival = self.arrivals.get(self.next).copied();
        arrival.into_iter().chain(repeated).min_by(f64::total_cmp)
    }

    /// Removes the first attempt, if it has come by this time. Returns its time, its session, and
    /// the number of attempts before it.
    fn pop(&mut self, by: f64) -> Option<(f64, usize, u32)> {
        let first = self.first().filter(|at| *at <= by)?;
        if self.arrivals.get(self.next).is_some_and(|at| *at <= first) {
            self.next += 1;
            return Some((first, self.next - 1, 0));
        }
        self.again
            .pop()
            .map(|Reverse((at, session, attempt))| (f64::from_bits(at), session, attempt))
    }
}

fn first_free(free_at: &[f64]) -> usize {
    let first = free_at.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    first.map_or(0, |(core, _)| core)
}

/// Returns a quantile of at least one time: the smallest time that is not exceeded by a share of
/// `quantile` (0 to 1) of all.
///
/// # Panics
///
/// If there is no time.
#[must_use]
pub fn quantile(times: &mut [f64], quantile: f64) -> f64 {
    let rank = rank(quantile, times.len());
    *times.select_nth_unstable_by(rank, f64::total_cmp).1
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an index of the list"
)]
fn rank(quantile: f64, count: usize) -> usize {
    let rank = (quantile * count as f64).ceil() as usize;
    rank.clamp(1, count) - 1
}

/// The requests of a steady state, and those of its warm-up.
const REQUESTS: usize = 400_000;
const WARM_UP: usize = 10_000;
/// The largest rate of a steady state, as a share of the capacity.
const LOAD_MAX: f64 = 0.95;

/// The steady state at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// The mean number of operations in a batch.
    pub operations_per_batch: f64,
    /// The share of the time in which the cores work.
    pub busy: f64,
    times_ns: Vec<f64>,
}

impl Steady {
    /// Returns the quantile `q` of the response time, in nanoseconds: 0.5 for the median.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> f64 {
        self.times_ns[rank(q, self.times_ns.len())]
    }
}
