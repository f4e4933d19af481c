//! The provider in one library context: settings, kernels, health, and the common part of its
//! entry points.
#![forbid(unsafe_code)]

use core::cell::RefCell;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use tollgate_curves::X25519;
use tollgate_curves::p256::P256;
use tollgate_kem::MlKem768;
use tollgate_kem::hybrid::X25519MlKem768;
use tollgate_mont::{LaneKernel, LimbKernel};
use tollgate_queue::{Class, PrivateJob};
use tollgate_rsa::Workspace;
use zeroize::Zeroizing;

use crate::algorithms::{Algorithms, Offers};
use crate::alt_stack::with_room;
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
    /// The code of X25519MLKEM768 and of ML-KEM-768. `None` if both are OpenSSL's, or missing.
    pub(crate) hybrid: Option<X25519MlKem768>,
    /// The kernels of P-256, for ECDSA, as those of X25519.
    pub(crate) p256: Option<P256>,
    healthy: AtomicBool,
    pub(crate) algorithms: Algorithms,
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
        let x25519 = Some(X25519::best()).filter(|curve| match settings.x25519 {
            Offer::Off => false,
            Offer::On => true,
            Offer::Auto => !curve.is_portable(),
        });
        let version = core.setting(c"openssl-version");
        let hybrid = Some(X25519MlKem768::best()).filter(|code| match settings.ml_kem {
            Offer::Off => false,
            Offer::On => true,
            // A configuration for OpenSSL 3.0 names the group: without it no server starts.
            Offer::Auto => code.ml_kem != MlKem768::Portable || !has_ml_kem(version.as_deref()),
        });
        let keymgmt_cache = core.keymgmt_cache();
        let p256 = P256::best().ok().filter(|curve| match settings.ecdsa {
            Offer::Off => false,
            Offer::On => true,
            // Without the cache, programs could create no EC keys after a signature.
            Offer::Auto => keymgmt_cache.is_some() && curve.beats_openssl(),
        });
        if let Some((reason, what)) = with_room(|| failed(x25519, p256, hybrid)) {
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
            salt: SaltLength::of_release(version.as_deref()),
            jobs: core.jobs(),
            keymgmt_cache,
            core,
            limbs: workspace.limb_kernel(),
            lanes: workspace.lane_kernel(),
            algorithms: Algorithms::new(Offers {
                x25519: x25519.is_some(),
                ecdsa: p256.is_some(),
                ml_kem: hybrid.is_some(),
                stubs: !settings.remote.is_empty(),
            }),
            x25519,
            hybrid,
            p256,
            healthy: AtomicBool::new(true),
            settings,
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

    /// Returns the kernels of X25519, unless a self test has failed since they were offered.
    pub(crate) fn x25519(&self) -> Result<X25519, Reason> {
        self.x25519.filter(|_| self.is_healthy()).ok_or(Reason::SelfTest)
    }

    /// Returns the code of X25519MLKEM768, unless a self test has failed since it was offered.
    pub(crate) fn hybrid(&self) -> Result<X25519MlKem768, Reason> {
        self.hybrid.filter(|_| self.is_healthy()).ok_or(Reason::SelfTest)
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

/// Returns whether this release of OpenSSL has ML-KEM itself: 3.5 or later, or an unknown one.
fn has_ml_kem(version: Option<&CStr>) -> bool {
    let version = version.and_then(|version| version.to_str().ok()).unwrap_or_default();
    let older = ["3.0.", "3.1.", "3.2.", "3.3.", "3.4."];
    !older.into_iter().any(|older| version.starts_with(older))
}

/// Returns what does not pass its test, of what is offered.
pub(crate) fn failed(
    x25519: Option<X25519>,
    p256: Option<P256>,
    hybrid: Option<X25519MlKem768>,
) -> Option<(Reason, &'static str)> {
    let curve = x25519.or(hybrid.map(|code| code.x25519));
    first_failed([
        (curve.map(X25519::passes_test), Reason::SelfTestX25519, "X25519"),
        (p256.map(P256::passes_test), Reason::SelfTestP256, "ECDSA with P-256"),
        (hybrid.map(|code| code.ml_kem.passes_test()), Reason::SelfTestMlKem, "ML-KEM-768"),
    ])
}

/// Returns the first that has run and not passed.
fn first_failed(
    tests: [(Option<bool>, Reason, &'static str); 3],
) -> Option<(Reason, &'static str)> {
    let failed = tests.into_iter().find(|(passes, ..)| *passes == Some(false));
    failed.map(|(_, reason, what)| (reason, what))
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
    fn the_first_failed_test_is_found() {
        let found = |passes: [Option<bool>; 3]| {
            let [x25519, p256, ml_kem] = passes;
            first_failed([
                (x25519, Reason::SelfTestX25519, ""),
                (p256, Reason::SelfTestP256, ""),
                (ml_kem, Reason::SelfTestMlKem, ""),
            ])
        };
        for (passes, expected) in [
            ([None; 3], None),
            ([Some(true); 3], None),
            ([Some(false), Some(true), Some(true)], Some(Reason::SelfTestX25519)),
            ([Some(false), None, None], Some(Reason::SelfTestX25519)),
            ([Some(true), Some(false), Some(false)], Some(Reason::SelfTestP256)),
            ([None, None, Some(false)], Some(Reason::SelfTestMlKem)),
        ] {
            assert_eq!(found(passes).map(|(reason, _)| reason), expected);
        }
    }

    #[test]
    fn old_releases_have_no_ml_kem() {
        for (version, has) in
            [(c"3.0.22", false), (c"3.4.1", false), (c"3.5.9", true), (c"4.0.0", true)]
        {
            assert_eq!(has_ml_kem(Some(version)), has);
        }
        assert!(has_ml_kem(None));
    }

    #[test]
    fn all_code_passes_its_test() {
        assert!(X25519::all().into_iter().all(X25519::passes_test));
        assert!(P256::all().into_iter().all(P256::passes_test));
        assert!(MlKem768::all().into_iter().all(MlKem768::passes_test));
    }
}
