//! An event loop that runs private-key operations in batches.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tollgate_record::Nanos;

use super::core::{Core, Serving};
use super::outside::{Clients, Done, Outside};
use super::run::Run;
use crate::Error;
use crate::demand::as_f64;

/// A limit above every machine's number of workers.
const WORKERS_MAX: u32 = 1 << 16;

/// A server with an event loop on each core, as Tollgate's embedded server is.
///
/// ```
/// use tollgate_fleet::simulation::{Core, EventLoop, Outside, Stage};
/// use tollgate_record::Nanos;
///
/// // A batch of one takes 10 ns, one of two 12 ns. Each signature has 1 ns of work on either side.
/// let stage = Stage { work_ns: 1.0, after_ns: Some(1.0) };
/// let (batch_ns, outside) = (vec![10.0, 12.0], Outside::network(vec![0.0])?);
/// let server = EventLoop::new(1, vec![stage], batch_ns, 0.0, outside, Core::default())?;
/// // The first session is alone. The others come meanwhile; the second of them completes the batch.
/// let run = server.run([0.0, 5.0, 6.0].map(Nanos::new), 1);
/// assert_eq!(run.responses, [12.0, 23.0, 21.0]);
/// assert_eq!(run.operations_per_batch(), Some(1.5));
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EventLoop {
    workers: u32,
    stages: Vec<Stage>,
    batch_ns: Vec<f64>,
    turn_ns: f64,
    outside: Outside,
    core: Core,
}

/// A part of a session that a worker does in one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// CPU time in nanoseconds; if the stage has a private-key operation, that before it.
    pub work_ns: f64,
    /// CPU time after the private-key operation; `None` if the stage has none.
    pub after_ns: Option<f64>,
}

impl EventLoop {
    /// Creates a server. `batch_ns` is the time of a batch of one private-key operation, of two,
    /// and so on, in nanoseconds; a batch of the last size starts at once. Each turn has `turn_ns`
    /// nanoseconds of work of its own. Each session goes to a random worker.
    ///
    /// # Errors
    ///
    /// No worker; no stage; no batch; a time that is below 0 or not finite.
    pub fn new(
        workers: u32,
        stages: Vec<Stage>,
        batch_ns: Vec<f64>,
        turn_ns: f64,
        outside: Outside,
        core: Core,
    ) -> Result<Self, Error> {
        if workers == 0 || workers > WORKERS_MAX {
            let must = "be within 1 and 65536";
            return Err(Error::Rejected { what: "workers", value: f64::from(workers), must });
        }
        for (what, count) in [
            ("the number of stages", stages.len()),
            ("the number of sizes of batches", batch_ns.len()),
        ] {
            Error::positive(what, as_f64(count as u64))?;
        }
        Error::not_negative("the work of a turn in ns", turn_ns)?;
        let of_stages = stages.iter().flat_map(|stage| [Some(stage.work_ns), stage.after_ns]);
        for ns in of_stages.flatten().chain(batch_ns.iter().copied()) {
            Error::not_negative("a time of a stage in ns", ns)?;
        }
        Ok(Self { workers, stages, batch_ns, turn_ns, outside, core })
    }

    /// Simulates a run. A response time is that from the arrival of a session to the end of its
    /// client's work. `arrivals` are times from 0 on, in increasing order. The seed determines the
    /// times of the network, the workers and the interruptions.
    #[must_use]
    pub fn run(&self, arrivals: impl IntoIterator<Item = Nanos>, seed: u64) -> Run {
        let mut random = fastrand::Rng::with_seed(seed);
        let stages = self.stages.len();
        let mut workers: Vec<Worker<'_>> =
            (0..self.workers).map(|_| Worker::new(self.core.serving(&mut random))).collect();
        let mut sessions = Vec::new();
        for arrival in arrivals {
            let worker = random.usize(..workers.len());
            let delay = self.outside.delay(stages, &mut random);
            let arrival = arrival.get().max(0.0);
            sessions.push(Session { arrival, delay, worker });
        }
        let mut clients = self.outside.clients(stages, &mut random);
        for (number, session) in sessions.iter().enumerate() {
            clients.give(session.arrival, number, 0);
        }
        let run = Run { responses: vec![0.0; sessions.len()], ..Run::default() };
        let mut state = State { server: self, sessions, clients, run };
        loop {
            let begins = workers.iter().map(Worker::begins).enumerate();
            let Some((first, begin)) = begins.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            if let Some(done) = state.clients.work(begin) {
                let worker = state.sessions[done.session].worker;
                workers[worker].receive(done, &mut state);
            } else if workers[first].accepts {
                workers[first].accept(&state);
            } else if begin < f64::INFINITY {
                workers[first].turn(&mut state);
            } else {
                break;
            }
        }
        let mut run = state.run;
        run.add(workers.into_iter().map(|worker| worker.core));
        run
    }
}

#[derive(Clone, Copy)]
struct Session {
    arrival: f64,
    /// The time of the network before each stage.
    delay: f64,
    worker: usize,
}

