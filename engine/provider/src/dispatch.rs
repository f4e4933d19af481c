//! The provider as libcrypto calls it: provider-base(7). What it offers, and under which
//! properties.
//!
//! `SIGNATURE` and `ASYM_CIPHER` carry `tollgate.operations=yes`, so the query
//! `?tollgate.operations=yes` prefers them. `KEYMGMT` does not, on purpose: that query also decides
//! who *makes* keys (`EVP_PKEY_keygen`, `EVP_PKEY_fromdata`), and there libcrypto has no way back
//! to another provider, while this one refuses some. Without the property, keys are made and kept
//! by the default provider, and libcrypto exports them to us at each operation's init, where a
//! refusal falls back. With neither preferred, the provider that was loaded first wins: load
//! `default` first.
//!
//! They carry `provider=tollgate` too. A program that queries `provider` itself, as stunnel does
//! with `provider!=fips`, takes the place of that clause in the configuration, but not of ours.
//!
//! All three carry `tollgate.rsa=yes`: who queries that (without `?`) gets this provider for keys
//! and operations, or an error.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::{
    OSSL_ALGORITHM, OSSL_CORE_HANDLE, OSSL_DISPATCH, OSSL_ITEM, OSSL_OP_ASYM_CIPHER,
    OSSL_OP_KEYMGMT, OSSL_OP_SIGNATURE, OSSL_PARAM, OSSL_PARAM_INTEGER,
    OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_UTF8_PTR, OSSL_PROV_PARAM_BUILDINFO,
    OSSL_PROV_PARAM_NAME, OSSL_PROV_PARAM_STATUS, OSSL_PROV_PARAM_VERSION,
};
use crate::counters::Event;
use crate::params::Answers;
use crate::provider::{Provider, entry, entry_object};
use crate::reason::{REASONS, Reason};
use crate::table::{Algorithm, Table, dispatch};
use crate::upcalls::Core;
use crate::{asym_cipher, handle, keymgmt, self_test, signature};

static FUNCTIONS: Table<[OSSL_DISPATCH; 7]> = dispatch! {
    OSSL_FUNC_PROVIDER_TEARDOWN: OSSL_FUNC_provider_teardown_fn = teardown;
    OSSL_FUNC_PROVIDER_GETTABLE_PARAMS: OSSL_FUNC_provider_gettable_params_fn = gettable_params;
    OSSL_FUNC_PROVIDER_GET_PARAMS: OSSL_FUNC_provider_get_params_fn = get_params;
    OSSL_FUNC_PROVIDER_QUERY_OPERATION: OSSL_FUNC_provider_query_operation_fn = query_operation;
    OSSL_FUNC_PROVIDER_GET_REASON_STRINGS: OSSL_FUNC_provider_get_reason_strings_fn =
        get_reason_strings;
    OSSL_FUNC_PROVIDER_SELF_TEST: OSSL_FUNC_provider_self_test_fn = self_test;
};

const NAMES: &CStr = c"RSA:rsaEncryption:1.2.840.113549.1.1.1";
/// Of keys: who wants these asks for them.
const OF_KEYS: &CStr = c"tollgate.rsa=yes";
/// Of operations: `?tollgate.operations=yes` prefers them.
const OF_OPERATIONS: &CStr = c"provider=tollgate,tollgate.operations=yes,tollgate.rsa=yes";

static KEYMGMT: Table<[OSSL_ALGORITHM; 2]> = Table::of_algorithms([
    Some(Algorithm {
        names: NAMES,
        properties: OF_KEYS,
        functions: keymgmt::FUNCTIONS.first(),
        description: c"Tollgate RSA keys",
    }),
    None,
]);

static SIGNATURE: Table<[OSSL_ALGORITHM; 2]> = Table::of_algorithms([
    Some(Algorithm {
        names: NAMES,
        properties: OF_OPERATIONS,
        functions: signature::FUNCTIONS.first(),
        description: c"Tollgate RSA signatures",
    }),
    None,
]);

static ASYM_CIPHER: Table<[OSSL_ALGORITHM; 2]> = Table::of_algorithms([
    Some(Algorithm {
        names: NAMES,
        properties: OF_OPERATIONS,
        functions: asym_cipher::FUNCTIONS.first(),
        description: c"Tollgate RSA encryption and decryption",
    }),
    None,
]);

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

/// `OSSL_provider_init` under a name of its own; see [`crate::init_function`].
///
/// # Safety
///
/// As [`Core::new`]; `output` and `provctx` are writable.
pub(crate) unsafe extern "C" fn init(
    handle: *const OSSL_CORE_HANDLE,
    input: *const OSSL_DISPATCH,
    output: *mut *const OSSL_DISPATCH,
    provctx: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller is libcrypto.
    let core = unsafe { Core::new(handle, input) };
    let provider = entry_object(|| match Provider::new(core) {
        Ok(provider) => handle::give(provider.share()),
        Err(_) => ptr::null_mut(),
    });
    if provider.is_null() {
        return 0;
    }
    // SAFETY: the caller's place for our context.
    unsafe { provctx.write(provider) };
    // SAFETY: the caller's place for our table.
    unsafe { output.write(FUNCTIONS.first()) };
    1
}

unsafe extern "C" fn teardown(provctx: *mut c_void) {
    // SAFETY: libcrypto passes the provider back that `init` gave it.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry_object(|| {
        if let Some(provider) = provider {
            provider.close();
        }
        // SAFETY: libcrypto calls it once, after everything else.
        unsafe { handle::free::<Arc<Provider>>(provctx) };
        ptr::null_mut()
    });
}

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const OSSL_PARAM {
    GETTABLE.first()
}

unsafe extern "C" fn get_params(provctx: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: libcrypto passes the provider back that `init` gave it.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    // SAFETY: the parameters are the caller's, for us to fill.
    let mut answers = unsafe { Answers::new(params) };
    entry(provider.map(Arc::as_ref), |provider| describe(provider, &mut answers))
}

fn describe(provider: &Provider, answers: &mut Answers<'_>) -> Result<(), Reason> {
    answers.text(OSSL_PROV_PARAM_NAME, c"Tollgate RSA provider")?;
    answers.text(OSSL_PROV_PARAM_VERSION, VERSION)?;
    answers.text(OSSL_PROV_PARAM_BUILDINFO, VERSION)?;
    answers.integer(OSSL_PROV_PARAM_STATUS, i64::from(provider.is_healthy()))?;
    for (event, key, _) in Event::ALL {
        answers.integer(key, i64::try_from(provider.counted(event)).unwrap_or(i64::MAX))?;
    }
    Ok(())
}

unsafe extern "C" fn query_operation(
    _provctx: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const OSSL_ALGORITHM {
    if !no_cache.is_null() {
        // SAFETY: the caller's place for the answer.
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
    // SAFETY: libcrypto passes the provider back that `init` gave it.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry(provider.map(Arc::as_ref), |provider| self_test::run(provider))
}
