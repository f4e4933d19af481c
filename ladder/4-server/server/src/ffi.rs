//! Safe functions for TLS contexts, providers and keys in a library context other than the default
//! one, which the `openssl` crates lack. Declarations follow OpenSSL 3.0's headers.
#![allow(unsafe_code, reason = "declarations of libssl and libcrypto")]

use core::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_uint, c_void};
use core::ptr;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::error::ErrorStack;
use openssl::lib_ctx::LibCtxRef;
use openssl::pkey::{Id, PKey, Private};
use openssl::provider::ProviderRef;
use openssl::ssl::{SslContextBuilder, SslMethod, SslRef};
use openssl_sys as sys;
use tollgate_provider::InitFunction;

use crate::counters::SignerOperations;
use crate::sessions::TicketKey;

/// `SSL_CTRL_GET_NEGOTIATED_GROUP` of `openssl/ssl.h`.
const GET_NEGOTIATED_GROUP: c_int = 134;
/// `TLSEXT_nid_unknown` of `openssl/tls1.h`: set for groups without a number in OpenSSL's table.
const NID_UNKNOWN: c_long = 0x100_0000;

/// `SSL_CTRL_MODE` and `SSL_CTRL_CLEAR_MODE` of `openssl/ssl.h`.
const SET_MODE: c_int = 33;
const CLEAR_MODE: c_int = 78;
/// `SSL_MODE_ASYNC` of `openssl/ssl.h`.
const MODE_ASYNC: c_long = 0x100;

/// `SSL_CTRL_SET_TLSEXT_TICKET_KEYS` of `openssl/tls1.h`.
const SET_TICKET_KEYS: c_int = 59;

/// `SSL_ERROR_WANT_ASYNC` of `openssl/ssl.h`.
const WANT_ASYNC: c_int = 9;

/// `OSSL_PARAM_UNSIGNED_INTEGER` of `openssl/core.h`.
const UNSIGNED_INTEGER: c_uint = 2;

unsafe extern "C" {
    fn SSL_CTX_new_ex(
        libctx: *mut sys::OSSL_LIB_CTX,
        propq: *const c_char,
        method: *const sys::SSL_METHOD,
    ) -> *mut sys::SSL_CTX;
    fn SSL_CTX_set_async_callback(
        context: *mut sys::SSL_CTX,
        callback: extern "C" fn(*mut sys::SSL, *mut c_void) -> c_int,
    ) -> c_int;
    fn OSSL_PROVIDER_add_builtin(
        libctx: *mut sys::OSSL_LIB_CTX,
        name: *const c_char,
        init: InitFunction,
    ) -> c_int;
    fn EVP_set_default_properties(libctx: *mut sys::OSSL_LIB_CTX, propq: *const c_char) -> c_int;
    fn OSSL_PROVIDER_get_params(
        provider: *const sys::OSSL_PROVIDER,
        params: *mut sys::OSSL_PARAM,
    ) -> c_int;
    fn d2i_PrivateKey_ex(
        kind: c_int,
        key: *mut *mut sys::EVP_PKEY,
        der: *mut *const c_uchar,
        length: c_long,
        libctx: *mut sys::OSSL_LIB_CTX,
        propq: *const c_char,
    ) -> *mut sys::EVP_PKEY;
}

