//! Sessions in stages, each of which waits for its core.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_record::Nanos;

use super::first_free;
use crate::Error;
use crate::demand::as_f64;
use crate::queue::{Discipline, Station};

/// A server whose sessions have stages.
///
/// ```
/// use tollgate_fleet::queue::{Discipline, Station};
/// use tollgate_fleet::simulation::Simulation;
/// use tollgate_record::Nanos;
///
/// // Two stages of 100 ns, before each of them 10 ns of network and client, and 5 ns to wake up.
/// let station = Station::new(1, Discipline::OneQueue)?;
/// let server = Simulation::new(station, vec![100.0, 100.0], vec![20.0], 5.0)?;
/// // The second session finds the core at work, and each stage waits for one of the first session.
/// let times = server.responses([0.0, 1.0].map(Nanos::new), 1);
/// assert_eq!(times, [315.0, 414.0]);
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    station: Station,
    work_ns: Vec<f64>,
    outside_ns: Vec<f64>,
    wake_ns: f64,
}

/// A stage of a session that is ready for its core. The order is that of the core's queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    /// The time, as the bits of a positive number: their order is that of the numbers.
    at: u64,
    session: usize,
    stage: usize,
    /// The core of the session, once it is chosen.
    core: Option<usize>,
}

impl Simulation {
    /// Creates a server. `work_ns` is the CPU time of each stage, in nanoseconds. `outside_ns` has
    /// equally likely times that a session spends outside the server, in nanoseconds: network and
    /// client. Each session draws one of them; an equal part passes before each stage. A core that
    /// is idle when a stage becomes ready first works for `wake_ns` nanoseconds, to wake up.
    ///
    /// With [`Discipline::OneQueue`], a session goes to the core that is free first, and with
    /// [`Discipline::QueuePerCore`] to a random core. All its stages run on this core, in the order
    /// in which the stages of all sessions become ready.
    ///
    /// # Errors
    ///
    /// No stage; no time outside; a time that is below 0 or not finite; [`Discipline::Sharing`].
    pub fn new(
        station: Station,
        work_ns: Vec<f64>,
        outside_ns: Vec<f64>,
        wake_ns: f64,
    ) -> Result<Self, Error> {
        if station.discipline() == Discipline::Sharing {
            return Err(Error::NoQuantile);
        }
        Error::positive("the number of stages", as_f64(work_ns.len() as u64))?;
        Error::positive("the number of times outside", as_f64(outside_ns.len() as u64))?;
        Error::not_negative("the time to wake up in ns", wake_ns)?;
        for ns in work_ns.iter().chain(&outside_ns) {
            Error::not_negative("a time of a stage in ns", *ns)?;
        }
        Ok(Self { station, work_ns, outside_ns, wake_ns })
    }

    /// Returns the response time of each session in nanoseconds, in the order of the arrivals:
    /// from its arrival to the end of its last stage. `arrivals` are times from 0 on, in increasing
    /// order. The seed determines the times outside, and the cores of [`Discipline::QueuePerCore`].
    #[must_use]
    pub fn responses(&self, arrivals: impl IntoIterator<Item = Nanos>, seed: u64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut free_at = vec![0.0_f64; self.station.cores() as usize];
        let mut responses = Vec::new();
        let mut ready = BinaryHeap::new();
        let mut arrivals = arrivals.into_iter().map(Nanos::get).peekable();
        let stages = as_f64(self.work_ns.len() as u64);
        let mut began = Vec::new();
        loop {
            // A stage can only be ready after the arrival of its session.
            while let Some(&arrival) = arrivals.peek() {
                let is_next = |Reverse(next): &Reverse<Ready>| f64::from_bits(next.at) < arrival;
                if ready.peek().is_some_and(is_next) {
                    break;
                }
                let has_queue = self.station.discipline() == Discipline::QueuePerCore;
                let core = has_queue.then(|| random.usize(..free_at.len()));
                let before = self.outside_ns[random.usize(..self.outside_ns.len())] / stages;
                let at = (arrival + before).max(0.0).to_bits();
                ready.push(Reverse(Ready { at, session: began.len(), stage: 0, core }));
                began.push((arrival, before));
                arrivals.next();
            }
            let Some(Reverse(next)) = ready.pop() else { break };
            let (arrival, before) = began[next.session];
            let at = f64::from_bits(next.at);
            let core = next.core.unwrap_or_else(|| first_free(&free_at));
            let is_idle = free_at[core] <= at;
            let wake_ns = if is_idle { self.wake_ns } else { 0.0 };
            let end = free_at[core].max(at) + wake_ns + self.work_ns[next.stage];
            free_at[core] = end;
            let stage = next.stage + 1;
            if stage < self.work_ns.len() {
                let at = (end + before).to_bits();
                ready.push(Reverse(Ready { at, stage, core: Some(core), ..next }));
            } else {
                responses.push((next.session, end - arrival));
            }
        }
        responses.sort_unstable_by_key(|&(session, _)| session);
        responses.into_iter().map(|(_, response)| response).collect()
    }
}
