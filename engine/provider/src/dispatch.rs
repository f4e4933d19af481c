//! The entry points of the provider, its algorithms and their properties: provider-base(7).
//!
//! `SIGNATURE` and `ASYM_CIPHER` have the property `tollgate.operations=yes`, which the query of a
//! configuration prefers. `KEYMGMT` does not: the query also decides which provider creates keys,
//! and libcrypto does not fall back to another provider if the preferred one refuses. So the
//! default provider creates and holds keys, libcrypto exports a key to this provider when an
//! operation starts, and if this provider refuses the key, the default provider serves it.
//! [`crate::keymgmt_cache`] sees to the order of key management.
//!
//! `provider=tollgate` is a property too, but a program's own query that names `provider`, such as
//! stunnel's `provider!=fips`, replaces a clause `?provider=tollgate` of the configuration. The
//! query `tollgate.rsa=yes`, without `?`, selects this provider for keys and operations of RSA, or
//! fails.
//!
//! RSA has kernels for x86-64 alone. Elsewhere its operations lack `tollgate.operations=yes`, so
//! the default provider serves them, except those of keys on a signer.
//!
//! One `KEYMGMT` of EC serves the keys of all curves; this provider's imports keys of P-256 with a
//! private half and refuses all others. Without it, libcrypto would not use this provider's ECDSA.
//!
//! For X25519, `KEYMGMT` has the properties of operations too: half of the work of a key exchange
//! is the new key, and there are no keys to refuse.

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
use crate::table::{Algorithm, Table, dispatch};
use crate::upcalls::Core;
use crate::{asym_cipher, decoder, handle, key_exchange, keymgmt, self_test, signature, x25519};

static FUNCTIONS: Table<[OSSL_DISPATCH; 8]> = dispatch! {
    OSSL_FUNC_PROVIDER_TEARDOWN = teardown;
    OSSL_FUNC_PROVIDER_GETTABLE_PARAMS = gettable_params;
    OSSL_FUNC_PROVIDER_GET_PARAMS = get_params;
    OSSL_FUNC_PROVIDER_QUERY_OPERATION = query_operation;
    OSSL_FUNC_PROVIDER_GET_CAPABILITIES = get_capabilities;
    OSSL_FUNC_PROVIDER_GET_REASON_STRINGS = get_reason_strings;
    OSSL_FUNC_PROVIDER_SELF_TEST = self_test;
};

const RSA_NAMES: &CStr = c"RSA:rsaEncryption:1.2.840.113549.1.1.1";
/// The properties of keys. The query `?tollgate.operations=yes` does not match them.
const OF_KEYS: &CStr = c"tollgate.rsa=yes";
/// The properties of operations: `?tollgate.operations=yes` prefers them.
const OF_OPERATIONS: &CStr = if cfg!(target_arch = "x86_64") {
    c"provider=tollgate,tollgate.operations=yes,tollgate.rsa=yes"
} else {
    c"provider=tollgate,tollgate.rsa=yes" // only the portable kernel runs: OpenSSL's own is faster
};

/// The properties of EC keys and of ECDSA, as those of RSA.
const OF_EC_KEYS: &CStr = c"tollgate.ecdsa=yes";
const OF_ECDSA: &CStr = c"provider=tollgate,tollgate.operations=yes,tollgate.ecdsa=yes";

const X25519_NAMES: &CStr = c"X25519:1.3.101.110";
/// The properties of keys and operations of X25519, which this provider serves both.
const OF_X25519: &CStr = c"provider=tollgate,tollgate.operations=yes";

const X25519_KEYS: Algorithm = Algorithm {
    names: X25519_NAMES,
    properties: OF_X25519,
    functions: keymgmt::X25519.first(),
    description: c"Tollgate X25519 keys",
};
const EC_KEYS: Algorithm = Algorithm {
    names: c"EC:id-ecPublicKey:1.2.840.10045.2.1",
    properties: OF_EC_KEYS,
    functions: keymgmt::EC.first(),
    description: c"Tollgate P-256 keys",
};
const RSA_KEYS: Algorithm = Algorithm {
    names: RSA_NAMES,
    properties: OF_KEYS,
    functions: keymgmt::RSA.first(),
    description: c"Tollgate RSA keys",
};

/// The key management of all types; without X25519 it begins at row 1, and with RSA alone at row 2.
static KEYMGMT: Table<[OSSL_ALGORITHM; 4]> =
    Table::of_algorithms(&[X25519_KEYS, EC_KEYS, RSA_KEYS]);
