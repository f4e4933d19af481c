//! OpenSSL 3 provider: RSA keys, signatures and decryption, hand-written ABI.
//!
//! The crate is two things. It is a module that any OpenSSL 3 loads, `libtollgate_provider.so`:
//!
//! ```ini
//! openssl_conf = boot
//! [boot]
//! providers   = list
//! alg_section = algorithms
//! [list]
//! default  = default_section
//! tollgate = tollgate_section
//! [default_section]
//! activate = 1
//! [tollgate_section]
//! module   = /path/to/libtollgate_provider.so
//! activate = 1
//! [algorithms]
//! default_properties = ?tollgate.operations=yes
//! ```
//!
//! And it is a library for programs that register the same provider themselves:
//!
//! ```no_run
//! use core::ffi::{c_char, c_int, c_void};
//! use core::ptr;
//! use tollgate_provider::{InitFunction, init_function};
//!
//! unsafe extern "C" {
//!     fn OSSL_PROVIDER_add_builtin(
//!         context: *mut c_void,
//!         name: *const c_char,
//!         init: InitFunction,
//!     ) -> c_int;
//! }
//!
//! let (context, name) = (ptr::null_mut(), c"tollgate".as_ptr());
//! // NULL is the default library context; name and function live as long as the program.
//! let added = unsafe { OSSL_PROVIDER_add_builtin(context, name, init_function()) };
//! assert_eq!(added, 1);
//! // Then load "default" and "tollgate", in this order, and query `?tollgate.operations=yes`.
//! ```
//!
//! # Settings
//!
//! Lines of the provider's section, read once when it is loaded; a value that is not allowed
//! refuses to load, and the error queue says which:
//!
//! * `engine = lanes`: where private operations run; the lanes of this processor are all there is.
//! * `linger_us_max = 150`: how long a request may wait for others, at most, from 0 to 10000 µs.
//! * `async = on`: whether libcrypto's jobs are paused meanwhile; or `off`.
//! * `metrics = /path`: a folder for counters; without one, none are written.
//!
//! # Keys
//!
//! RSA of two primes and 1024 to 8192 bits, with all CRT numbers; public keys too. Others are
//! refused at import, and libcrypto then uses the key's own provider.
//!
//! Keys are read, made and kept by OpenSSL's `default` provider, which must be loaded, and first.
//! It exports them to this one when an operation starts. The query `?tollgate.operations=yes`
//! prefers this provider's operations and not its keys, because there would be no way back for what
//! it does not do: a key of three primes could not be built from its numbers. `?provider=tollgate`
//! means the same, but a program that queries `provider` itself overrides it, as stunnel does. Who
//! wants this provider for keys too queries `tollgate.rsa=yes`, and gets it or an error:
//!
//! ```text
//! openssl genrsa -propquery tollgate.rsa=yes 4096
//! ```
//!
//! makes a key by the engine's lanes (FIPS 186-5, A.1.3). It has two primes and an even number of
//! bits from 1024 on; e is odd, from 3 to 2^256. A callback that stops the making is obeyed when
//! the key is done, which is then dropped.
//!
//! # Operations
//!
//! * Signatures: PKCS#1 v1.5 (SHA-1, SHA-2, SHA-3, MD5, and TLS 1.0's MD5-SHA1), PSS, and the raw
//!   operation; verification and recovery of the same.
//! * Decryption: PKCS#1 v1.5 with implicit rejection, TLS's premaster secret, OAEP, and raw; and
//!   encryption. Padding checks take constant time.
//!
//! What OpenSSL's own provider does beside that is refused, without a way back to it (query
//! `-provider=tollgate` for these): X9.31; RIPEMD-160, SM3 and older digests; MD5 in PSS, OAEP and
//! MGF1; salt lengths that are no number; signatures and digests shorter than the raw operation
//! takes. A PSS salt that nobody chose is as long as the host's release makes it, which differs
//! between 3.0 and 3.1. Decryption rejects implicitly with every release, 3.0 and 3.1 too.
//!
//! A thread that has a core does its operation itself. Where there are more threads they do them
//! together. While libcrypto runs a job (`ASYNC_JOB`, as servers in the mode `SSL_MODE_ASYNC` do),
//! it is paused until the server's loop comes round again, and the first that is started then does
//! all that have come, up to eight in a call; the eighth does it at once. No threads are started
//! for this, and servers may fork at any moment. Each thread keeps scratch memory. Panics end at
//! the boundary.
//!
//! # Counters
//!
//! `OSSL_PROVIDER_get_params` tells what this process has done with the provider of its library
//! context: `tollgate-signatures`, `tollgate-verifications`, `tollgate-decryptions`,
//! `tollgate-encryptions`, `tollgate-keys` (imported or made) and `tollgate-refused-keys` (which
//! OpenSSL's own provider then serves); of these operations, `tollgate-async-operations` (a job was
//! paused for them) and `tollgate-batched-operations`, done in `tollgate-batches` (calls for two
//! and more); and `tollgate-unwritten-metrics`. Unsigned integers of 64 bits. Operations count when
//! they ended well; a decryption, whatever the padding held; batches and what is in them, when
//! they begin.
//!
//! With `metrics = /path`, the same numbers lie in that folder, in a file for each process, in
//! Prometheus's text format: `tollgate-PID-CONTEXT.prom`. It is written from the first count on,
//! once a second while something changes, and when the process exits. A folder that is missing,
//! full or closed to the process disturbs nothing; it is counted.

mod abi;
mod algorithm_id;
mod asym_cipher;
mod asym_cipher_context;
mod background;
mod bell;
#[cfg(test)]
mod constant_time;
mod context;
mod counters;
mod dispatch;
mod generation;
mod handle;
mod hashing;
mod home;
mod jobs;
mod key;
mod keymgmt;
mod metrics;
mod params;
mod private;
mod provider;
mod reason;
mod room;
mod self_test;
mod settings;
mod signature;
mod signature_context;
mod signature_padding;
mod table;
mod upcalls;
mod x931;

use core::ffi::{c_int, c_void};

pub use abi::{OSSL_CORE_HANDLE, OSSL_DISPATCH, OSSL_provider_init_fn as InitFunction};

/// What `OSSL_PROVIDER_add_builtin` takes: the provider, for a program that links this crate.
pub fn init_function() -> InitFunction {
    dispatch::init
}

/// The symbol that libcrypto looks for in a module: provider(7).
///
/// # Safety
///
/// Called by libcrypto, with its handle, its table, and places for ours.
#[allow(non_snake_case, reason = "the name that libcrypto looks for")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const OSSL_CORE_HANDLE,
    input: *const OSSL_DISPATCH,
    output: *mut *const OSSL_DISPATCH,
    provctx: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { dispatch::init(handle, input, output, provctx) }
}
