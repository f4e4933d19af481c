//! The engine of this process. It is created on first use. A forked child creates its own engine:
//! the child has a copy of its parent's engine, but not the parent's threads, which may hold the
//! engine's locks.

use core::num::NonZero;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, OnceLock};
use std::thread;

use tollgate_cpu::process;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_queue::{
    Caller, Class, Config, Job as _, Lanes, PrivateJob, Queue, Request, SelfTestFailed, Unit,
};
use tollgate_rsa::Workspace;

use crate::alt_stack::on_alt_stack;
use crate::connections::Connections;
use crate::counters::{Counters, Event};
use crate::settings::SIGNERS_MAX;

/// The state of a provider in one process.
pub(crate) struct ProcessState {
    /// The fork generation of the process.
    process: u64,
    /// The number of logical cores that the process may use.
    cores: usize,
    /// The number of calling threads with an operation under way.
    waiting: AtomicUsize,
    /// The number of operations that ran at once because no batch was expected.
    alone: AtomicUsize,
    engine: OnceLock<Option<RunningEngine>>,
    /// Those to each signer.
    pub(crate) connections: [Connections; SIGNERS_MAX],
}

pub(crate) struct RunningEngine {
    engine: Queue<PrivateJob>,
    /// All threads share one queue; the engine is fair between keys.
    pub(crate) caller: Caller<PrivateJob>,
}

/// A calling thread with an operation under way.
pub(crate) struct Waiting<'a> {
    state: &'a ProcessState,
    /// True if a core was free when the thread began. Then batching does not pay.
    pub(crate) has_core: bool,
}

/// Holds the state of the current process.
#[derive(Default)]
pub(crate) struct ProcessStates(AtomicPtr<ProcessState>);

impl ProcessStates {
    /// Returns the state of this process, and creates it if necessary. Takes no lock, because a
    /// process may fork at any moment. A child closes its copies of its parent's connections, and
    /// neither uses nor frees the rest of its parent's state.
    pub(crate) fn current(&self) -> &ProcessState {
        let process = process::fork_generation();
        let mut current = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: NULL, or from a box below; a published state is not freed before `self`.
            if let Some(state) = unsafe { current.as_ref() }
                && state.process == process
            {
                return state;
            }
            let fresh = Box::into_raw(Box::new(ProcessState::new(process)));
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match self.0.compare_exchange(current, fresh, order.0, order.1) {
                Ok(parents) => {
                    // SAFETY: NULL, or the state of the process that forked this one, or of a
                    // process before it. Never freed in this one.
                    if let Some(parents) = unsafe { parents.as_ref() } {
                        parents.connections.iter().for_each(Connections::close_in_child);
                    }
                    // SAFETY: as above.
                    return unsafe { &*fresh };
                }
                Err(other) => {
                    // SAFETY: from the box above, and never published.
                    drop(unsafe { Box::from_raw(fresh) });
                    current = other;
                }
            }
        }
    }

    /// Cancels requests that wait in the engine, if this process has an engine. Running requests
    /// complete.
    pub(crate) fn close(&self) {
        if let Some(Some(running)) = self.current().engine.get() {
            // The shutdown fails if the process was forked meanwhile, or if requests were running.
            let _ = running.engine.shut_down(Duration::ZERO);
        }
    }
}

impl Drop for ProcessStates {
    fn drop(&mut self) {
        let state = *self.0.get_mut();
        // SAFETY: as in `current`.
        let is_ours = unsafe { state.as_ref() }
            .is_some_and(|state| state.process == process::fork_generation());
        if is_ours {
            // SAFETY: from a box, and `self` has the last pointer to it.
            drop(unsafe { Box::from_raw(state) });
        }
    }
}

impl ProcessState {
    fn new(process: u64) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let [waiting, alone] = [0, 0].map(AtomicUsize::new);
        let (engine, connections) = (OnceLock::new(), Default::default());
        Self { process, cores, waiting, alone, engine, connections }
    }

    /// Counts the calling thread as waiting until the returned value is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        let has_core = self.waiting.fetch_add(1, Ordering::Relaxed) < self.cores;
        Waiting { state: self, has_core }
    }

    /// Returns whether an operation of this class should wait for others: a batch of `fewest` is
    /// expected, or it is time to try.
    pub(crate) fn may_share(
        &self,
        caller: &Caller<PrivateJob>,
        class: Class,
        fewest: usize,
    ) -> bool {
        caller.may_share(class, fewest).unwrap_or(false)
            || self.alone.fetch_add(1, Ordering::Relaxed) % TRY_ONE_IN == TRY_ONE_IN - 1
    }

    /// Returns the handle for submitting requests, and starts the engine if necessary. Returns
    /// `None` if the engine cannot start.
    pub(crate) fn caller(&self, plan: impl FnOnce() -> EnginePlan) -> Option<&Caller<PrivateJob>> {
        self.engine
            .get_or_init(|| on_alt_stack(|| plan().start(self.cores)))
            .as_ref()
            .map(|running| &running.caller)
    }
}

/// One of this many operations waits for others although no batch is expected.
const TRY_ONE_IN: usize = 16;

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.state.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The parameters of an engine.
pub(crate) struct EnginePlan {
    pub(crate) limbs: LimbKernel,
    pub(crate) lanes: LaneKernel,
    pub(crate) linger_us_max: u32,
    pub(crate) counters: Arc<Counters>,
}

/// The maximum number of operations that wait or run in the engine at a time. Further operations
/// run on their own threads, so a server slows down when it has accepted more than it can serve.
const CAPACITY: usize = 256;

impl EnginePlan {
    /// Starts an engine that has one unit for each core.
    pub(crate) fn start(self, cores: usize) -> Option<RunningEngine> {
        let unit = |number| {
            let workspace = Workspace::with_kernels(self.limbs, self.lanes);
            let lanes = Lanes::with_workspace(number, workspace);
            Box::new(CountedLanes { lanes, counters: Arc::clone(&self.counters) })
                as Box<dyn Unit<_>>
        };
        let config = Config {
            slots_per_caller_max: CAPACITY,
            linger_us_max: self.linger_us_max,
            ..Config::with_capacity(CAPACITY)
        };
        let engine = Queue::start(config, (0..cores).map(unit)).ok()?;
        let caller = engine.caller().ok()?;
        Some(RunningEngine { engine, caller })
    }
}

/// A unit that counts the batches of its lanes.
struct CountedLanes {
    lanes: Lanes,
    counters: Arc<Counters>,
}

impl Unit<PrivateJob> for CountedLanes {
    fn name(&self) -> &str {
        self.lanes.name()
    }

    fn width(&self, class: Class) -> usize {
        self.lanes.width(class)
    }

    fn run(&mut self, batch: &mut [Box<Request<PrivateJob>>]) {
        if let [first, _, ..] = &*batch {
            let (batches, operations) = match first.job.class() {
                PrivateJob::X25519 | PrivateJob::ECDSA_P256 => {
                    (Event::CurveBatch, Event::BatchedCurveOperation)
                }
                _ => (Event::Batch, Event::BatchedOperation),
            };
            self.counters.count(batches);
            self.counters.add(operations, batch.len());
        }
        self.lanes.run(batch);
    }

    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        self.lanes.self_test()
    }
}
