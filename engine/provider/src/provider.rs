//! The provider in one library context: settings, kernels, health, and the common part of its
//! entry points.
#![forbid(unsafe_code)]

use core::cell::RefCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_queue::PrivateJob;
use tollgate_rsa::Workspace;

use crate::boundary::catch;
use crate::counters::{Counters, Event};
use crate::jobs::{Jobs, RunningJob};
use crate::metrics::Metrics;
use crate::process_state::ProcessStates;
use crate::reason::Reason;
use crate::settings::Settings;
use crate::signature_padding::SaltLength;
use crate::upcalls::Core;

/// The state that all keys and contexts of a library context share.
pub(crate) struct Provider {
    pub(crate) counters: Arc<Counters>,
    metrics: Option<Arc<Metrics>>,
    pub(crate) settings: Settings,
    /// The default length of a PSS salt.
    pub(crate) salt: SaltLength,
    core: Core,
    jobs: Option<Jobs>,
    pub(crate) limbs: LimbKernel,
    pub(crate) lanes: LaneKernel,
    healthy: AtomicBool,
    pub(crate) states: ProcessStates,
}

/// The memory that a thread needs for an operation.
pub(crate) struct Scratch {
    pub(crate) workspace: Box<Workspace>,
    pub(crate) job: Box<PrivateJob>,
}

impl Provider {
    /// Reads the settings and chooses the kernels. The configuration and the environment are read
    /// only here, because servers clear the environment before they fork workers. If a setting or a
    /// veto is not valid, returns `None` and raises the reason with a message.
    ///
    /// libcrypto holds a reference to the provider, and so does each key and each context.
    pub(crate) fn new(core: Core) -> Option<Arc<Self>> {
        let settings = Settings::read(|key| core.setting(key))
            .map_err(|why| core.raise_with(Reason::Setting, &why))
            .ok()?;
        let workspace =
            Workspace::new().map_err(|why| core.raise_with(Reason::Veto, &why.to_string())).ok()?;
        let counters = Arc::new(Counters::default());
        Some(Arc::new_cyclic(|provider: &Weak<Self>| Self {
            metrics: settings
                .metrics
                .as_deref()
                .map(|folder| Metrics::new(folder, Arc::clone(&counters), provider.clone())),
            counters,
            settings,
            salt: SaltLength::of_release(core.setting(c"openssl-version").as_deref()),
            jobs: core.jobs(),
            core,
            limbs: workspace.limb_kernel(),
            lanes: workspace.lane_kernel(),
            healthy: AtomicBool::new(true),
            states: ProcessStates::default(),
        }))
    }

    pub(crate) fn count(&self, event: Event) {
        let process = self.counters.count(event);
        if let Some(metrics) = &self.metrics {
            metrics.wake(process);
        }
    }

    pub(crate) fn with_workspace<T>(&self, run: impl FnOnce(&mut Workspace) -> T) -> T {
        self.with_scratch(|scratch| run(&mut scratch.workspace))
    }

    /// Calls `run` with this thread's scratch memory. Neither this function nor the blinding
    /// takes a lock, so a child that was forked during another thread's operation can continue.
    pub(crate) fn with_scratch<T>(&self, run: impl FnOnce(&mut Scratch) -> T) -> T {
        thread_local! {
            static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
        }
        let fresh = || {
            let workspace = Box::new(Workspace::with_kernels(self.limbs, self.lanes));
            Scratch { workspace, job: Box::default() }
        };
        // The memory is taken out of the thread-local cell and put back afterwards. A panic drops
        // the memory. If the thread is ending, the cell no longer exists, and `try_with` fails. The
        // memory is boxed because it is large and stacks may be small.
        let taken = SCRATCH.try_with(|cell| cell.take()).ok().flatten();
        let mut scratch = taken.unwrap_or_else(fresh);
        let result = run(&mut scratch);
        // If the thread is ending, `try_with` fails and drops the memory.
        let _ = SCRATCH.try_with(|cell| cell.replace(Some(scratch)));
        result
    }

    /// Returns the job of libcrypto that the caller runs in.
    pub(crate) fn running_job(&self) -> Option<RunningJob<'_>> {
        self.jobs.as_ref()?.running()
    }

    /// Ends the provider's threads when libcrypto tears the provider down. Keys may outlive this
    /// call, and contexts of abandoned jobs may keep the `Provider` for ever.
    pub(crate) fn close(&self) {
        self.states.close();
        if let Some(metrics) = &self.metrics {
            metrics.close();
        }
    }

    /// Returns whether no self test has failed.
    pub(crate) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// Refuses every key from now on.
    pub(crate) fn refuse_all_keys(&self) {
        self.healthy.store(false, Ordering::Relaxed);
    }
}

/// Runs the body of an entry point. Returns 1 on success, and 0 where [`attempt`] returns `None`.
pub(crate) fn entry<T: AsRef<Provider>>(
    object: Option<T>,
    body: impl FnOnce(&mut T) -> Result<(), Reason>,
) -> c_int {
    c_int::from(attempt(object, body).is_some())
}

/// Runs the body of an entry point and returns its result. On failure, returns `None` and adds a
/// reason to the error queue. Catches panics. If `object` is `None`, the call fails without a
/// reason.
pub(crate) fn attempt<T: AsRef<Provider>, U>(
    object: Option<T>,
    body: impl FnOnce(&mut T) -> Result<U, Reason>,
) -> Option<U> {
    let mut object = object?;
    let result = catch(Err(Reason::Panic), || body(&mut object));
    result.map_err(|reason| catch((), || object.as_ref().core.raise(reason))).ok()
}
