//! The entry points of signatures: provider-signature(7). [`crate::context`] states what libcrypto
//! guarantees for contexts.

use core::ffi::{c_char, c_int, c_uchar, c_void};

use crate::abi::{OSSL_DISPATCH, OSSL_PARAM};
use crate::context::{
    dupctx, get_ctx_params, gettable_ctx_params, init, key, newctx, set_ctx_params,
    settable_ctx_params, transforms,
};
use crate::handle::{self, Output};
use crate::params::Params;
use crate::provider::entry;
use crate::signature_context::SignatureContext;
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 22]> = dispatch! {
    OSSL_FUNC_SIGNATURE_NEWCTX = new;
    OSSL_FUNC_SIGNATURE_FREECTX = handle::free::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_DUPCTX = dupctx::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_SIGN_INIT = init::<SignatureContext, true>;
    OSSL_FUNC_SIGNATURE_SIGN = sign;
    OSSL_FUNC_SIGNATURE_VERIFY_INIT = init::<SignatureContext, false>;
    OSSL_FUNC_SIGNATURE_VERIFY = verify::<true>;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER_INIT = init::<SignatureContext, false>;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER = verify_recover;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT = digest_init::<true>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE = input::<false>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL = digest_sign_final;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN = digest_sign;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT = digest_init::<false>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE = input::<false>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL = input::<true>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY = verify::<false>;
    OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS = get_ctx_params::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS = gettable_ctx_params::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS = set_ctx_params::<SignatureContext>;
    OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS = settable_ctx_params::<SignatureContext>;
};

transforms! {
    sign = SignatureContext::sign;
    verify_recover = SignatureContext::verify_recover;
    digest_sign = SignatureContext::digest_sign;
}

/// The property query is ignored: it selects a provider for digests, and this provider computes
/// digests itself.
unsafe extern "C" fn new(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    // SAFETY: as the caller promised.
    unsafe { newctx::<SignatureContext>(provctx) }
}

/// Verifies a digest, or the rest of a message.
unsafe extern "C" fn verify<const IS_DIGEST: bool>(
    ctx: *mut c_void,
    sig: *const c_uchar,
    siglen: usize,
    tbs: *const c_uchar,
    tbslen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<SignatureContext>(ctx) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    entry(ctx, |ctx| if IS_DIGEST { ctx.verify(sig, tbs) } else { ctx.digest_verify(sig, tbs) })
}

unsafe extern "C" fn digest_init<const PRIVATE: bool>(
    ctx: *mut c_void,
    mdname: *const c_char,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<SignatureContext>(ctx) };
    // SAFETY: the caller's text.
    let mdname = unsafe { handle::text(mdname) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.digest_init(mdname, key?, PRIVATE, params))
}

/// Takes a piece of the message, or the signature of the whole message.
unsafe extern "C" fn input<const IS_SIGNATURE: bool>(
    ctx: *mut c_void,
    data: *const c_uchar,
    datalen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<SignatureContext>(ctx) };
    // SAFETY: the caller's input.
    let data = unsafe { handle::bytes(data, datalen) };
    entry(ctx, |ctx| if IS_SIGNATURE { ctx.digest_verify_final(data) } else { ctx.update(data) })
}

unsafe extern "C" fn digest_sign_final(
    ctx: *mut c_void,
    sig: *mut c_uchar,
    siglen: *mut usize,
    sigsize: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<SignatureContext>(ctx) };
    // SAFETY: the caller's output buffer.
    let mut output = unsafe { Output::new(sig, sigsize, siglen) };
    entry(ctx, |ctx| {
        ctx.digest_sign_final(&mut output)?;
        output.copy_out();
        Ok(())
    })
}
