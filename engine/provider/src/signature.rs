//! The entry points of signatures: provider-signature(7). [`crate::context`] states what libcrypto
//! guarantees for contexts.

use core::ffi::{c_char, c_int, c_uchar, c_void};

use crate::abi::{OSSL_DISPATCH, OSSL_PARAM};
use crate::context::{
    context, dupctx, freectx, get_ctx_params, gettable_ctx_params, init, key, newctx,
    set_ctx_params, settable_ctx_params, transforms,
};
use crate::handle::{self, Output};
use crate::params::Params;
use crate::provider::entry;
use crate::signature_context::SignatureContext;
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 22]> = dispatch! {
    OSSL_FUNC_SIGNATURE_NEWCTX: OSSL_FUNC_signature_newctx_fn = new;
    OSSL_FUNC_SIGNATURE_FREECTX: OSSL_FUNC_freectx_fn = freectx::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_DUPCTX: OSSL_FUNC_dupctx_fn = dupctx::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_SIGN_INIT: OSSL_FUNC_signature_init_fn = init::<SignatureContext, true>;
    OSSL_FUNC_SIGNATURE_SIGN: OSSL_FUNC_signature_sign_fn = sign;
    OSSL_FUNC_SIGNATURE_VERIFY_INIT: OSSL_FUNC_signature_init_fn = init::<SignatureContext, false>;
    OSSL_FUNC_SIGNATURE_VERIFY: OSSL_FUNC_signature_verify_fn = verify;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER_INIT: OSSL_FUNC_signature_init_fn =
        init::<SignatureContext, false>;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER: OSSL_FUNC_signature_sign_fn = verify_recover;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT: OSSL_FUNC_signature_digest_init_fn = digest_init::<true>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE: OSSL_FUNC_signature_digest_input_fn = update;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL: OSSL_FUNC_signature_digest_sign_final_fn =
        digest_sign_final;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN: OSSL_FUNC_signature_sign_fn = digest_sign;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT: OSSL_FUNC_signature_digest_init_fn =
        digest_init::<false>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE: OSSL_FUNC_signature_digest_input_fn = update;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL: OSSL_FUNC_signature_digest_input_fn =
        digest_verify_final;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY: OSSL_FUNC_signature_verify_fn = digest_verify;
    OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS: OSSL_FUNC_get_ctx_params_fn =
        get_ctx_params::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn =
        gettable_ctx_params::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS: OSSL_FUNC_set_ctx_params_fn =
        set_ctx_params::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn =
        settable_ctx_params::<SignatureContext>;
};

transforms! {
    sign = SignatureContext::sign;
    verify_recover = SignatureContext::verify_recover;
    digest_sign = SignatureContext::digest_sign;
}

/// The property query is for digests, which this provider computes itself.
unsafe extern "C" fn new(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    // SAFETY: as the caller promised.
    unsafe { newctx::<SignatureContext>(provctx) }
}

unsafe extern "C" fn verify(
    ctx: *mut c_void,
    sig: *const c_uchar,
    siglen: usize,
    tbs: *const c_uchar,
    tbslen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context::<SignatureContext>(ctx) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    entry(ctx, |ctx| ctx.verify(sig, tbs))
}

unsafe extern "C" fn digest_init<const PRIVATE: bool>(
    ctx: *mut c_void,
    mdname: *const c_char,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context::<SignatureContext>(ctx) };
    // SAFETY: the caller's text.
    let mdname = unsafe { handle::text(mdname) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.digest_init(mdname, key?, PRIVATE, params))
}

unsafe extern "C" fn update(ctx: *mut c_void, data: *const c_uchar, datalen: usize) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context::<SignatureContext>(ctx) };
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
    let ctx = unsafe { context::<SignatureContext>(ctx) };
    // SAFETY: the caller's output buffer.
    let mut output = unsafe { Output::new(sig, sigsize, siglen) };
    entry(ctx, |ctx| {
        ctx.digest_sign_final(&mut output)?;
        output.copy_out();
        Ok(())
    })
}

unsafe extern "C" fn digest_verify_final(
    ctx: *mut c_void,
    sig: *const c_uchar,
    siglen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context::<SignatureContext>(ctx) };
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
    let ctx = unsafe { context::<SignatureContext>(ctx) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    entry(ctx, |ctx| ctx.digest_verify(sig, tbs))
}
