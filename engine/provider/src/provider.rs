//! The provider in one library context: settings, kernels, health, and the common part of its
//! entry points.
#![forbid(unsafe_code)]

use core::cell::RefCell;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use tollgate_curves::X25519;
use tollgate_curves::p256::P256;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_queue::{Class, PrivateJob};
use tollgate_rsa::Workspace;
use zeroize::Zeroizing;

use crate::boundary::catch;
use crate::counters::{Counters, Event};
use crate::jobs::{Jobs, RunningJob};
use crate::keymgmt_cache::KeymgmtCache;
use crate::metrics::Metrics;
use crate::process_state::ProcessStates;
use crate::reason::Reason;
use crate::settings::{Offer, Settings};
use crate::signature_padding::SaltLength;
use crate::upcalls::{Core, Stream};

/// The state that all keys and contexts of a library context share.
pub(crate) struct Provider {
    pub(crate) counters: Arc<Counters>,
    metrics: Option<Arc<Metrics>>,
    pub(crate) settings: Settings,
    /// The default length of a PSS salt.
    pub(crate) salt: SaltLength,
    core: Core,
    jobs: Option<Jobs>,
    /// `None` in a program that contains libcrypto and does not export its functions.
    keymgmt_cache: Option<KeymgmtCache>,
    pub(crate) limbs: LimbKernel,
    pub(crate) lanes: LaneKernel,
    /// The kernels of X25519. `None` if OpenSSL has it: it is off, or none run here.
    pub(crate) x25519: Option<X25519>,
    /// The kernels of P-256, for ECDSA, as those of X25519.
    pub(crate) p256: Option<P256>,
    healthy: AtomicBool,
    pub(crate) states: ProcessStates,
}

/// The memory that a thread needs for an operation.
pub(crate) struct Scratch {
    pub(crate) workspace: Box<Workspace>,
    pub(crate) job: Box<PrivateJob>,
}

