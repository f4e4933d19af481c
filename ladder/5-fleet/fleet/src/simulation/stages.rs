//! Sessions in stages, each of which waits for its core.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_record::Nanos;

use super::core::{Core, Serving};
use super::first_free;
use super::outside::Outside;
use super::run::Run;
use crate::Error;
use crate::demand::as_f64;
use crate::queue::{Discipline, Station};

/// A server whose sessions have stages.
///
/// ```
/// use tollgate_fleet::queue::{Discipline, Station};
/// use tollgate_fleet::simulation::{Core, Interruptions, Outside, Simulation};
/// use tollgate_record::Nanos;
///
/// // Two stages of 100 ns, before each of them 10 ns of network and client, and 5 ns to wake up.
/// let station = Station::new(1, Discipline::OneQueue)?;
/// let core = Core::new(5.0, Interruptions::default())?;
/// let outside = Outside::network(vec![20.0])?;
/// let server = Simulation::new(station, vec![100.0, 100.0], outside, core)?;
/// // The second session finds the core at work, and each stage waits for one of the first session.
/// let run = server.run([0.0, 1.0].map(Nanos::new), 1);
/// assert_eq!(run.responses, [315.0, 414.0]);
/// assert_eq!(run.cpu_ns_per_session(), Some(202.5));
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    station: Station,
    work_ns: Vec<f64>,
    outside: Outside,
    core: Core,
}

/// A stage of a session that is ready for its core. The order is that of the core's queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    /// The time, as the bits of a positive number: their order is that of the numbers.
    at: u64,
    session: usize,
    stage: usize,
}

struct Session {
    arrival: f64,
    /// The time of the network before each stage.
    delay: f64,
    /// With one queue, it is chosen when the first stage begins.
    core: Option<usize>,
}

impl Simulation {
    /// Creates a server. `work_ns` is the CPU time of each stage, in nanoseconds. A core that is
    /// idle when a stage becomes ready first wakes up.
    ///
    /// With [`Discipline::OneQueue`], a session goes to the core that is free first, and with
    /// [`Discipline::QueuePerCore`] to a random core. All its stages run on this core, in the order
    /// in which the stages of all sessions become ready.
    ///
    /// # Errors
    ///
    /// No stage; a time that is below 0 or not finite; [`Discipline::Sharing`].
    pub fn new(
        station: Station,
        work_ns: Vec<f64>,
        outside: Outside,
        core: Core,
    ) -> Result<Self, Error> {
        if station.discipline() == Discipline::Sharing {
            return Err(Error::NoQuantile);
        }
        Error::positive("the number of stages", as_f64(work_ns.len() as u64))?;
        for ns in &work_ns {
            Error::not_negative("a time of a stage in ns", *ns)?;
        }
        Ok(Self { station, work_ns, outside, core })
    }

    /// Simulates a run. A response time is that from the arrival of a session to the end of its
    /// client's work. `arrivals` are times from 0 on, in increasing order. The seed determines the
    /// times of the network, the cores of [`Discipline::QueuePerCore`] and the interruptions.
    #[must_use]
    pub fn run(&self, arrivals: impl IntoIterator<Item = Nanos>, seed: u64) -> Run {
        let mut random = fastrand::Rng::with_seed(seed);
        let stages = self.work_ns.len();
        let mut cores: Vec<Serving<'_>> =
            (0..self.station.cores()).map(|_| self.core.serving(&mut random)).collect();
        let mut clients = self.outside.clients(stages, &mut random);
        let mut sessions = Vec::new();
        for arrival in arrivals {
            let has_queue = self.station.discipline() == Discipline::QueuePerCore;
            let core = has_queue.then(|| random.usize(..cores.len()));
            let delay = self.outside.delay(stages, &mut random);
            let arrival = arrival.get().max(0.0);
            clients.give(arrival, sessions.len(), 0);
            sessions.push(Session { arrival, delay, core });
        }
        let mut run = Run { responses: vec![0.0; sessions.len()], ..Run::default() };
        let mut ready = BinaryHeap::<Reverse<Ready>>::new();
        loop {
            let first = ready.peek().map_or(f64::INFINITY, |Reverse(next)| f64::from_bits(next.at));
            if let Some(done) = clients.work(first) {
                let Session { arrival, delay, .. } = sessions[done.session];
                if done.stages < stages {
                    let at = (done.at + delay).to_bits();
                    ready.push(Reverse(Ready { at, session: done.session, stage: done.stages }));
                } else {
                    run.responses[done.session] = done.at - arrival;
                }
                continue;
            }
            let Some(Reverse(Ready { at, session, stage })) = ready.pop() else { break };
            let free = || first_free(cores.iter().map(|core| core.free_at));
            let core = *sessions[session].core.get_or_insert_with(free);
            cores[core].serve(f64::from_bits(at), self.work_ns[stage]);
            clients.give(cores[core].free_at, session, stage + 1);
        }
        run.add(cores);
        run
    }
}