/// Returns OpenSSL's errors unless `result` is 1, which is success.
pub(crate) fn check(result: impl Into<c_long>) -> Result<(), ErrorStack> {
    if result.into() == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// Returns OpenSSL's errors if `made` is NULL.
pub(crate) fn non_null<T>(made: *mut T) -> Result<*mut T, ErrorStack> {
    if made.is_null() { Err(ErrorStack::get()) } else { Ok(made) }
}

/// Creates a TLS context for servers or clients with this library context and property query.
///
/// `library` must outlive the context and all its connections.
pub(crate) fn context(library: &LibCtxRef, query: &CStr) -> Result<SslContextBuilder, ErrorStack> {
    let method = SslMethod::tls();
    // SAFETY: all three pointers are valid; OpenSSL copies the query and keeps the static method.
    let context = unsafe { SSL_CTX_new_ex(library.as_ptr(), query.as_ptr(), method.as_ptr()) };
    // SAFETY: a new context without another owner.
    non_null(context).map(|context| unsafe { SslContextBuilder::from_ptr(context) })
}

/// Registers a provider that is linked into this program, to be loaded by name in `library`.
pub(crate) fn add_builtin(
    library: &LibCtxRef,
    name: &CStr,
    init: InitFunction,
) -> Result<(), ErrorStack> {
    // SAFETY: valid pointers; OpenSSL copies the name; `init` is a provider's entry point.
    check(unsafe { OSSL_PROVIDER_add_builtin(library.as_ptr(), name.as_ptr(), init) })
}

/// Sets the property query of fetches that have none of their own. `query` of a TLS context does
/// not reach all of them: X25519MLKEM768 fetches its halves without a query.
pub(crate) fn prefer(library: &LibCtxRef, query: &CStr) -> Result<(), ErrorStack> {
    // SAFETY: valid pointers; OpenSSL parses the query and keeps no pointer to it.
    check(unsafe { EVP_set_default_properties(library.as_ptr(), query.as_ptr()) })
}

/// Returns the private-key operations that the provider has counted in its library context, with
/// RSA and on curves. Zero if the provider has no such counters.
pub(crate) fn operations(provider: &ProviderRef) -> SignerOperations {
    let (mut rsa, mut ecdsa, mut decryptions) = (0_u64, 0_u64, 0_u64);
    let (mut batches, mut batched) = (0_u64, 0_u64);
    let ask = |key: &CStr, count: &mut u64| sys::OSSL_PARAM {
        key: key.as_ptr(),
        data_type: UNSIGNED_INTEGER,
        data: ptr::from_mut(count).cast(),
        data_size: size_of::<u64>(),
        return_size: usize::MAX,
    };
    let end = sys::OSSL_PARAM {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: 0,
    };
    let mut questions = [
        ask(c"tollgate-signatures", &mut rsa),
        ask(c"tollgate-ecdsa-signatures", &mut ecdsa),
        ask(c"tollgate-decryptions", &mut decryptions),
        ask(c"tollgate-batches", &mut batches),
        ask(c"tollgate-batched-operations", &mut batched),
        end,
    ];
    // SAFETY: a provider, and parameters up to a NULL key whose numbers live here.
    unsafe { OSSL_PROVIDER_get_params(provider.as_ptr(), questions.as_mut_ptr()) };
    SignerOperations { signatures: rsa + ecdsa, decryptions, batches, batched }
}

/// Decodes a private key of this kind into `library`, from any DER encoding that OpenSSL supports.
/// To find the kind itself would take OpenSSL three times as long.
pub(crate) fn private_key(
    library: &LibCtxRef,
    query: &CStr,
    kind: Id,
    der: &[u8],
) -> Result<PKey<Private>, ErrorStack> {
    let mut start = der.as_ptr();
    let length = c_long::try_from(der.len()).expect("a key is shorter than the address space");
    // SAFETY: `start` points to `length` readable bytes; a NULL second argument asks for a new key.
    let key = unsafe {
        d2i_PrivateKey_ex(
            kind.as_raw(),
            ptr::null_mut(),
            &raw mut start,
            length,
            library.as_ptr(),
            query.as_ptr(),
        )
    };
    // SAFETY: a new key without another owner, which d2i made from a private key.
    non_null(key).map(|key| unsafe { PKey::from_ptr(key) })
}

/// Lets the engine pause handshakes, so that private-key operations of several connections run as
/// one batch. The connection then returns `SSL_ERROR_WANT_ASYNC`; its owner calls it again in the
/// next turn of its event loop.
pub(crate) fn let_handshakes_pause(context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    /// The owner needs no notification.
    extern "C" fn notified(_: *mut sys::SSL, _: *mut c_void) -> c_int {
        1
    }

    // SAFETY: a valid context; this control takes no pointer.
    unsafe { sys::SSL_CTX_ctrl(context.as_ptr(), SET_MODE, MODE_ASYNC, ptr::null_mut()) };
    // SAFETY: a valid context, and a function that accepts any arguments.
    check(unsafe { SSL_CTX_set_async_callback(context.as_ptr(), notified) })
}

/// Returns whether the engine has paused this connection.
#[must_use]
pub fn is_paused(error: &openssl::ssl::Error) -> bool {
    error.code().as_raw() == WANT_ASYNC
}

/// Ends the pauses of a connection that has completed its handshake, since libssl would run each
/// read and write as a job.
pub fn end_pauses(ssl: &SslRef) {
    // SAFETY: a valid connection; this control takes no pointer.
    unsafe { sys::SSL_ctrl(ssl.as_ptr(), CLEAR_MODE, MODE_ASYNC, ptr::null_mut()) };
}

/// Lets a context encrypt its tickets with this key.
pub(crate) fn set_ticket_key(
    context: &mut SslContextBuilder,
    key: &TicketKey,
) -> Result<(), ErrorStack> {
    let length = c_long::try_from(key.len()).expect("80 bytes");
    let bytes = key.as_ptr().cast_mut().cast();
    // SAFETY: a valid context; OpenSSL copies the bytes of a key of this length, and does not
    // write.
    check(unsafe { sys::SSL_CTX_ctrl(context.as_ptr(), SET_TICKET_KEYS, length, bytes) })
}

/// Returns OpenSSL's number of the negotiated group, if there is one.
pub(crate) fn negotiated_group(ssl: &SslRef) -> Option<c_int> {
    // SAFETY: a valid connection; this control takes no argument.
    let nid = unsafe { sys::SSL_ctrl(ssl.as_ptr(), GET_NEGOTIATED_GROUP, 0, ptr::null_mut()) };
    if nid <= 0 || nid & NID_UNKNOWN != 0 {
        return None;
    }
    c_int::try_from(nid).ok()
}