impl Provider {
    /// Reads the settings, and chooses and tests the kernels. The configuration and the environment
    /// are read only here, because servers clear the environment before they fork workers. If a
    /// setting or a veto is not valid, or a test fails, returns `None` and raises the reason with a
    /// message.
    ///
    /// libcrypto holds a reference to the provider, and so does each key and each context.
    pub(crate) fn new(core: Core) -> Option<Arc<Self>> {
        let settings = Settings::read(|key| core.setting(key))
            .map_err(|why| core.raise_with(Reason::Setting, &why))
            .ok()?;
        let workspace =
            Workspace::new().map_err(|why| core.raise_with(Reason::Veto, &why.to_string())).ok()?;
        let counters = Arc::new(Counters::default());
        let x25519 = X25519::best().ok().filter(|_| settings.x25519 != Offer::Off);
        let keymgmt_cache = core.keymgmt_cache();
        let p256 = P256::best().ok().filter(|curve| match settings.ecdsa {
            Offer::Off => false,
            Offer::On => true,
            // Without the cache, programs could create no EC keys after a signature.
            Offer::Auto => keymgmt_cache.is_some() && curve.beats_openssl(),
        });
        let curves = (x25519.map(X25519::passes_test), p256.map(P256::passes_test));
        if let Some((reason, what)) = failed(curves) {
            let why = "failed: test this machine's memory and processor";
            core.raise_with(reason, &format!("the known-answer test of {what} {why}"));
            return None;
        }
        Some(Arc::new_cyclic(|provider: &Weak<Self>| Self {
            metrics: settings
                .metrics
                .as_deref()
                .map(|folder| Metrics::new(folder, Arc::clone(&counters), provider.clone())),
            counters,
            settings,
            salt: SaltLength::of_release(core.setting(c"openssl-version").as_deref()),
            jobs: core.jobs(),
            keymgmt_cache,
            core,
            limbs: workspace.limb_kernel(),
            lanes: workspace.lane_kernel(),
            x25519,
            p256,
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

    /// Lets libcrypto cache the key management that programs find, before it caches this
    /// provider's.
    pub(crate) fn fill_keymgmt_cache(&self) {
        if let Some(cache) = &self.keymgmt_cache {
            cache.fill(|run| self.core.without_errors(run));
        }
    }

    /// Repairs libcrypto's cache of key management if another thread has emptied it meanwhile.
    /// `query` is the property query of an operation.
    pub(crate) fn check_keymgmt_cache(&self, provctx: *const c_void, query: Option<&CStr>) {
        if let Some(cache) = &self.keymgmt_cache {
            cache.check(provctx, query, |run| self.core.without_errors(run));
        }
    }

    /// Ends the provider's threads when libcrypto tears the provider down. Keys may outlive this
    /// call, and contexts of abandoned jobs may keep the `Provider` for ever.
    pub(crate) fn close(&self) {
        self.states.close();
        if let Some(metrics) = &self.metrics {
            metrics.close();
        }
    }

    pub(crate) fn offers_x25519(&self) -> bool {
        self.x25519.is_some()
    }

    /// Returns the kernels of X25519, unless a self test has failed since they were offered.
    pub(crate) fn x25519(&self) -> Result<X25519, Reason> {
        self.x25519.filter(|_| self.is_healthy()).ok_or(Reason::SelfTest)
    }

    pub(crate) fn offers_ecdsa(&self) -> bool {
        self.p256.is_some()
    }

    /// Returns the kernels of P-256, unless a self test has failed since they were offered.
    pub(crate) fn p256(&self) -> Result<P256, Reason> {
        self.p256.filter(|_| self.is_healthy()).ok_or(Reason::SelfTest)
    }

    /// Returns whether several jobs of this class cost less together than one after the other. It
    /// is a class of a curve.
    pub(crate) fn has_lanes(&self, class: Class) -> bool {
        match class {
            PrivateJob::X25519 => self.x25519.is_some_and(X25519::has_lanes),
            _ => self.p256.is_some_and(P256::has_lanes),
        }
    }

    /// Adds a reason with a message to the error queue.
    pub(crate) fn raise(&self, reason: Reason, message: &str) {
        self.core.raise_with(reason, message);
    }

    /// Returns the next line of a stream of libcrypto, or the beginning of a long one.
    pub(crate) fn read_line(&self, stream: &Stream<'_>) -> Option<Zeroizing<Vec<u8>>> {
        self.core.read_line(stream)
    }

    /// Returns whether no self test has failed.
    pub(crate) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// Checks that no self test has failed.
    pub(crate) fn check_health(&self) -> Result<(), Reason> {
        if self.is_healthy() { Ok(()) } else { Err(Reason::SelfTest) }
    }

    /// Refuses every key from now on.
    pub(crate) fn refuse_all_keys(&self) {
        self.healthy.store(false, Ordering::Relaxed);
    }
}

/// Returns the curve whose test failed: X25519 or P-256. `None` if each passed or is not offered.
const fn failed(passes: (Option<bool>, Option<bool>)) -> Option<(Reason, &'static str)> {
    match passes {
        (Some(false), _) => Some((Reason::SelfTestX25519, "X25519")),
        (_, Some(false)) => Some((Reason::SelfTestP256, "ECDSA with P-256")),
        _ => None,
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
    let raise = |reason| {
        if reason != Reason::Said {
            object.as_ref().core.raise(reason);
        }
    };
    result.map_err(|reason| catch((), || raise(reason))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_that_fails_its_test_is_found() {
        for (x25519, p256, expected) in [
            (None, None, None),
            (Some(true), Some(true), None),
            (Some(false), Some(true), Some(Reason::SelfTestX25519)),
            (Some(false), None, Some(Reason::SelfTestX25519)),
            (Some(true), Some(false), Some(Reason::SelfTestP256)),
            (None, Some(false), Some(Reason::SelfTestP256)),
        ] {
            assert_eq!(failed((x25519, p256)).map(|(reason, _)| reason), expected);
        }
    }

    #[test]
    fn all_kernels_pass_their_tests() {
        assert!(X25519::all().into_iter().all(X25519::passes_test));
        assert!(P256::all().into_iter().all(P256::passes_test));
    }
}
