//! One provider in one library context: its settings, its kernels, its health, and how its calls
//! end.
#![forbid(unsafe_code)]

use core::cell::RefCell;
use core::ffi::{c_int, c_void};
use core::fmt::Display;
use core::panic::AssertUnwindSafe;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::panic::catch_unwind;
use std::sync::Arc;

use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_queue::PrivateJob;
use tollgate_rsa::Workspace;

use crate::counters::{Counters, Event};
use crate::home::{Home, Homes};
use crate::jobs::{Jobs, Running};
use crate::metrics::Metrics;
use crate::reason::Reason;
use crate::settings::Settings;
use crate::signature_padding::SaltLength;
use crate::upcalls::Core;

/// What all keys and contexts of a library context share.
pub(crate) struct Provider {
    pub(crate) counters: Arc<Counters>,
    metrics: Option<Arc<Metrics>>,
    pub(crate) settings: Settings,
    /// Of PSS signatures whose salt nobody chose.
    pub(crate) salt: SaltLength,
    core: Core,
    jobs: Option<Jobs>,
    pub(crate) limbs: LimbKernel,
    pub(crate) lanes: LaneKernel,
    healthy: AtomicBool,
    homes: Homes,
}

/// What a thread needs to do an operation.
pub(crate) struct Scratch {
    pub(crate) workspace: Box<Workspace>,
    pub(crate) job: Box<PrivateJob>,
}

impl Provider {
    /// Reads the settings and chooses the kernels. Configuration and environment are read here and
    /// never again: servers clear the environment before they fork workers.
    ///
    /// # Errors
    ///
    /// [`Reason::Setting`] or [`Reason::Veto`], raised with what is wrong.
    pub(crate) fn new(core: Core) -> Result<Self, Reason> {
        let refuse = |core: &Core, reason, why: &dyn Display| {
            core.raise_with(reason, &why.to_string());
            reason
        };
        let settings = Settings::read(|key| core.setting(key))
            .map_err(|why| refuse(&core, Reason::Setting, &why))?;
        let workspace = Workspace::new().map_err(|why| refuse(&core, Reason::Veto, &why))?;
        let counters = Arc::new(Counters::default());
        let metrics = settings.metrics.as_deref();
        let metrics = metrics.map(|folder| Metrics::new(folder, Arc::clone(&counters)));
        Ok(Self {
            counters,
            metrics,
            settings,
            salt: SaltLength::of_release(core.setting(c"openssl-version").as_deref()),
            jobs: core.jobs(),
            core,
            limbs: workspace.limb_kernel(),
            lanes: workspace.lane_kernel(),
            healthy: AtomicBool::new(true),
            homes: Homes::default(),
        })
    }

    /// As libcrypto gets it, and as each object that it gets holds it.
    pub(crate) fn share(self) -> Arc<Self> {
        let shared = Arc::new(self);
        if let Some(metrics) = &shared.metrics {
            metrics.watch(Arc::downgrade(&shared));
        }
        shared
    }

    /// Counts one.
    pub(crate) fn count(&self, event: Event) {
        let process = self.counters.count(event);
        if let Some(metrics) = &self.metrics {
            metrics.wake(process);
        }
    }

    /// What this process has counted.
    pub(crate) fn counted(&self, event: Event) -> u64 {
        self.counters.read(event)
    }

    /// Runs an operation with this thread's kernels and scratch memory.
    pub(crate) fn with_workspace<T>(&self, run: impl FnOnce(&mut Workspace) -> T) -> T {
        self.with_scratch(|scratch| run(&mut scratch.workspace))
    }

    /// Memory per thread needs no lock, and blinding pairs wait for none, so a child that was
    /// forked in the middle of another thread's operation goes on.
    pub(crate) fn with_scratch<T>(&self, run: impl FnOnce(&mut Scratch) -> T) -> T {
        thread_local! {
            static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
        }
        let fresh = || {
            let workspace = Box::new(Workspace::with_kernels(self.limbs, self.lanes));
            Scratch { workspace, job: Box::default() }
        };
        // Taken out and put back: a panic loses it, and at a thread's end there is none. Boxed: it
        // is large, and stacks may be small.
        let taken = SCRATCH.try_with(|cell| cell.take()).ok().flatten();
        let mut scratch = taken.unwrap_or_else(fresh);
        let result = run(&mut scratch);
        // At a thread's end it is dropped here.
        let _ = SCRATCH.try_with(|cell| cell.replace(Some(scratch)));
        result
    }

    /// The job of libcrypto that the caller is in.
    pub(crate) fn running_job(&self) -> Option<Running<'_>> {
        self.jobs.as_ref()?.running()
    }

    /// What this process has of it.
    pub(crate) fn home(&self) -> &Home {
        self.homes.here()
    }

    /// The end: libcrypto takes the provider down. Keys may outlive it, and contexts of abandoned
    /// jobs may keep the value for ever, but no threads.
    pub(crate) fn close(&self) {
        self.homes.close();
        if let Some(metrics) = &self.metrics {
            metrics.close();
        }
    }

    /// Whether no self test has failed.
    pub(crate) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// Refuses every key from here on.
    pub(crate) fn condemn(&self) {
        self.healthy.store(false, Ordering::Relaxed);
    }
}

/// The body of an entry point: 1 on success, 0 with a reason in the error queue otherwise. No panic
/// passes.
///
/// `object` is what libcrypto passed; without one, a call fails.
pub(crate) fn entry<T: AsRef<Provider>>(
    object: Option<T>,
    body: impl FnOnce(&mut T) -> Result<(), Reason>,
) -> c_int {
    let Some(mut object) = object else { return 0 };
    let result = catch(Err(Reason::Panic), || body(&mut object));
    let Err(reason) = result else { return 1 };
    catch((), || object.as_ref().core.raise(reason));
    0
}

/// The body of an entry point that makes an object; NULL if it panics.
pub(crate) fn entry_object(body: impl FnOnce() -> *mut c_void) -> *mut c_void {
    catch(ptr::null_mut(), body)
}

/// Runs `body`; a panic ends here. What it was changing may be half done, but it is memory safe,
/// and libcrypto drops a context that failed.
pub(crate) fn catch<T>(on_panic: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        // Its destructor may panic too.
        core::mem::forget(payload);
        on_panic
    })
}

impl AsRef<Self> for Provider {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_at_the_boundary() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let caught = catch(7, || panic!("on purpose"));
        let object = entry_object(|| panic!("on purpose"));
        std::panic::set_hook(quiet);
        assert_eq!(caught, 7);
        assert!(object.is_null());
        assert_eq!(catch(7, || 8), 8);
    }
}
