//! An event loop that runs private-key operations in batches.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tollgate_record::Nanos;

use crate::Error;
use crate::demand::as_f64;

/// A limit above every machine's number of workers.
const WORKERS_MAX: u32 = 1 << 16;

/// A server with an event loop on each core, as Tollgate's embedded server is.
///
/// ```
/// use tollgate_fleet::simulation::{EventLoop, Stage};
/// use tollgate_record::Nanos;
///
/// // A batch of one takes 10 ns, one of two 12 ns. Each signature has 1 ns of work on either side.
/// let stage = Stage { work_ns: 1.0, after_ns: Some(1.0) };
/// let server = EventLoop::new(1, vec![stage], vec![10.0, 12.0], vec![0.0], 0.0)?;
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
    outside_ns: Vec<f64>,
    wake_ns: f64,
}

/// A part of a session that a worker does in one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// CPU time in nanoseconds; if the stage has a private-key operation, that before it.
    pub work_ns: f64,
    /// CPU time after the private-key operation; `None` if the stage has none.
    pub after_ns: Option<f64>,
}

/// The result of a simulated run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The response time of each session in nanoseconds, in the order of the arrivals.
    pub responses: Vec<f64>,
    operations: u64,
    batches: u64,
}

impl Run {
    /// Returns the mean number of operations in a batch; `None` without operations.
    #[must_use]
    pub fn operations_per_batch(&self) -> Option<f64> {
        (self.batches > 0).then(|| as_f64(self.operations) / as_f64(self.batches))
    }
}

impl EventLoop {
    /// Creates a server. `batch_ns` is the time of a batch of one private-key operation, of two, and
    /// so on, in nanoseconds; a batch of the last size starts at once. `outside_ns` has equally
    /// likely times that a session spends outside the server, in nanoseconds: network and client.
    /// Each session draws one of them; an equal part passes before each stage. A worker that sleeps
    /// first works for `wake_ns` nanoseconds. Each session goes to a random worker.
    ///
    /// # Errors
    ///
    /// No worker; no stage; no batch; no time outside; a time that is below 0 or not finite.
    pub fn new(
        workers: u32,
        stages: Vec<Stage>,
        batch_ns: Vec<f64>,
        outside_ns: Vec<f64>,
        wake_ns: f64,
    ) -> Result<Self, Error> {
        if workers == 0 || workers > WORKERS_MAX {
            let must = "be within 1 and 65536";
            return Err(Error::Rejected { what: "workers", value: f64::from(workers), must });
        }
        for (what, count) in [
            ("the number of stages", stages.len()),
            ("the number of sizes of batches", batch_ns.len()),
            ("the number of times outside", outside_ns.len()),
        ] {
            Error::positive(what, as_f64(count as u64))?;
        }
        Error::not_negative("the time to wake up in ns", wake_ns)?;
        let of_stages = stages.iter().flat_map(|stage| [Some(stage.work_ns), stage.after_ns]);
        for ns in of_stages.flatten().chain(batch_ns.iter().chain(&outside_ns).copied()) {
            Error::not_negative("a time of a stage in ns", ns)?;
        }
        Ok(Self { workers, stages, batch_ns, outside_ns, wake_ns })
    }

    /// Simulates a run. `arrivals` are times from 0 on, in increasing order. The seed determines the
    /// times outside and the workers.
    #[must_use]
    pub fn run(&self, arrivals: impl IntoIterator<Item = Nanos>, seed: u64) -> Run {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut sessions = vec![Vec::new(); self.workers as usize];
        let parts = as_f64(self.stages.len() as u64);
        let mut count = 0;
        for arrival in arrivals {
            let worker = random.usize(..sessions.len());
            let before = self.outside_ns[random.usize(..self.outside_ns.len())] / parts;
            let arrival = arrival.get().max(0.0);
            sessions[worker].push(Session { number: count, arrival, before });
            count += 1;
        }
        let mut run = Run { responses: vec![0.0; count], ..Run::default() };
        for sessions in &sessions {
            Worker::new(self, sessions, &mut run).run();
        }
        run
    }
}

