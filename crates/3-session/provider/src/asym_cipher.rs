//! Encryption and decryption as libcrypto calls them: provider-asym_cipher(7).
//!
//! Every context and key here came from `newctx`, `dupctx` or the key management of this provider;
//! libcrypto uses a context from one thread at a time and frees it once.

use core::ffi::{c_int, c_uchar, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::{
    OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS,
    OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION,
    OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_DISPATCH, OSSL_PARAM,
    OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_UTF8_STRING,
    OSSL_PKEY_PARAM_DIGEST, OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PKEY_PARAM_MGF1_PROPERTIES,
    OSSL_PKEY_PARAM_PAD_MODE,
};
use crate::asym_cipher_context::AsymCipherContext;
use crate::handle::{self, Output};
use crate::params::{Answers, Params};
use crate::provider::{Provider, entry, entry_object};
use crate::signature::key;
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 12]> = dispatch! {
    OSSL_FUNC_ASYM_CIPHER_NEWCTX: OSSL_FUNC_asym_cipher_newctx_fn = newctx;
    OSSL_FUNC_ASYM_CIPHER_FREECTX: OSSL_FUNC_freectx_fn = freectx;
    OSSL_FUNC_ASYM_CIPHER_DUPCTX: OSSL_FUNC_dupctx_fn = dupctx;
    OSSL_FUNC_ASYM_CIPHER_ENCRYPT_INIT: OSSL_FUNC_asym_cipher_init_fn = encrypt_init;
    OSSL_FUNC_ASYM_CIPHER_ENCRYPT: OSSL_FUNC_asym_cipher_crypt_fn = encrypt;
    OSSL_FUNC_ASYM_CIPHER_DECRYPT_INIT: OSSL_FUNC_asym_cipher_init_fn = decrypt_init;
    OSSL_FUNC_ASYM_CIPHER_DECRYPT: OSSL_FUNC_asym_cipher_crypt_fn = decrypt;
    OSSL_FUNC_ASYM_CIPHER_GET_CTX_PARAMS: OSSL_FUNC_get_ctx_params_fn = get_ctx_params;
    OSSL_FUNC_ASYM_CIPHER_GETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn = gettable_ctx_params;
    OSSL_FUNC_ASYM_CIPHER_SET_CTX_PARAMS: OSSL_FUNC_set_ctx_params_fn = set_ctx_params;
    OSSL_FUNC_ASYM_CIPHER_SETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn = settable_ctx_params;
};

static GETTABLE: Table<[OSSL_PARAM; 7]> = Table::of_keys([
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

/// Properties are taken and ignored: no digest of another provider is used.
static SETTABLE: Table<[OSSL_PARAM; 10]> = Table::of_keys([
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, OSSL_PARAM_OCTET_STRING),
    (OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

/// A context for the length of a call.
///
/// # Safety
///
/// As the module says.
unsafe fn context<'a>(ctx: *mut c_void) -> Option<&'a mut AsymCipherContext> {
    // SAFETY: the caller's promise.
    unsafe { handle::exclusive(ctx) }
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: libcrypto passes the provider back that `init` gave it.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry_object(|| match provider {
        Some(provider) => handle::give(AsymCipherContext::new(Arc::clone(provider))),
        None => ptr::null_mut(),
    })
}

unsafe extern "C" fn freectx(ctx: *mut c_void) {
    entry_object(|| {
        // SAFETY: as the module says.
        unsafe { handle::free::<AsymCipherContext>(ctx) };
        ptr::null_mut()
    });
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::shared::<AsymCipherContext>(ctx) };
    entry_object(|| ctx.map_or(ptr::null_mut(), |ctx| handle::give(ctx.clone())))
}

unsafe extern "C" fn encrypt_init(
    ctx: *mut c_void,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters stay until the call is over.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.init(key?, false, params))
}

unsafe extern "C" fn decrypt_init(
    ctx: *mut c_void,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters stay until the call is over.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.init(key?, true, params))
}

unsafe extern "C" fn encrypt(
    ctx: *mut c_void,
    out: *mut c_uchar,
    outlen: *mut usize,
    outsize: usize,
    input: *const c_uchar,
    inlen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's output buffer.
    let output = unsafe { Output::new(out, outsize, outlen) };
    // SAFETY: the caller's input.
    let input = unsafe { handle::bytes(input, inlen) };
    entry(ctx, |ctx| ctx.encrypt(output, input))
}

unsafe extern "C" fn decrypt(
    ctx: *mut c_void,
    out: *mut c_uchar,
    outlen: *mut usize,
    outsize: usize,
    input: *const c_uchar,
    inlen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's output buffer.
    let output = unsafe { Output::new(out, outsize, outlen) };
    // SAFETY: the caller's input.
    let input = unsafe { handle::bytes(input, inlen) };
    entry(ctx, |ctx| ctx.decrypt(output, input))
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the parameters are the caller's, for us to fill.
    let mut answers = unsafe { Answers::new(params) };
    entry(ctx, |ctx| ctx.describe(&mut answers))
}

unsafe extern "C" fn gettable_ctx_params(
    _ctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    GETTABLE.first()
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const OSSL_PARAM) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the parameters stay until the call is over.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.set(params))
}

unsafe extern "C" fn settable_ctx_params(
    _ctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    SETTABLE.first()
}