/// The state that the workers share during a run.
struct State<'a> {
    server: &'a EventLoop,
    sessions: Vec<Session>,
    clients: Clients<'a>,
    run: Run,
}

/// A stage that is ready. The order is that of the time, as the bits of a positive number.
type Ready = Reverse<(u64, usize, usize)>;

/// A session of a worker whose private-key operation was submitted.
struct Paused {
    session: usize,
    stage: usize,
    has_run: bool,
}

/// One worker during a run.
struct Worker<'a> {
    core: Serving<'a>,
    /// Connections that wait to be accepted, in the order of time.
    arrived: BinaryHeap<Reverse<(u64, usize)>>,
    ready: BinaryHeap<Ready>,
    paused: VecDeque<Paused>,
    /// Operations that wait for their batch.
    waiting: usize,
    /// At the end of a turn: it accepts connections before the next one.
    accepts: bool,
}

impl<'a> Worker<'a> {
    fn new(core: Serving<'a>) -> Self {
        let (arrived, ready, paused) = (BinaryHeap::new(), BinaryHeap::new(), VecDeque::new());
        Self { core, arrived, ready, paused, waiting: 0, accepts: false }
    }

    /// Takes a client's message. The first one belongs to a connection that is accepted first.
    fn receive(&mut self, Done { at, session, stages }: Done, state: &mut State<'_>) {
        let Session { arrival, delay, .. } = state.sessions[session];
        if stages == 0 {
            return self.arrived.push(Reverse((at.to_bits(), session)));
        }
        if stages == state.server.stages.len() {
            state.run.responses[session] = at - arrival;
        }
        self.ready.push(Reverse(((at + delay).to_bits(), session, stages)));
    }

    /// Returns the time of the next event; infinite if there is none.
    fn next_event(&self) -> f64 {
        let arrived = self.arrived.peek().map(|Reverse((at, _))| f64::from_bits(*at));
        let ready = self.ready.peek().map(|Reverse((at, ..))| f64::from_bits(*at));
        arrived.into_iter().chain(ready).fold(f64::INFINITY, f64::min)
    }

    /// Returns the time at which it accepts or its next turn begins, if no other event comes
    /// before.
    fn begins(&self) -> f64 {
        let next = if self.accepts { 0.0 } else { self.next_event() };
        next.max(self.core.free_at)
    }

    /// Serves the stages that are ready now, then the sessions whose operations were submitted
    /// meanwhile.
    fn turn(&mut self, state: &mut State<'_>) {
        let first = self.next_event();
        if first > self.core.free_at {
            self.core.wake(first);
        }
        let polled = self.core.free_at;
        self.accepts = self.arrived(polled).is_some();
        self.core.work(state.server.turn_ns);
        let mut events = Vec::new();
        while let Some(Reverse((at, session, stage))) = self.ready.peek()
            && f64::from_bits(*at) <= polled
        {
            events.push((*session, *stage));
            self.ready.pop();
        }
        for (session, stage) in events {
            self.begin(session, stage, state);
        }
        while let Some(paused) = self.paused.pop_front() {
            if !paused.has_run {
                self.run_batch(state);
            }
            self.end(paused.session, paused.stage, state);
        }
    }

    /// Returns the first connection that waits to be accepted and came until this time.
    fn arrived(&self, until: f64) -> Option<(f64, usize)> {
        let Reverse((at, session)) = self.arrived.peek()?;
        Some((f64::from_bits(*at), *session)).filter(|(at, _)| *at <= until)
    }

    /// Accepts the connections that have come until now.
    fn accept(&mut self, state: &State<'_>) {
        self.accepts = false;
        let now = self.core.free_at;
        while let Some((at, session)) = self.arrived(now) {
            self.arrived.pop();
            let at = now.max(at + state.sessions[session].delay);
            self.ready.push(Reverse((at.to_bits(), session, 0)));
        }
    }

    /// Does the work of a stage until its end, or until its private-key operation is submitted.
    /// After the last stage, the client has closed the connection.
    fn begin(&mut self, session: usize, stage: usize, state: &mut State<'_>) {
        let Some(Stage { work_ns, after_ns }) = state.server.stages.get(stage).copied() else {
            return;
        };
        self.core.work(work_ns);
        if after_ns.is_none() {
            return self.end(session, stage, state);
        }
        self.waiting += 1;
        if self.waiting == state.server.batch_ns.len() {
            self.run_batch(state);
            self.end(session, stage, state);
        } else {
            self.paused.push_back(Paused { session, stage, has_run: false });
        }
    }

    /// Runs all operations that wait.
    fn run_batch(&mut self, state: &mut State<'_>) {
        self.core.work(state.server.batch_ns[self.waiting - 1]);
        state.run.operations += self.waiting as u64;
        state.run.batches += 1;
        self.waiting = 0;
        self.paused.iter_mut().for_each(|paused| paused.has_run = true);
    }

    /// Does the work after the private-key operation, and ends the stage.
    fn end(&mut self, session: usize, stage: usize, state: &mut State<'_>) {
        self.core.work(state.server.stages[stage].after_ns.unwrap_or(0.0));
        state.clients.give(self.core.free_at, session, stage + 1);
    }
}