#[derive(Clone, Copy)]
struct Session {
    number: usize,
    arrival: f64,
    /// The time outside the server before each stage.
    before: f64,
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
    server: &'a EventLoop,
    sessions: &'a [Session],
    run: &'a mut Run,
    now: f64,
    /// The first session that was not accepted yet.
    next: usize,
    ready: BinaryHeap<Ready>,
    paused: VecDeque<Paused>,
    /// Operations that wait for their batch.
    waiting: usize,
}

impl<'a> Worker<'a> {
    fn new(server: &'a EventLoop, sessions: &'a [Session], run: &'a mut Run) -> Self {
        let (ready, paused) = (BinaryHeap::new(), VecDeque::new());
        Self { server, sessions, run, now: 0.0, next: 0, ready, paused, waiting: 0 }
    }

    fn run(mut self) {
        while let Some(first) = self.next_event() {
            if first > self.now {
                self.now = first + self.server.wake_ns;
            }
            self.turn();
        }
    }

    /// Returns the time of the next event.
    fn next_event(&self) -> Option<f64> {
        let arrival = self.sessions.get(self.next).map(|session| session.arrival);
        let ready = self.ready.peek().map(|Reverse((at, ..))| f64::from_bits(*at));
        arrival.into_iter().chain(ready).min_by(f64::total_cmp)
    }

    /// Serves the stages that are ready now, then the sessions whose operations were submitted
    /// meanwhile, and at last accepts connections.
    fn turn(&mut self) {
        let polled = self.now;
        let has_arrivals = self.has_arrived(polled);
        let mut events = Vec::new();
        while let Some(Reverse((at, session, stage))) = self.ready.peek()
            && f64::from_bits(*at) <= polled
        {
            events.push((*session, *stage));
            self.ready.pop();
        }
        for (session, stage) in events {
            self.begin(session, stage);
        }
        while let Some(paused) = self.paused.pop_front() {
            if !paused.has_run {
                self.run_batch();
            }
            self.end(paused.session, paused.stage);
        }
        while has_arrivals && self.has_arrived(self.now) {
            let Session { arrival, before, .. } = self.sessions[self.next];
            let at = self.now.max(arrival + before);
            self.ready.push(Reverse((at.to_bits(), self.next, 0)));
            self.next += 1;
        }
    }

    fn has_arrived(&self, now: f64) -> bool {
        self.sessions.get(self.next).is_some_and(|session| session.arrival <= now)
    }

    /// Does the work of a stage until its end, or until its private-key operation is submitted.
    fn begin(&mut self, session: usize, stage: usize) {
        self.now += self.server.stages[stage].work_ns;
        if self.server.stages[stage].after_ns.is_none() {
            return self.end(session, stage);
        }
        self.waiting += 1;
        if self.waiting == self.server.batch_ns.len() {
            self.run_batch();
            self.end(session, stage);
        } else {
            self.paused.push_back(Paused { session, stage, has_run: false });
        }
    }

    /// Runs all operations that wait.
    fn run_batch(&mut self) {
        self.now += self.server.batch_ns[self.waiting - 1];
        self.run.operations += self.waiting as u64;
        self.run.batches += 1;
        self.waiting = 0;
        self.paused.iter_mut().for_each(|paused| paused.has_run = true);
    }

    /// Does the work after the private-key operation, and ends the stage.
    fn end(&mut self, session: usize, stage: usize) {
        self.now += self.server.stages[stage].after_ns.unwrap_or(0.0);
        let Session { number, arrival, before } = self.sessions[session];
        if stage + 1 < self.server.stages.len() {
            let at = self.now + before;
            self.ready.push(Reverse((at.to_bits(), session, stage + 1)));
        } else {
            self.run.responses[number] = self.now - arrival;
        }
    }
}
