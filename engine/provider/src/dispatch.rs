//! The entry points of the provider, its algorithms and their properties: provider-base(7).
//!
//! `SIGNATURE` and `ASYM_CIPHER` have the property `tollgate.operations=yes`, so the query
//! `?tollgate.operations=yes` prefers them. `KEYMGMT` does not: the query also decides which
//! provider creates keys (`EVP_PKEY_keygen`, `EVP_PKEY_fromdata`), and libcrypto does not fall back
//! to another provider if the preferred provider refuses to create a key. Without the property, the
//! default provider creates and holds keys. libcrypto exports a key to this provider when an
//! operation starts; if this provider then refuses the key, the default provider serves it. If no
//! provider is preferred, libcrypto uses the one that was loaded first: load `default` first.
//!
//! `SIGNATURE` and `ASYM_CIPHER` also have `provider=tollgate`. If a program's own query names
//! `provider`, such as stunnel's `provider!=fips`, it replaces a clause `?provider=tollgate` of the
//! configuration. It does not replace `?tollgate.operations=yes`.
//!
//! `KEYMGMT`, `SIGNATURE` and `ASYM_CIPHER` have `tollgate.rsa=yes`: this query, without `?`,
//! selects this provider for keys and operations, or fails.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::*;
use crate::boundary::catch;
use crate::counters::Event;
use crate::params::Answers;
use crate::provider::{Provider, entry};
use crate::reason::{REASONS, Reason};
use crate::table::{Table, dispatch};
use crate::upcalls::Core;
use crate::{asym_cipher, handle, keymgmt, self_test, signature};

static FUNCTIONS: Table<[OSSL_DISPATCH; 7]> = dispatch! {
    OSSL_FUNC_PROVIDER_TEARDOWN = teardown;
    OSSL_FUNC_PROVIDER_GETTABLE_PARAMS = gettable_params;
    OSSL_FUNC_PROVIDER_GET_PARAMS = get_params;
    OSSL_FUNC_PROVIDER_QUERY_OPERATION = query_operation;
    OSSL_FUNC_PROVIDER_GET_REASON_STRINGS = get_reason_strings;
    OSSL_FUNC_PROVIDER_SELF_TEST = self_test;
};

const NAMES: &CStr = c"RSA:rsaEncryption:1.2.840.113549.1.1.1";
/// The properties of keys. The query `?tollgate.operations=yes` does not match them.
const OF_KEYS: &CStr = c"tollgate.rsa=yes";
/// The properties of operations: `?tollgate.operations=yes` prefers them.
const OF_OPERATIONS: &CStr = c"provider=tollgate,tollgate.operations=yes,tollgate.rsa=yes";

static KEYMGMT: Table<[OSSL_ALGORITHM; 2]> =
    Table::of_algorithm(NAMES, OF_KEYS, keymgmt::FUNCTIONS.first(), c"Tollgate RSA keys");

static SIGNATURE: Table<[OSSL_ALGORITHM; 2]> = Table::of_algorithm(
    NAMES,
    OF_OPERATIONS,
    signature::FUNCTIONS.first(),
    c"Tollgate RSA signatures",
);

static ASYM_CIPHER: Table<[OSSL_ALGORITHM; 2]> = Table::of_algorithm(
    NAMES,
    OF_OPERATIONS,
    asym_cipher::FUNCTIONS.first(),
    c"Tollgate RSA encryption and decryption",
);

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
    answers.text(OSSL_PROV_PARAM_NAME, c"Tollgate RSA provider")?;
    answers.text(OSSL_PROV_PARAM_VERSION, VERSION)?;
    answers.text(OSSL_PROV_PARAM_BUILDINFO, VERSION)?;
    answers.integer(OSSL_PROV_PARAM_STATUS, i64::from(provider.is_healthy()))?;
    for (event, key, _) in Event::ALL {
        answers.integer(key, i64::try_from(provider.counters.read(event)).unwrap_or(i64::MAX))?;
    }
    Ok(())
}

unsafe extern "C" fn query_operation(
    _provctx: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const OSSL_ALGORITHM {
    if !no_cache.is_null() {
        // SAFETY: a variable of the caller's.
        unsafe { no_cache.write(0) };
    }
    match operation {
        OSSL_OP_ASYM_CIPHER => ASYM_CIPHER.first(),
        OSSL_OP_KEYMGMT => KEYMGMT.first(),
        OSSL_OP_SIGNATURE => SIGNATURE.first(),
        _ => ptr::null(),
    }
}

unsafe extern "C" fn get_reason_strings(_provctx: *mut c_void) -> *const OSSL_ITEM {
    REASONS.first()
}

unsafe extern "C" fn self_test(provctx: *mut c_void) -> c_int {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry(provider, |provider| self_test::run(provider))
}
