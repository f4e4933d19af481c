//! Signatures as libcrypto calls them: provider-signature(7).
//!
//! Every context and key here came from `newctx`, `dupctx` or the key management of this provider;
//! libcrypto uses a context from one thread at a time and frees it once.

use core::ffi::{c_char, c_int, c_uchar, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::{
    OSSL_DISPATCH, OSSL_PARAM, OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UTF8_STRING,
    OSSL_PKEY_PARAM_DIGEST, OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PKEY_PARAM_MGF1_PROPERTIES,
    OSSL_PKEY_PARAM_PAD_MODE, OSSL_PKEY_PARAM_PROPERTIES, OSSL_SIGNATURE_PARAM_ALGORITHM_ID,
    OSSL_SIGNATURE_PARAM_PSS_SALTLEN,
};
use crate::handle::{self, Output};
use crate::key::{Key, KeySlot};
use crate::params::{Answers, Params};
use crate::provider::{Provider, entry, entry_object};
use crate::reason::Reason;
use crate::signature_context::SignatureContext;
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 22]> = dispatch! {
    OSSL_FUNC_SIGNATURE_NEWCTX: OSSL_FUNC_signature_newctx_fn = newctx;
    OSSL_FUNC_SIGNATURE_FREECTX: OSSL_FUNC_freectx_fn = freectx;
    OSSL_FUNC_SIGNATURE_DUPCTX: OSSL_FUNC_dupctx_fn = dupctx;
    OSSL_FUNC_SIGNATURE_SIGN_INIT: OSSL_FUNC_signature_init_fn = sign_init;
    OSSL_FUNC_SIGNATURE_SIGN: OSSL_FUNC_signature_sign_fn = sign;
    OSSL_FUNC_SIGNATURE_VERIFY_INIT: OSSL_FUNC_signature_init_fn = verify_init;
    OSSL_FUNC_SIGNATURE_VERIFY: OSSL_FUNC_signature_verify_fn = verify;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER_INIT: OSSL_FUNC_signature_init_fn = verify_init;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER: OSSL_FUNC_signature_sign_fn = verify_recover;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT: OSSL_FUNC_signature_digest_init_fn = digest_sign_init;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE: OSSL_FUNC_signature_digest_input_fn = update;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL: OSSL_FUNC_signature_digest_sign_final_fn =
        digest_sign_final;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN: OSSL_FUNC_signature_sign_fn = digest_sign;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT: OSSL_FUNC_signature_digest_init_fn =
        digest_verify_init;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE: OSSL_FUNC_signature_digest_input_fn = update;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL: OSSL_FUNC_signature_digest_input_fn =
        digest_verify_final;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY: OSSL_FUNC_signature_verify_fn = digest_verify;
    OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS: OSSL_FUNC_get_ctx_params_fn = get_ctx_params;
    OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn = gettable_ctx_params;
    OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS: OSSL_FUNC_set_ctx_params_fn = set_ctx_params;
    OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn = settable_ctx_params;
};

static GETTABLE: Table<[OSSL_PARAM; 6]> = Table::of_keys([
    (OSSL_SIGNATURE_PARAM_ALGORITHM_ID, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_SIGNATURE_PARAM_PSS_SALTLEN, OSSL_PARAM_UTF8_STRING),
    (c"", 0),
]);

/// Properties are taken and ignored: no digest of another provider is used.
static SETTABLE: Table<[OSSL_PARAM; 7]> = Table::of_keys([
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_SIGNATURE_PARAM_PSS_SALTLEN, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (c"", 0),
]);

/// A context for the length of a call.
///
/// # Safety
///
/// As the module says.
unsafe fn context<'a>(ctx: *mut c_void) -> Option<&'a mut SignatureContext> {
    // SAFETY: the caller's promise.
    unsafe { handle::exclusive(ctx) }
}

