//! Keeps libcrypto's cache of key management right: `EVP_KEYMGMT_fetch(3)`.
//!
//! A program that creates a key fetches key management from any provider that its property query
//! matches. Before an operation on a key, libcrypto fetches key management from the provider of the
//! operation alone. It caches both under the query and the provider, and the first entry of a query
//! answers the fetches from any provider, too (openssl issue 20600, closed as intended). If a
//! program signs before it creates keys, that entry is this provider's, and new keys are created
//! here instead of in the default provider: EC keys and many sizes of RSA keys then cannot be
//! created, and TLS has no group of EC.
//!
//! Therefore the fetch from any provider must come first. libcrypto calls `query_operation` for
//! each fetch that the cache does not answer, before it caches the result: [`KeymgmtCache::fill`]
//! then fetches as a program would. Meanwhile `query_operation` offers nothing, because libcrypto
//! prefers, of several providers, the one whose key management it has seen first.
//!
//! Another thread may empty the cache between the two, for example when it loads a provider. So the
//! thread fetches again when it creates the next key or context, in [`KeymgmtCache::check`], and
//! empties the cache if it finds this provider. There it also learns queries that are new.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::sync::atomic::{AtomicBool, AtomicPtr};
use std::ffi::CString;

use crate::abi::*;
use crate::library::Library;
use crate::table::{Table, dispatch};

type SetDefaultContext = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Fetch = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type ProviderOf = unsafe extern "C" fn(*const c_void) -> *mut c_void;
type AddBuiltin = unsafe extern "C" fn(*mut c_void, *const c_char, OSSL_provider_init_fn) -> c_int;
type TryLoad = unsafe extern "C" fn(*mut c_void, *const c_char, c_int) -> *mut c_void;
type Unload = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The names of the key management that the default provider has too, and whose keys it shall
/// create. X25519 is not among them: there, programs are meant to find this provider.
const NAMES: [&CStr; 2] = [c"RSA", c"EC"];

/// How many property queries of operations are remembered. Programs use one or two.
const QUERIES_MAX: usize = 8;

/// How often one check may empty the cache.
const FLUSHES_MAX: usize = 3;

thread_local! {
    /// Set while this thread fetches here.
    static IS_FETCHING: Cell<bool> = const { Cell::new(false) };
    /// Caches of library contexts that this thread has filled since it last checked them.
    static UNCHECKED: Cell<[*const KeymgmtCache; 4]> = const { Cell::new([ptr::null(); 4]) };
}

/// Resets the flag of this thread, also after a panic.
struct Fetching;

impl Fetching {
    /// Returns `None` within another call, since fetches call `query_operation` again.
    fn enter() -> Option<Self> {
        match IS_FETCHING.try_with(|is_fetching| is_fetching.replace(true)) {
            Ok(false) => Some(Self),
            _ => None,
        }
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        let _ = IS_FETCHING.try_with(|is_fetching| is_fetching.set(false));
    }
}

/// Returns whether this thread fetches in this module.
pub(crate) fn is_fetching() -> bool {
    IS_FETCHING.try_with(Cell::get) == Ok(true)
}

/// A provider without algorithms. Its activation empties libcrypto's caches.
static EMPTY: Table<[OSSL_DISPATCH; 2]> = dispatch! {
    OSSL_FUNC_PROVIDER_QUERY_OPERATION = offer_nothing;
};

unsafe extern "C" fn offer_nothing(
    _provctx: *mut c_void,
    _operation: c_int,
    _no_cache: *mut c_int,
) -> *const OSSL_ALGORITHM {
    ptr::null()
}

unsafe extern "C" fn init_empty(
    handle: *const OSSL_CORE_HANDLE,
    _input: *const OSSL_DISPATCH,
    output: *mut *const OSSL_DISPATCH,
    provctx: *mut *mut c_void,
) -> c_int {
    // SAFETY: a variable of libcrypto's.
    unsafe { provctx.write(handle.cast_mut().cast()) };
    // SAFETY: a variable of libcrypto's.
    unsafe { output.write(EMPTY.first()) };
    1
}

