//! Keeps libcrypto's cache of key management right: `EVP_KEYMGMT_fetch(3)`.
//!
//! A program that creates a key fetches key management from any provider that its property query
//! matches. Before an operation on a key, libcrypto fetches key management from the provider of the
//! operation alone. It caches both under the query and the provider, and the first entry of a query
//! answers the fetches from any provider, too (openssl issue 20600, closed as intended). If a program
//! signs before it creates keys, that entry is this provider's, and new keys are created here instead
//! of in the default provider: EC keys and many sizes of RSA keys then cannot be created, and TLS
//! has no group of EC.
//!
//! Therefore the fetch from any provider must come first. libcrypto calls `query_operation` for each
//! fetch that the cache does not answer, before it caches the result: [`KeymgmtCache::fill`] then
//! fetches as a program would. Another thread may empty the cache between the two, for example
//! when it loads a provider. So the thread looks again when it creates the next key or context, in
//! [`KeymgmtCache::check`], and empties the cache if a fetch finds this provider.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use std::ffi::CString;
use std::sync::OnceLock;

use crate::library::Library;

type GlobalContext = unsafe extern "C" fn() -> *mut c_void;
type Fetch = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type ProviderOf = unsafe extern "C" fn(*const c_void) -> *mut c_void;
type TryLoad = unsafe extern "C" fn(*mut c_void, *const c_char, c_int) -> *mut c_void;
type Unload = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The names of the key management that the default provider has too, and whose keys it shall
/// create. X25519 is not among them: there, programs are meant to find this provider.
pub(crate) const NAMES: [&CStr; 2] = [c"RSA", c"EC"];

/// How many property queries of operations are remembered. Programs use one or two.
const QUERIES_MAX: usize = 8;

/// How often one check may empty the cache.
const FLUSHES_MAX: usize = 3;

thread_local! {
    /// Set while this thread fetches here.
    static IS_FETCHING: Cell<bool> = const { Cell::new(false) };
    /// The cache that this thread has changed since it looked at one.
    static UNCHECKED: Cell<*const KeymgmtCache> = const { Cell::new(ptr::null()) };
}

/// The functions of libcrypto that fetch key management, and the queries of this library context.
pub(crate) struct KeymgmtCache {
    context: *mut c_void,
    fetch: Fetch,
    free: Free,
    provider_of: ProviderOf,
    provctx_of: ProviderOf,
    try_load: TryLoad,
    unload: Unload,
    /// The queries other than the empty one, in the order in which they were seen.
    queries: [OnceLock<CString>; QUERIES_MAX],
    /// For each query, the empty one first, and for each name: whether fetches rightly find this
    /// provider, because the query requires it or no other provider is loaded.
    is_ours: [[AtomicBool; NAMES.len()]; 1 + QUERIES_MAX],
}

// SAFETY: the pointers are a library context and functions of libcrypto, for any thread.
unsafe impl Send for KeymgmtCache {}
// SAFETY: as for `Send`.
unsafe impl Sync for KeymgmtCache {}

impl KeymgmtCache {
    /// Looks up the functions in the library that contains `function`.
    ///
    /// # Safety
    ///
    /// libcrypto passed `function` to the provider. `context` is the library context that loaded the
    /// provider, or NULL for the global one. Both outlive the value.
    pub(crate) unsafe fn of_library(function: *const (), context: *mut c_void) -> Option<Self> {
        let library = Library::of(function)?;
        // SAFETY: libcrypto's function of this name has this type: crypto.h.
        let global: GlobalContext = unsafe { library.find(c"OSSL_LIB_CTX_get0_global_default") }?;
        // For libcrypto's functions, NULL is the default context of the calling thread.
        let context = match context.is_null() {
            // SAFETY: a function without arguments.
            true => unsafe { global() },
            false => context,
        };
        Some(Self {
            context,
            // SAFETY: as above: evp.h.
            fetch: unsafe { library.find(c"EVP_KEYMGMT_fetch") }?,
            // SAFETY: as above: evp.h.
            free: unsafe { library.find(c"EVP_KEYMGMT_free") }?,
            // SAFETY: as above: evp.h.
            provider_of: unsafe { library.find(c"EVP_KEYMGMT_get0_provider") }?,
            // SAFETY: as above: provider.h.
            provctx_of: unsafe { library.find(c"OSSL_PROVIDER_get0_provider_ctx") }?,
            // SAFETY: as above: provider.h.
            try_load: unsafe { library.find(c"OSSL_PROVIDER_try_load") }?,
            // SAFETY: as above: provider.h.
            unload: unsafe { library.find(c"OSSL_PROVIDER_unload") }?,
            queries: [const { OnceLock::new() }; QUERIES_MAX],
            is_ours: Default::default(),
        })
    }