/// The key of an init call, to keep; NULL stands for the last one.
///
/// # Safety
///
/// As the module says.
pub(crate) unsafe fn key(provkey: *mut c_void) -> Result<Option<Arc<Key>>, Reason> {
    // SAFETY: the caller's promise.
    let slot = unsafe { handle::shared::<KeySlot>(provkey) };
    slot.map(|slot| slot.key().map(Arc::clone)).transpose()
}

unsafe extern "C" fn newctx(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    // SAFETY: libcrypto passes the provider back that `init` gave it.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry_object(|| match provider {
        Some(provider) => handle::give(SignatureContext::new(Arc::clone(provider))),
        None => ptr::null_mut(),
    })
}

unsafe extern "C" fn freectx(ctx: *mut c_void) {
    entry_object(|| {
        // SAFETY: as the module says.
        unsafe { handle::free::<SignatureContext>(ctx) };
        ptr::null_mut()
    });
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::shared::<SignatureContext>(ctx) };
    entry_object(|| ctx.map_or(ptr::null_mut(), |ctx| handle::give(ctx.clone())))
}

unsafe extern "C" fn sign_init(
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

unsafe extern "C" fn verify_init(
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

unsafe extern "C" fn sign(
    ctx: *mut c_void,
    sig: *mut c_uchar,
    siglen: *mut usize,
    sigsize: usize,
    tbs: *const c_uchar,
    tbslen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's output buffer.
    let output = unsafe { Output::new(sig, sigsize, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    entry(ctx, |ctx| ctx.sign(output, tbs))
}

unsafe extern "C" fn verify(
    ctx: *mut c_void,
    sig: *const c_uchar,
    siglen: usize,
    tbs: *const c_uchar,
    tbslen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    entry(ctx, |ctx| ctx.verify(sig, tbs))
}

unsafe extern "C" fn verify_recover(
    ctx: *mut c_void,
    rout: *mut c_uchar,
    routlen: *mut usize,
    routsize: usize,
    sig: *const c_uchar,
    siglen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's output buffer.
    let output = unsafe { Output::new(rout, routsize, routlen) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    entry(ctx, |ctx| ctx.verify_recover(output, sig))
}

unsafe extern "C" fn digest_sign_init(
    ctx: *mut c_void,
    mdname: *const c_char,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's text.
    let mdname = unsafe { handle::text(mdname) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters stay until the call is over.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.digest_init(mdname, key?, true, params))
}

unsafe extern "C" fn digest_verify_init(
    ctx: *mut c_void,
    mdname: *const c_char,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's text.
    let mdname = unsafe { handle::text(mdname) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters stay until the call is over.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.digest_init(mdname, key?, false, params))
}

unsafe extern "C" fn update(ctx: *mut c_void, data: *const c_uchar, datalen: usize) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's input.
    let data = unsafe { handle::bytes(data, datalen) };
    entry(ctx, |ctx| ctx.update(data))
}

unsafe extern "C" fn digest_sign_final(
    ctx: *mut c_void,
    sig: *mut c_uchar,
    siglen: *mut usize,
    sigsize: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's output buffer.
    let output = unsafe { Output::new(sig, sigsize, siglen) };
    entry(ctx, |ctx| ctx.digest_sign_final(output))
}

unsafe extern "C" fn digest_sign(
    ctx: *mut c_void,
    sig: *mut c_uchar,
    siglen: *mut usize,
    sigsize: usize,
    tbs: *const c_uchar,
    tbslen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's output buffer.
    let output = unsafe { Output::new(sig, sigsize, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    entry(ctx, |ctx| ctx.digest_sign(output, tbs))
}

unsafe extern "C" fn digest_verify_final(
    ctx: *mut c_void,
    sig: *const c_uchar,
    siglen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    entry(ctx, |ctx| ctx.digest_verify_final(sig))
}

unsafe extern "C" fn digest_verify(
    ctx: *mut c_void,
    sig: *const c_uchar,
    siglen: usize,
    tbs: *const c_uchar,
    tbslen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context(ctx) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    entry(ctx, |ctx| ctx.digest_verify(sig, tbs))
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
