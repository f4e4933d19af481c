//! Clients that give up, and come again.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_record::Nanos;

use super::first_free;
use crate::Error;
use crate::demand::as_f64;
use crate::queue::{Discipline, ServiceTime, Shape, Station};

/// Clients with a timeout.
#[derive(Clone, Debug, PartialEq)]
pub struct Clients {
    /// Equally likely timeouts of an attempt, in nanoseconds. Each attempt draws one.
    pub patience_ns: Vec<f64>,
    /// Further attempts after a timeout.
    pub retries: u32,
    /// The time from a timeout to the next attempt, in nanoseconds. It doubles with each attempt.
    pub backoff_ns: f64,
    /// The share of a session's work that the server does for a client that gave up in the queue:
    /// 0 if the server knows that the client has gone, as \[Palm57\] assumes.
    pub abandoned_work: f64,
}

/// Cores with one queue, and clients that give up.
///
/// ```
/// use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
/// use tollgate_fleet::simulation::{Clients, Impatience};
/// use tollgate_record::{Estimate, Nanos};
///
/// // Sessions take 10 ns. Clients give up after 15 ns, and try once more.
/// let service = ServiceTime::new(Estimate::exact(10.0)?, Estimate::exact(0.0)?)?;
/// let clients =
///     Clients { patience_ns: vec![15.0], retries: 1, backoff_ns: 0.0, abandoned_work: 1.0 };
/// let server = Impatience::new(Station::new(1, Discipline::OneQueue)?, &service, clients)?;
/// // The second client gives up at 16 ns. Its first attempt is served until 20 ns all the same, and
/// // its second until 30 ns.
/// let [first, second] = server.run([0.0, 1.0].map(Nanos::new), 1).try_into().unwrap();
/// assert_eq!((first.response, first.attempts), (Some(10.0), 1));
/// assert_eq!((second.response, second.attempts, second.wasted_ns), (Some(29.0), 2, 10.0));
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Impatience {
    cores: usize,
    /// Each kind of session: its share, its mean service time in nanoseconds, and its distribution.
    kinds: Vec<(f64, f64, Shape)>,
    clients: Clients,
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
    /// CPU time of all attempts in nanoseconds.
    pub busy_ns: f64,
    /// CPU time of attempts that did not end in time, in nanoseconds.
    pub wasted_ns: f64,
}

struct Session {
    arrival: f64,
    service: f64,
}

impl Impatience {
    /// Creates cores whose sessions have this service time. Its distribution is the one that
    /// [`Station::quantile_at_load`] assumes.
    ///
    /// # Errors
    ///
    /// Another discipline than [`Discipline::OneQueue`]; no timeout, or one that is not above 0; a
    /// backoff that is below 0 or not finite; a share of abandoned work outside 0 to 1.
    pub fn new(station: Station, service: &ServiceTime, clients: Clients) -> Result<Self, Error> {
        if station.discipline() != Discipline::OneQueue {
            return Err(Error::OneQueueOnly);
        }
        Error::positive("the number of timeouts", as_f64(clients.patience_ns.len() as u64))?;
        for ns in &clients.patience_ns {
            Error::positive("a timeout in ns", *ns)?;
        }
        Error::not_negative("the backoff in ns", clients.backoff_ns)?;
        if !(0.0..=1.0).contains(&clients.abandoned_work) {
            let (what, value) = ("the share of abandoned work", clients.abandoned_work);
            return Err(Error::Rejected { what, value, must: "be within 0 and 1" });
        }
        let mean = service.mean_ns().point();
        let kinds = service.kinds(service.scv().point()).into_iter();
        let kinds =
            kinds.map(|(share, times, scv)| (share, mean * times, Shape::of(scv))).collect();
        Ok(Self { cores: station.cores() as usize, kinds, clients })
    }

    /// Simulates a run. Returns its sessions in the order of the arrivals, which are times from 0
    /// on in increasing order. The seed determines kinds, service times and timeouts.
    #[must_use]
    pub fn run(&self, arrivals: impl IntoIterator<Item = Nanos>, seed: u64) -> Vec<Outcome> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut free_at = vec![0.0_f64; self.cores];
        let mut arrivals = arrivals.into_iter().map(|at| at.get().max(0.0)).peekable();
        let mut sessions: Vec<Session> = Vec::new();
        let mut again: BinaryHeap<Reverse<(u64, usize, u32)>> = BinaryHeap::new();
        loop {
            // Attempts join the queue in the order of their times.
            let repeated = again.peek().map(|Reverse((at, ..))| f64::from_bits(*at));
            let (at, session, attempt) = match (arrivals.peek(), repeated) {
                (Some(&arrival), repeated) if repeated.is_none_or(|at| arrival <= at) => {
                    arrivals.next();
                    sessions.push(Session { arrival, service: self.draw(&mut random) });
                    outcomes.push(Outcome::default());
                    (arrival, sessions.len() - 1, 0)
                }
                _ => match again.pop() {
                    Some(Reverse((at, session, attempt))) => (f64::from_bits(at), session, attempt),
                    None => return outcomes,
                },
            };
            let timeouts = &self.clients.patience_ns;
            let deadline = at + timeouts[random.usize(..timeouts.len())];
            let core = first_free(free_at.iter().copied());
            let Session { arrival, service } = sessions[session];
            let outcome = &mut outcomes[session];
            if outcome.serve(&mut free_at[core], (at, deadline), (service, self)) {
                outcome.response = Some(free_at[core] - arrival);
            } else if attempt < self.clients.retries {
                let backoff = self.clients.backoff_ns * f64::from(attempt).exp2();
                again.push(Reverse(((deadline + backoff).to_bits(), session, attempt + 1)));
            }
        }
    }

    fn draw(&self, random: &mut fastrand::Rng) -> f64 {
        let mut place = random.f64();
        let kind = self.kinds.iter().find(|(share, ..)| {
            place -= share;
            place < 0.0
        });
        kind.or(self.kinds.last()).map_or(0.0, |(_, mean, shape)| mean * shape.draw(random))
    }
}

impl Outcome {
    /// Serves an attempt on a core; returns whether it ended in time. A server does not notice that
    /// a client gives up while it serves it.
    fn serve(
        &mut self,
        free_at: &mut f64,
        (at, deadline): (f64, f64),
        (service, server): (f64, &Impatience),
    ) -> bool {
        let begin = free_at.max(at);
        let has_left = begin >= deadline;
        let work = if has_left { server.clients.abandoned_work * service } else { service };
        *free_at = begin + work;
        let in_time = !has_left && *free_at <= deadline;
        self.attempts += 1;
        self.left_queue += u32::from(has_left);
        self.busy_ns += work;
        self.wasted_ns += if in_time { 0.0 } else { work };
        in_time
    }
}