    /// Fetches key management by each name and each known query, so that the cache has an entry for
    /// fetches from any provider. To be called whenever libcrypto asks for this provider's key
    /// management, in `quietly`, which keeps the error queue as it is.
    pub(crate) fn fill(&self, quietly: impl FnOnce(&mut dyn FnMut())) {
        self.fetching(quietly, || {
            let _ = UNCHECKED.try_with(|cache| cache.set(self));
            self.each_fetch(|_, _| ());
        });
    }

    /// Empties the cache if a fetch from any provider wrongly finds this one, whose context is
    /// `provctx`. Does nothing, at the cost of a comparison, unless this thread has called `fill`
    /// since its last check, or the operation's query is new.
    pub(crate) fn check(
        &self,
        provctx: *const c_void,
        query: Option<&CStr>,
        quietly: impl FnOnce(&mut dyn FnMut()),
    ) {
        let is_new = query.is_some_and(|query| !query.is_empty() && self.remember(query));
        if !is_new && UNCHECKED.try_with(|cache| ptr::eq(cache.get(), self)) != Ok(true) {
            return;
        }
        self.fetching(quietly, || {
            let _ = UNCHECKED.try_with(|cache| cache.set(ptr::null()));
            for flushes in 0..=FLUSHES_MAX {
                let mut is_wrong = false;
                self.each_fetch(|is_ours, found| {
                    if found != provctx {
                        is_ours.store(false, Relaxed);
                    } else if flushes == FLUSHES_MAX {
                        is_ours.store(true, Relaxed);
                    } else {
                        is_wrong |= !is_ours.load(Relaxed);
                    }
                });
                if !is_wrong {
                    return;
                }
                self.flush();
            }
        });
    }

    /// Calls `run`, unless this thread is within such a call: fetches call `query_operation` again.
    fn fetching(&self, quietly: impl FnOnce(&mut dyn FnMut()), mut run: impl FnMut()) {
        if IS_FETCHING.try_with(|is_fetching| is_fetching.replace(true)) == Ok(false) {
            quietly(&mut run);
            let _ = IS_FETCHING.try_with(|is_fetching| is_fetching.set(false));
        }
    }

    /// Fetches by each name and query, and calls `each` with the context of the provider found.
    fn each_fetch(&self, mut each: impl FnMut(&AtomicBool, *const c_void)) {
        let known = self.queries.iter().map_while(OnceLock::get).map(|query| query.as_ptr());
        for (query, is_ours) in core::iter::once(ptr::null()).chain(known).zip(&self.is_ours) {
            for (name, is_ours) in NAMES.iter().zip(is_ours) {
                each(is_ours, self.found(name, query));
            }
        }
    }

    /// Returns the context of the provider that a program finds, or NULL.
    fn found(&self, name: &CStr, query: *const c_char) -> *const c_void {
        // SAFETY: a library context, a text, and a text or NULL.
        let method = unsafe { (self.fetch)(self.context, name.as_ptr(), query) };
        if method.is_null() {
            return ptr::null();
        }
        // SAFETY: the method of the fetch.
        let provider = unsafe { (self.provider_of)(method) };
        // SAFETY: the method's provider.
        let provctx = unsafe { (self.provctx_of)(provider) };
        // SAFETY: freed once.
        unsafe { (self.free)(method) };
        provctx
    }

    /// Empties libcrypto's caches: it does so when a provider becomes active. `null` is part of
    /// libcrypto and has no algorithms.
    fn flush(&self) {
        // SAFETY: a library context and a text; 1 keeps the rules by which `default` is loaded.
        let provider = unsafe { (self.try_load)(self.context, c"null".as_ptr(), 1) };
        if !provider.is_null() {
            // SAFETY: loaded above.
            unsafe { (self.unload)(provider) };
        }
    }

    /// Returns whether the query was not known, and is now.
    fn remember(&self, query: &CStr) -> bool {
        for slot in &self.queries {
            let mut is_new = false;
            let known = slot.get_or_init(|| {
                is_new = true;
                query.to_owned()
            });
            if known.as_c_str() == query {
                return is_new;
            }
        }
        false
    }
}
