//! The few declarations that the `openssl` crates lack, each behind a safe function; and a thread's
//! CPU clock.
//!
//! The only `unsafe` of this crate is here. Signatures are those of OpenSSL 3.0's headers.
#![allow(unsafe_code, reason = "declarations of libssl, libcrypto and libc")]

use core::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_uint, c_void};
use core::ptr;
use core::time::Duration;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::error::ErrorStack;
use openssl::lib_ctx::LibCtxRef;
use openssl::pkey::{PKey, PKeyRef, Private};
use openssl::provider::ProviderRef;
use openssl::ssl::{SslContextBuilder, SslMethod, SslRef};
use openssl_sys as sys;
use tollgate_provider::InitFunction;

use crate::counters::SignerOperations;

/// `SSL_CTRL_SET_TLSEXT_TICKET_KEYS` of `openssl/tls1.h`.
const SET_TICKET_KEYS: c_int = 59;
/// `SSL_CTRL_GET_NEGOTIATED_GROUP` of `openssl/ssl.h`.
const GET_NEGOTIATED_GROUP: c_int = 134;
/// `TLSEXT_nid_unknown` of `openssl/tls1.h`: the group has no number in OpenSSL's table of objects.
const NID_UNKNOWN: c_long = 0x100_0000;

/// `OSSL_PARAM_UNSIGNED_INTEGER` of `openssl/core.h`.
const UNSIGNED_INTEGER: c_uint = 2;

/// A ticket key as OpenSSL takes it: a name of 16 bytes, an HMAC key of 32, an AES key of 32.
pub(crate) type TicketKeys = [u8; 80];

unsafe extern "C" {
    fn SSL_CTX_new_ex(
        libctx: *mut sys::OSSL_LIB_CTX,
        propq: *const c_char,
        method: *const sys::SSL_METHOD,
    ) -> *mut sys::SSL_CTX;
    fn OSSL_PROVIDER_add_builtin(
        libctx: *mut sys::OSSL_LIB_CTX,
        name: *const c_char,
        init: InitFunction,
    ) -> c_int;
    fn OSSL_PROVIDER_get_params(
        provider: *const sys::OSSL_PROVIDER,
        params: *mut sys::OSSL_PARAM,
    ) -> c_int;
    fn OSSL_PROVIDER_get0_name(provider: *const sys::OSSL_PROVIDER) -> *const c_char;
    fn d2i_AutoPrivateKey_ex(
        key: *mut *mut sys::EVP_PKEY,
        der: *mut *const c_uchar,
        length: c_long,
        libctx: *mut sys::OSSL_LIB_CTX,
        propq: *const c_char,
    ) -> *mut sys::EVP_PKEY;
    fn EVP_PKEY_CTX_new_from_pkey(
        libctx: *mut sys::OSSL_LIB_CTX,
        key: *mut sys::EVP_PKEY,
        propq: *const c_char,
    ) -> *mut sys::EVP_PKEY_CTX;
    fn EVP_PKEY_CTX_get0_provider(ctx: *const sys::EVP_PKEY_CTX) -> *const sys::OSSL_PROVIDER;
    fn EVP_DigestSignInit_ex(
        ctx: *mut sys::EVP_MD_CTX,
        key_ctx: *mut *mut sys::EVP_PKEY_CTX,
        digest: *const c_char,
        libctx: *mut sys::OSSL_LIB_CTX,
        propq: *const c_char,
        key: *mut sys::EVP_PKEY,
        params: *const sys::OSSL_PARAM,
    ) -> c_int;
    fn pthread_self() -> usize;
    fn pthread_getcpuclockid(thread: usize, clock: *mut c_int) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// `struct timespec` of 64-bit Linux.
#[repr(C)]
#[derive(Default)]
struct Timespec {
    seconds: i64,
    nanos: i64,
}

const fn succeeded(result: c_int) -> bool {
    result == 1
}

/// A TLS context for servers that fetches everything from `library` under the property query.
///
/// The caller keeps `library` until the context and all its connections are gone.
pub(crate) fn server_context(
    library: &LibCtxRef,
    query: &CStr,
) -> Result<SslContextBuilder, ErrorStack> {
    let method = SslMethod::tls_server();
    // SAFETY: all three pointers are valid; OpenSSL copies the query and keeps the static method.
    let context = unsafe { SSL_CTX_new_ex(library.as_ptr(), query.as_ptr(), method.as_ptr()) };
    if context.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a new context that nobody else owns.
    Ok(unsafe { SslContextBuilder::from_ptr(context) })
}

/// Makes a provider that is linked into this program loadable by name in `library`.
pub(crate) fn add_builtin(
    library: &LibCtxRef,
    name: &CStr,
    init: InitFunction,
) -> Result<(), ErrorStack> {
    // SAFETY: valid pointers; OpenSSL copies the name; `init` is a provider's entry point.
    let added = unsafe { OSSL_PROVIDER_add_builtin(library.as_ptr(), name.as_ptr(), init) };
    if succeeded(added) { Ok(()) } else { Err(ErrorStack::get()) }
}

/// The private-key operations that our provider has counted in its library context. Another
/// provider leaves the question alone: zero.
pub(crate) fn operations(provider: &ProviderRef) -> SignerOperations {
    let (mut signatures, mut decryptions) = (0_u64, 0_u64);
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
        ask(c"tollgate-signatures", &mut signatures),
        ask(c"tollgate-decryptions", &mut decryptions),
        end,
    ];
    // SAFETY: a provider, and parameters up to a NULL key whose numbers live here.
    unsafe { OSSL_PROVIDER_get_params(provider.as_ptr(), questions.as_mut_ptr()) };
    SignerOperations { signatures, decryptions }
}