static KEYMGMT_WITHOUT_EC: Table<[OSSL_ALGORITHM; 3]> =
    Table::of_algorithms(&[X25519_KEYS, RSA_KEYS]);

static KEYEXCH: Table<[OSSL_ALGORITHM; 2]> = Table::of_algorithms(&[Algorithm {
    names: X25519_NAMES,
    properties: OF_X25519,
    functions: key_exchange::FUNCTIONS.first(),
    description: c"Tollgate X25519 key exchange",
}]);

/// Without ECDSA the table begins at row 1.
static SIGNATURE: Table<[OSSL_ALGORITHM; 3]> = Table::of_algorithms(&[
    Algorithm {
        names: c"ECDSA",
        properties: OF_ECDSA,
        functions: signature::ECDSA.first(),
        description: c"Tollgate ECDSA signatures with P-256",
    },
    Algorithm {
        names: RSA_NAMES,
        properties: OF_OPERATIONS,
        functions: signature::RSA.first(),
        description: c"Tollgate RSA signatures",
    },
]);

static ASYM_CIPHER: Table<[OSSL_ALGORITHM; 2]> = Table::of_algorithms(&[Algorithm {
    names: RSA_NAMES,
    properties: OF_OPERATIONS,
    functions: asym_cipher::FUNCTIONS.first(),
    description: c"Tollgate RSA encryption and decryption",
}]);

/// The decoders of stubs: of EC, if the provider has ECDSA, and of RSA.
static DECODER: Table<[OSSL_ALGORITHM; 3]> = Table::of_algorithms(&[
    Algorithm {
        names: c"EC",
        properties: OF_STUBS,
        functions: decoder::EC.first(),
        description: c"Stubs of P-256 keys on a signer",
    },
    Algorithm {
        names: c"RSA",
        properties: OF_STUBS,
        functions: decoder::RSA.first(),
        description: c"Stubs of RSA keys on a signer",
    },
]);

/// The properties of decoders: a stub is in PEM.
const OF_STUBS: &CStr = c"provider=tollgate,input=pem";

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
    if !no_cache.is_null() {
        // SAFETY: a variable of the caller's.
        unsafe { no_cache.write(0) };
    }
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    let with_x25519 = provider.is_some_and(|provider| provider.offers_x25519());
    let with_ecdsa = provider.is_some_and(|provider| provider.offers_ecdsa());
    match operation {
        OSSL_OP_ASYM_CIPHER => ASYM_CIPHER.first(),
        OSSL_OP_DECODER
            if provider.is_some_and(|provider| !provider.settings.remote.is_empty()) =>
        {
            DECODER.row(usize::from(!with_ecdsa))
        }
        OSSL_OP_KEYEXCH if with_x25519 => KEYEXCH.first(),
        OSSL_OP_KEYMGMT if is_fetching() => {
            if !no_cache.is_null() {
                // libcrypto asks again if it may not store the answer.
                // SAFETY: a variable of the caller's.
                unsafe { no_cache.write(1) };
            }
            ptr::null()
        }
        OSSL_OP_KEYMGMT => {
            if let Some(provider) = provider {
                catch((), || provider.fill_keymgmt_cache());
            }
            match (with_x25519, with_ecdsa) {
                (true, true) => KEYMGMT.first(),
                (true, false) => KEYMGMT_WITHOUT_EC.first(),
                (false, true) => KEYMGMT.row(1),
                (false, false) => KEYMGMT.row(2),
            }
        }
        OSSL_OP_SIGNATURE => SIGNATURE.row(usize::from(!with_ecdsa)),
        _ => ptr::null(),
    }
}

/// Announces the TLS group x25519. libssl of OpenSSL 3.0 drops a group if its keys come from a
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
    let accepted = attempt(provider.filter(|provider| provider.offers_x25519()), |_| {
        // SAFETY: libcrypto's callback and its argument.
        Ok(unsafe { x25519::tls_group().pass_to(callback, argument) })
    });
    accepted.unwrap_or(1)
}

unsafe extern "C" fn get_reason_strings(_provctx: *mut c_void) -> *const OSSL_ITEM {
    REASONS.first()
}

unsafe extern "C" fn self_test(provctx: *mut c_void) -> c_int {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry(provider, |provider| self_test::run(provider))
}
