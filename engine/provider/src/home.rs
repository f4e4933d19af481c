//! The engine of this process: made when it is first needed, and again in a child, which has the
//! memory of its parent's engine and none of the threads that may hold its locks.

use core::num::NonZero;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, OnceLock};
use std::thread;

use tollgate_cpu::process;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_queue::{
    Caller, Class, Config, Lanes, PrivateJob, Queue, Request, SelfTestFailed, Unit,
};
use tollgate_rsa::Workspace;

use crate::counters::{Counters, Event};
use crate::room::with_room;

/// What a provider has in this process.
pub(crate) struct Home {
    process: u64,
    /// That it may use.
    cores: usize,
    /// Operations that calling threads wait for.
    waiting: AtomicUsize,
    engine: OnceLock<Option<Open>>,
}

pub(crate) struct Open {
    engine: Queue<PrivateJob>,
    /// One line for all threads: what is fair among them is between keys.
    pub(crate) caller: Caller<PrivateJob>,
}

/// One of the calling threads that wait.
pub(crate) struct Waiting<'a> {
    home: &'a Home,
    /// Whether there was a core for it when it came: then nothing is won by company.
    pub(crate) has_core: bool,
}

/// Where the home of this process hangs.
#[derive(Default)]
pub(crate) struct Homes(AtomicPtr<Home>);

impl Homes {
    /// That of this process. No lock is taken: a child may be forked at any moment. What its parent
    /// left is never touched again, nor freed.
    pub(crate) fn here(&self) -> &Home {
        let process = process::fork_generation();
        let mut current = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: NULL, or out of a box below; while `self` is there nobody frees what was
            // once hung up.
            if let Some(home) = unsafe { current.as_ref() }
                && home.process == process
            {
                return home;
            }
            let fresh = Box::into_raw(Box::new(Home::new(process)));
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match self.0.compare_exchange(current, fresh, order.0, order.1) {
                // SAFETY: as above.
                Ok(_) => return unsafe { &*fresh },
                Err(other) => {
                    // SAFETY: out of the box above, and nobody has seen it.
                    drop(unsafe { Box::from_raw(fresh) });
                    current = other;
                }
            }
        }
    }

    /// Ends what waits in the engine, if this process has one; what runs is done.
    pub(crate) fn close(&self) {
        if let Some(Some(open)) = self.here().engine.get() {
            // It was forked meanwhile, or nothing is to be done.
            let _ = open.engine.shut_down(Duration::ZERO);
        }
    }
}

impl Drop for Homes {
    fn drop(&mut self) {
        let home = *self.0.get_mut();
        // SAFETY: as in `here`.
        if unsafe { home.as_ref() }.is_some_and(|home| home.process == process::fork_generation()) {
            // SAFETY: out of a box, and `self` is the last to know it.
            drop(unsafe { Box::from_raw(home) });
        }
    }
}

impl Home {
    fn new(process: u64) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self { process, cores, waiting: AtomicUsize::new(0), engine: OnceLock::new() }
    }

    /// A calling thread waits until the value is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        let has_core = self.waiting.fetch_add(1, Ordering::Relaxed) < self.cores;
        Waiting { home: self, has_core }
    }

    /// Whom to submit as; the engine is made if there is none yet. None if that is impossible.
    pub(crate) fn caller(&self, plan: impl FnOnce() -> Plan) -> Option<&Caller<PrivateJob>> {
        self.engine
            .get_or_init(|| with_room(|| plan().open(self.cores)))
            .as_ref()
            .map(|open| &open.caller)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.home.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How an engine is made.
pub(crate) struct Plan {
    pub(crate) limbs: LimbKernel,
    pub(crate) lanes: LaneKernel,
    pub(crate) linger_us_max: u32,
    pub(crate) counters: Arc<Counters>,
}

/// Operations that wait or run at a time. Who comes then does it alone, which holds up a server
/// that has taken more than it can do.
const CAPACITY: usize = 256;

impl Plan {
    /// With a unit for each core.
    pub(crate) fn open(self, cores: usize) -> Option<Open> {
        let unit = |number| {
            let workspace = Workspace::with_kernels(self.limbs, self.lanes);
            let lanes = Lanes::with_workspace(number, workspace);
            Box::new(Counted { lanes, counters: Arc::clone(&self.counters) }) as Box<dyn Unit<_>>
        };
        let config = Config {
            slots_per_caller_max: CAPACITY,
            linger_us_max: self.linger_us_max,
            ..Config::with_capacity(CAPACITY)
        };
        let engine = Queue::start(config, (0..cores).map(unit)).ok()?;
        let caller = engine.caller().ok()?;
        Some(Open { engine, caller })
    }
}

/// Lanes whose batches are counted.
struct Counted {
    lanes: Lanes,
    counters: Arc<Counters>,
}

impl Unit<PrivateJob> for Counted {
    fn name(&self) -> &str {
        self.lanes.name()
    }

    fn width(&self, class: Class) -> usize {
        self.lanes.width(class)
    }

    fn run(&mut self, batch: &mut [Box<Request<PrivateJob>>]) {
        if batch.len() > 1 {
            self.counters.count(Event::Batch);
            self.counters.add(Event::BatchedOperation, batch.len());
        }
        self.lanes.run(batch);
    }

    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        self.lanes.self_test()
    }
}