/// A private key in `library`, from any of the DER encodings that OpenSSL knows.
pub(crate) fn private_key(
    library: &LibCtxRef,
    query: &CStr,
    der: &[u8],
) -> Result<PKey<Private>, ErrorStack> {
    let mut start = der.as_ptr();
    let length = c_long::try_from(der.len()).expect("a key is shorter than the address space");
    // SAFETY: `start` points to `length` readable bytes; a NULL first argument asks for a new key.
    let key = unsafe {
        d2i_AutoPrivateKey_ex(
            ptr::null_mut(),
            &raw mut start,
            length,
            library.as_ptr(),
            query.as_ptr(),
        )
    };
    if key.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a new key that nobody else owns, and d2i made it from a private key.
    Ok(unsafe { PKey::from_ptr(key) })
}

/// Signs once, the way libssl does, and tells which provider did.
pub(crate) fn sign_once(
    library: &LibCtxRef,
    query: &CStr,
    key: &PKeyRef<Private>,
) -> Result<String, ErrorStack> {
    struct Digest(*mut sys::EVP_MD_CTX);
    impl Drop for Digest {
        fn drop(&mut self) {
            // SAFETY: made below, freed once.
            unsafe { sys::EVP_MD_CTX_free(self.0) }
        }
    }
    // SAFETY: no conditions.
    let digest = Digest(unsafe { sys::EVP_MD_CTX_new() });
    if digest.0.is_null() {
        return Err(ErrorStack::get());
    }
    let mut key_ctx = ptr::null_mut();
    // SAFETY: valid pointers, texts that end with NUL, no parameters; `key_ctx` is `digest`'s.
    let begun = unsafe {
        EVP_DigestSignInit_ex(
            digest.0,
            &raw mut key_ctx,
            c"SHA256".as_ptr(),
            library.as_ptr(),
            query.as_ptr(),
            key.as_ptr(),
            ptr::null(),
        )
    };
    if !succeeded(begun) {
        return Err(ErrorStack::get());
    }
    let message = b"who signs?";
    let mut signature = [0_u8; 2048]; // RSA of 16384 bits, the largest that OpenSSL signs with
    let mut length = signature.len();
    // SAFETY: `signature` has `length` writable bytes, `message` its readable ones.
    let signed = unsafe {
        sys::EVP_DigestSign(
            digest.0,
            signature.as_mut_ptr(),
            &raw mut length,
            message.as_ptr(),
            message.len(),
        )
    };
    if !succeeded(signed) {
        return Err(ErrorStack::get());
    }
    // SAFETY: `key_ctx` lives as long as `digest` and has been initialised.
    Ok(unsafe { provider_name(key_ctx) })
}

