//! The entry points of signatures: provider-signature(7). [`crate::context`] states what libcrypto
//! guarantees for contexts.

use core::ffi::{c_char, c_int, c_uchar, c_void};

use crate::abi::{OSSL_DISPATCH, OSSL_PARAM};
use crate::context::{
    dupctx, get_ctx_params, gettable_ctx_params, init, key, newctx_for_query, set_ctx_params,
    settable_ctx_params, transforms,
};
use crate::ecdsa::EcdsaContext;
use crate::handle::{self, Output};
use crate::params::Params;
use crate::provider::entry;
use crate::reason::Reason;
use crate::signature_context::RsaSignatureContext;
use crate::signer::Signer;
use crate::table::{Table, dispatch};

pub(crate) static RSA: Table<[OSSL_DISPATCH; 22]> = dispatch! {
    OSSL_FUNC_SIGNATURE_NEWCTX = new::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_FREECTX = handle::free::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_DUPCTX = dupctx::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_SIGN_INIT = init::<RsaSignatureContext, true>;
    OSSL_FUNC_SIGNATURE_SIGN = sign::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_VERIFY_INIT = init::<RsaSignatureContext, false>;
    OSSL_FUNC_SIGNATURE_VERIFY = verify::<RsaSignatureContext, true>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT = digest_init::<RsaSignatureContext, true>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE = input::<RsaSignatureContext, false>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL = digest_sign_final::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN = digest_sign::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT = digest_init::<RsaSignatureContext, false>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE = input::<RsaSignatureContext, false>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL = input::<RsaSignatureContext, true>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY = verify::<RsaSignatureContext, false>;
    OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS = get_ctx_params::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS = gettable_ctx_params::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS = set_ctx_params::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS = settable_ctx_params::<RsaSignatureContext>;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER_INIT = init::<RsaSignatureContext, false>;
    OSSL_FUNC_SIGNATURE_VERIFY_RECOVER = verify_recover;
};

pub(crate) static ECDSA: Table<[OSSL_DISPATCH; 20]> = dispatch! {
    OSSL_FUNC_SIGNATURE_NEWCTX = new::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_FREECTX = handle::free::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_DUPCTX = dupctx::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_SIGN_INIT = init::<EcdsaContext, true>;
    OSSL_FUNC_SIGNATURE_SIGN = sign::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_VERIFY_INIT = init::<EcdsaContext, false>;
    OSSL_FUNC_SIGNATURE_VERIFY = verify::<EcdsaContext, true>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT = digest_init::<EcdsaContext, true>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE = input::<EcdsaContext, false>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL = digest_sign_final::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_DIGEST_SIGN = digest_sign::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT = digest_init::<EcdsaContext, false>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE = input::<EcdsaContext, false>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL = input::<EcdsaContext, true>;
    OSSL_FUNC_SIGNATURE_DIGEST_VERIFY = verify::<EcdsaContext, false>;
    OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS = get_ctx_params::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS = gettable_ctx_params::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS = set_ctx_params::<EcdsaContext>;
    OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS = settable_ctx_params::<EcdsaContext>;
};

transforms! {
    sign<S: Signer> = S::sign;
    verify_recover = RsaSignatureContext::verify_recover;
    digest_sign<S: Signer> = S::digest_sign;
}

/// The property query selects no digests: this provider computes them itself.
unsafe extern "C" fn new<S: Signer>(
    provctx: *mut c_void,
    properties: *const c_char,
) -> *mut c_void {
    // SAFETY: as the caller promised.
    unsafe { newctx_for_query::<S>(provctx, properties) }
}

/// Verifies a digest, or the rest of a message.
unsafe extern "C" fn verify<S: Signer, const IS_DIGEST: bool>(
    ctx: *mut c_void,
    sig: *const c_uchar,
    siglen: usize,
    tbs: *const c_uchar,
    tbslen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<S>(ctx) };
    // SAFETY: the caller's input.
    let sig = unsafe { handle::bytes(sig, siglen) };
    // SAFETY: the caller's input.
    let tbs = unsafe { handle::bytes(tbs, tbslen) };
    verdict(ctx, |ctx| if IS_DIGEST { ctx.verify(sig, tbs) } else { ctx.digest_verify(sig, tbs) })
}

unsafe extern "C" fn digest_init<S: Signer, const PRIVATE: bool>(
    ctx: *mut c_void,
    mdname: *const c_char,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<S>(ctx) };
    // SAFETY: the caller's text.
    let mdname = unsafe { handle::text(mdname) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.digest_init(mdname, key?, PRIVATE, params))
}

/// Takes a piece of the message, or the signature of the whole message.
unsafe extern "C" fn input<S: Signer, const IS_SIGNATURE: bool>(
    ctx: *mut c_void,
    data: *const c_uchar,
    datalen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<S>(ctx) };
    // SAFETY: the caller's input.
    let data = unsafe { handle::bytes(data, datalen) };
    verdict(ctx, |ctx| {
        if IS_SIGNATURE { ctx.digest_verify_final(data) } else { ctx.message().update(data) }
    })
}

/// Runs the body of an entry point. Returns 1 on success, -1 for a signature that is not an
/// encoding of one, as OpenSSL does, and 0 on other failures.
fn verdict<S: Signer>(
    ctx: Option<&mut S>,
    body: impl FnOnce(&mut S) -> Result<(), Reason>,
) -> c_int {
    let mut is_encoding = true;
    let result = entry(ctx, |ctx| {
        body(ctx).inspect_err(|reason| is_encoding = *reason != Reason::SignatureEncoding)
    });
    if is_encoding { result } else { -1 }
}

unsafe extern "C" fn digest_sign_final<S: Signer>(
    ctx: *mut c_void,
    sig: *mut c_uchar,
    siglen: *mut usize,
    sigsize: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<S>(ctx) };
    // SAFETY: the caller's output buffer.
    let mut output = unsafe { Output::new(sig, sigsize, siglen) };
    entry(ctx, |ctx| {
        ctx.digest_sign_final(&mut output)?;
        output.copy_out();
        Ok(())
    })
}
