//! The entry points of the provider: provider-base(7). [`crate::algorithms`] has its algorithms.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::*;
use crate::boundary::catch;
use crate::counters::Event;
use crate::keymgmt_cache::is_fetching;
use crate::params::Answers;
use crate::provider::{Provider, attempt, entry};
use crate::reason::{REASONS, Reason};
use crate::table::{Table, dispatch};
use crate::upcalls::Core;
use crate::{handle, kems, self_test, x25519};

static FUNCTIONS: Table<[OSSL_DISPATCH; 8]> = dispatch! {
    OSSL_FUNC_PROVIDER_TEARDOWN = teardown;
    OSSL_FUNC_PROVIDER_GETTABLE_PARAMS = gettable_params;
    OSSL_FUNC_PROVIDER_GET_PARAMS = get_params;
    OSSL_FUNC_PROVIDER_QUERY_OPERATION = query_operation;
    OSSL_FUNC_PROVIDER_GET_CAPABILITIES = get_capabilities;
    OSSL_FUNC_PROVIDER_GET_REASON_STRINGS = get_reason_strings;
    OSSL_FUNC_PROVIDER_SELF_TEST = self_test;
};

static GETTABLE: Table<[OSSL_PARAM; Event::ALL.len() + 5]> = Table::of_keys({
    let mut rows = [(c"", 0); Event::ALL.len() + 5];
    rows[0] = (OSSL_PROV_PARAM_NAME, OSSL_PARAM_UTF8_PTR);
    rows[1] = (OSSL_PROV_PARAM_VERSION, OSSL_PARAM_UTF8_PTR);
    rows[2] = (OSSL_PROV_PARAM_BUILDINFO, OSSL_PARAM_UTF8_PTR);
    rows[3] = (OSSL_PROV_PARAM_STATUS, OSSL_PARAM_INTEGER);
    let mut i = 0;
    while i < Event::ALL.len() {
        rows[4 + i] = (Event::ALL[i].1, OSSL_PARAM_UNSIGNED_INTEGER);
        i += 1;
    }
    rows
});

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no NUL"),
    };

/// Initialises the provider. libcrypto looks for this symbol in a module: provider(7).
///
/// # Safety
///
/// Called by libcrypto with its handle and table; `output` and `provctx` are writable.
#[allow(non_snake_case, reason = "the name that libcrypto looks for")]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn OSSL_provider_init(
    handle: *const OSSL_CORE_HANDLE,
    input: *const OSSL_DISPATCH,
    output: *mut *const OSSL_DISPATCH,
    provctx: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller is libcrypto.
    let core = unsafe { Core::new(handle, input) };
    let provider = handle::create(|| Provider::new(core));
    if provider.is_null() {
        return 0;
    }
    // SAFETY: writable, as the caller promised.
    unsafe { provctx.write(provider) };
    // SAFETY: writable, as the caller promised.
    unsafe { output.write(FUNCTIONS.first()) };
    1
}

unsafe extern "C" fn teardown(provctx: *mut c_void) {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    catch((), || {
        if let Some(provider) = provider {
            provider.close();
        }
        // SAFETY: libcrypto calls this once, last.
        unsafe { handle::free::<Arc<Provider>>(provctx) };
    });
}

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const OSSL_PARAM {
    GETTABLE.first()
}

unsafe extern "C" fn get_params(provctx: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    // SAFETY: the parameters are the caller's, to be filled.
    let mut answers = unsafe { Answers::new(params) };
    entry(provider, |provider| describe(provider, &mut answers))
}

fn describe(provider: &Provider, answers: &mut Answers<'_>) -> Result<(), Reason> {
    answers.text(OSSL_PROV_PARAM_NAME, c"Tollgate provider")?;
    answers.text(OSSL_PROV_PARAM_VERSION, VERSION)?;
    answers.text(OSSL_PROV_PARAM_BUILDINFO, VERSION)?;
    answers.integer(OSSL_PROV_PARAM_STATUS, i64::from(provider.is_healthy()))?;
    for (event, key, _) in Event::ALL {
        answers.integer(key, i64::try_from(provider.counters.read(event)).unwrap_or(i64::MAX))?;
    }
    Ok(())
}

unsafe extern "C" fn query_operation(
    provctx: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const OSSL_ALGORITHM {
    // libcrypto asks again if it may not store the answer.
    let is_nested = operation == OSSL_OP_KEYMGMT && is_fetching();
    if !no_cache.is_null() {
        // SAFETY: a variable of the caller's.
        unsafe { no_cache.write(c_int::from(is_nested)) };
    }
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    let Some(provider) = provider.filter(|_| !is_nested) else { return ptr::null() };
    if operation == OSSL_OP_KEYMGMT {
        catch((), || provider.fill_keymgmt_cache());
    }
    provider.algorithms.table(operation)
}

/// Announces the TLS groups. libssl before OpenSSL 3.5 drops a group if its keys come from a
/// provider that did not announce it. The result is 1 for unknown capabilities too: with 0, libssl
/// creates no `SSL_CTX`.
unsafe extern "C" fn get_capabilities(
    provctx: *mut c_void,
    capability: *const c_char,
    callback: Option<OSSL_CALLBACK>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    // SAFETY: the caller's text.
    let capability = unsafe { handle::text(capability) };
    let is_group = capability.is_some_and(|name| name.eq_ignore_ascii_case("TLS-GROUP"));
    let Some(callback) = callback.filter(|_| is_group) else {
        return 1;
    };
    let accepted = attempt(provider, |provider| {
        let x25519 = provider.x25519.map(|_| x25519::tls_group());
        let hybrid = provider.hybrid.map(|_| kems::tls_group());
        Ok([x25519, hybrid].into_iter().flatten().all(|group| {
            // SAFETY: libcrypto's callback and its argument.
            unsafe { group.pass_to(callback, argument) != 0 }
        }))
    });
    c_int::from(accepted.unwrap_or(true))
}

unsafe extern "C" fn get_reason_strings(_provctx: *mut c_void) -> *const OSSL_ITEM {
    REASONS.first()
}

unsafe extern "C" fn self_test(provctx: *mut c_void) -> c_int {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry(provider, |provider| self_test::run(provider))
}