/// The functions of libcrypto that fetch key management, and the queries of this library context.
pub(crate) struct KeymgmtCache {
    context: *mut c_void,
    fetch: Fetch,
    free: Free,
    provider_of: ProviderOf,
    provctx_of: ProviderOf,
    add_builtin: AddBuiltin,
    try_load: TryLoad,
    unload: Unload,
    /// The name of the provider without algorithms, and whether libcrypto knows it. The name
    /// contains the address of its function: if this module is loaded again elsewhere, the name is
    /// another one.
    empty: CString,
    is_added: AtomicBool,
    /// The queries other than the empty one, in the order in which they were seen: texts of
    /// [`CString::into_raw`], or NULL. There is no lock, which a forked child might find taken.
    queries: [AtomicPtr<c_char>; QUERIES_MAX],
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
    /// libcrypto passed `function` to the provider. `context` is the library context that loaded
    /// the provider, or NULL for the default one of this thread. Both outlive the value.
    pub(crate) unsafe fn of_library(function: *const (), context: *mut c_void) -> Option<Self> {
        let library = Library::new(function)?;
        // SAFETY: libcrypto's function of this name has this type: crypto.h.
        let set_default: SetDefaultContext = unsafe { library.find(c"OSSL_LIB_CTX_set0_default") }?;
        // For libcrypto's functions, NULL is the default context of the calling thread.
        let context = match context.is_null() {
            // SAFETY: NULL changes nothing; the result is that context.
            true => unsafe { set_default(ptr::null_mut()) },
            false => context,
        };
        let empty = format!("tollgate-empty-{:x}", (init_empty as *const ()).addr());
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
            add_builtin: unsafe { library.find(c"OSSL_PROVIDER_add_builtin") }?,
            // SAFETY: as above: provider.h.
            try_load: unsafe { library.find(c"OSSL_PROVIDER_try_load") }?,
            // SAFETY: as above: provider.h.
            unload: unsafe { library.find(c"OSSL_PROVIDER_unload") }?,
            empty: CString::new(empty).ok()?,
            is_added: AtomicBool::new(false),
            queries: Default::default(),
            is_ours: Default::default(),
        })
    }

    /// Fetches key management by each name and each known query, so that the cache has an entry for
    /// fetches from any provider. To be called whenever libcrypto asks for this provider's key
    /// management, in `quietly`, which keeps the error queue as it is.
    pub(crate) fn fill(&self, quietly: impl FnOnce(&mut dyn FnMut())) {
        let Some(_fetching) = Fetching::enter() else { return };
        quietly(&mut || self.each_fetch(|_, _| ()));
        let _ = UNCHECKED.try_with(|unchecked| {
            let mut caches = unchecked.get();
            if !caches.contains(&ptr::from_ref(self)) {
                // If all are in use, one is not checked until it is filled again.
                let at = caches.iter().position(|cache| cache.is_null()).unwrap_or(0);
                caches[at] = self;
                unchecked.set(caches);
            }
        });
    }

    /// Returns whether this thread has filled the cache since the last call.
    fn take_unchecked(&self) -> bool {
        let taken = UNCHECKED.try_with(|unchecked| {
            let mut caches = unchecked.get();
            let at = caches.iter().position(|cache| ptr::eq(*cache, self))?;
            caches[at] = ptr::null();
            unchecked.set(caches);
            Some(())
        });
        taken == Ok(Some(()))
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
        if is_fetching() || !(self.take_unchecked() || is_new) {
            return;
        }
        quietly(&mut || {
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

    /// Fetches by each name and query, and calls `each` with the context of the provider found.
    fn each_fetch(&self, mut each: impl FnMut(&AtomicBool, *const c_void)) {
        let known = self.queries.iter().map(|query| query.load(Acquire).cast_const());
        let known = known.take_while(|query| !query.is_null());
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

    /// Empties libcrypto's caches: it does so when a provider becomes active.
    fn flush(&self) {
        let empty = self.empty.as_ptr();
        if !self.is_added.swap(true, AcqRel) {
            // SAFETY: a library context, and a text and a function that live as long as the
            // provider.
            unsafe { (self.add_builtin)(self.context, empty, init_empty) };
        }
        // SAFETY: a library context and a text; 1 keeps the rules by which `default` is loaded.
        let provider = unsafe { (self.try_load)(self.context, empty, 1) };
        if !provider.is_null() {
            // SAFETY: loaded above.
            unsafe { (self.unload)(provider) };
        }
    }

    /// Returns whether the query was not known, and is now.
    fn remember(&self, query: &CStr) -> bool {
        for slot in &self.queries {
            let mut known = slot.load(Acquire);
            if known.is_null() {
                let copy = query.to_owned().into_raw();
                match slot.compare_exchange(ptr::null_mut(), copy, AcqRel, Acquire) {
                    Ok(_) => return true,
                    Err(other) => known = other,
                }
                // SAFETY: from `into_raw`, and not stored.
                drop(unsafe { CString::from_raw(copy) });
            }
            // SAFETY: a text that lives as long as this value.
            if unsafe { CStr::from_ptr(known) } == query {
                return false;
            }
        }
        false
    }
}

impl Drop for KeymgmtCache {
    fn drop(&mut self) {
        for query in
            self.queries.iter_mut().map(AtomicPtr::get_mut).filter(|query| !query.is_null())
        {
            // SAFETY: from `into_raw`, and dropped once.
            drop(unsafe { CString::from_raw(*query) });
        }
    }
}