/// Which provider would decrypt with this key.
pub(crate) fn decrypter(
    library: &LibCtxRef,
    query: &CStr,
    key: &PKeyRef<Private>,
) -> Result<String, ErrorStack> {
    struct Context(*mut sys::EVP_PKEY_CTX);
    impl Drop for Context {
        fn drop(&mut self) {
            // SAFETY: made below, freed once.
            unsafe { sys::EVP_PKEY_CTX_free(self.0) }
        }
    }
    // SAFETY: valid pointers; the context takes its own reference to the key.
    let context =
        unsafe { EVP_PKEY_CTX_new_from_pkey(library.as_ptr(), key.as_ptr(), query.as_ptr()) };
    let context = Context(context);
    if context.0.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: a valid context.
    if !succeeded(unsafe { sys::EVP_PKEY_decrypt_init(context.0) }) {
        return Err(ErrorStack::get());
    }
    // SAFETY: valid, and initialised.
    Ok(unsafe { provider_name(context.0) })
}

/// # Safety
///
/// `ctx` is valid and initialised for an operation.
unsafe fn provider_name(ctx: *const sys::EVP_PKEY_CTX) -> String {
    // SAFETY: the caller's promise.
    let provider = unsafe { EVP_PKEY_CTX_get0_provider(ctx) };
    if provider.is_null() {
        return "none".to_owned();
    }
    // SAFETY: a provider that `ctx` holds.
    let name = unsafe { OSSL_PROVIDER_get0_name(provider) };
    // SAFETY: a provider's name ends with NUL and lives as long as the provider.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}

/// Gives the context its ticket keys; contexts with the same keys resume each other's sessions.
pub(crate) fn set_ticket_keys(
    context: &mut SslContextBuilder,
    keys: &TicketKeys,
) -> Result<(), ErrorStack> {
    let length = c_long::try_from(keys.len()).expect("80");
    let keys = keys.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: OpenSSL copies `length` bytes from `keys` and writes none.
    let set = unsafe { sys::SSL_CTX_ctrl(context.as_ptr(), SET_TICKET_KEYS, length, keys) };
    if set == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// OpenSSL's number of the group that the connection agreed on a secret with, if it did.
pub(crate) fn negotiated_group(ssl: &SslRef) -> Option<c_int> {
    // SAFETY: a valid connection; this control takes no argument.
    let nid = unsafe { sys::SSL_ctrl(ssl.as_ptr(), GET_NEGOTIATED_GROUP, 0, ptr::null_mut()) };
    if nid <= 0 || nid & NID_UNKNOWN != 0 {
        return None;
    }
    c_int::try_from(nid).ok()
}

/// The CPU clock of one thread, which all threads of the process can read while that one lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadClock(c_int);

impl ThreadClock {
    /// The clock of the calling thread.
    pub(crate) fn of_this_thread() -> Option<Self> {
        // SAFETY: no conditions.
        let thread = unsafe { pthread_self() };
        let mut clock = 0;
        // SAFETY: the calling thread lives; `clock` is writable.
        let result = unsafe { pthread_getcpuclockid(thread, &raw mut clock) };
        (result == 0).then_some(Self(clock))
    }

    pub(crate) const fn id(self) -> i32 {
        self.0
    }

    pub(crate) const fn from_id(id: i32) -> Self {
        Self(id)
    }

    /// CPU time so far; `None` when the thread is gone.
    pub(crate) fn elapsed(self) -> Option<Duration> {
        let mut time = Timespec::default();
        // SAFETY: `time` is writable; a clock of a thread that is gone is refused by the kernel.
        if unsafe { clock_gettime(self.0, &raw mut time) } != 0 {
            return None;
        }
        Some(Duration::new(time.seconds.try_into().ok()?, time.nanos.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_thread_s_clock_is_read_from_outside_and_ends_with_it() {
        let (clock_to, clock) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let worker = thread::spawn(move || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(20) {}
            clock_to.send(ThreadClock::of_this_thread().unwrap()).unwrap();
            ended.recv().unwrap();
        });
        let clock = clock.recv().unwrap();
        let busy = clock.elapsed().unwrap();
        // Another process may have had the core for part of the 20 ms.
        assert!(busy > Duration::from_millis(1) && busy < Duration::from_secs(5), "{busy:?}");
        thread::sleep(Duration::from_millis(30));
        let later = clock.elapsed().unwrap();
        assert!(later - busy < Duration::from_millis(20), "it slept: {busy:?}, {later:?}");
        end.send(()).unwrap();
        worker.join().unwrap();
    }
}
