//! OpenSSL 3 provider: RSA, ECDSA with P-256, and key exchange with X25519; hand-written ABI.
//!
//! The crate builds a module that any OpenSSL 3 loads, `libtollgate_provider.so`:
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
//! It is also a library for programs that register the same provider themselves:
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
//! The settings are lines of the provider's section; `docs/provider.md` lists them. The provider
//! reads them once, when it is loaded. If a value is not allowed, the provider does not load, and
//! the error queue names the setting and the value.
//!
//! # Keys
//!
//! The provider accepts RSA keys of 1024 to 8192 bits: public keys, and private keys with two
//! primes and all CRT numbers. It refuses to import other RSA keys, and libcrypto then uses the
//! provider that holds the key. Keys on curves have sections of their own below.
//!
//! OpenSSL's `default` provider reads, makes and holds keys. Load it before this provider. It
//! exports a key to this provider when an operation starts. The query `?tollgate.operations=yes`
//! prefers this provider for operations but not for keys: libcrypto could not fall back to another
//! provider if this one refused to build a key, for example one with three primes.
//! `?provider=tollgate` means the same, but a program that queries `provider` itself, as stunnel
//! does, overrides it. To use this provider for keys too, query `tollgate.rsa=yes`. There is no
//! fallback then. This command generates a key on the engine's lanes (FIPS 186-5, A.1.3):
//!
//! ```text
//! openssl genrsa -propquery tollgate.rsa=yes 4096
//! ```
//!
//! A generated key has two primes and an even number of bits, at least 1024; e is odd, from 3 to
//! 2^256. If the program's callback asks to stop, the provider completes the key, drops it and
//! returns an error.
//!
//! # Operations
//!
//! * Signatures: PKCS#1 v1.5, PSS, X9.31 and the raw operation; verification of such signatures,
//!   and recovery of their content. Hash functions: SHA-2, SHA-3, and for old signatures SHA-1,
//!   MD5, MD4, MDC-2, RIPEMD-160, SM3 and TLS 1.0's MD5-SHA1.
//! * Decryption: PKCS#1 v1.5 with implicit rejection, TLS's premaster secret, OAEP, and raw; and
//!   encryption. Padding checks take constant time.
//!
//! Other operations of OpenSSL's own provider are refused without a fallback (query
//! `-provider=tollgate` for these): MD2; BLAKE2, SHAKE and Whirlpool in OAEP; raw signatures and
//! digests shorter than the modulus. The default length of a PSS salt is that of the host's
//! release; it differs between 3.0 and 3.1. Decryption rejects implicitly with every release,
//! including 3.0 and 3.1.
//!
//! If a core is free, the calling thread runs the operation itself. If there are more threads than
//! cores, operations of several threads run in one batch. If libcrypto runs a job (`ASYNC_JOB`, as
//! servers in the mode `SSL_MODE_ASYNC` do), the job is paused until the next turn of the server's
//! event loop. The first job that is started again then runs all submitted operations, up to eight
//! in a batch. The eighth operation starts the batch at once. No threads are started for this, and
//! servers may fork at any moment. Each thread keeps scratch memory. Panics do not cross the C
//! boundary.
//!
//! # X25519
//!
//! If the processor has AVX-512 IFMA, or AVX2, BMI2, ADX and AES, or is an AArch64 with AES, the provider
//! generates X25519 keys and derives secrets. The query `?tollgate.operations=yes` prefers it for keys of this
//! type too; `provider=tollgate` requires it. The provider announces the TLS group x25519. OpenSSL's
//! `default` provider reads and writes key files. The calling thread runs each operation at once. With
//! IFMA, a job whose owner has a callback may pause to derive, and then shares a batch with other
//! jobs. The provider tests the kernels when it is loaded.
//!
//! # ECDSA
//!
//! If the processor has AVX2, BMI2 and ADX, or on an AArch64 with the setting `ecdsa = on`, the provider
//! signs with ECDSA and private keys on P-256. It refuses to import all other EC keys, public keys among them:
//! OpenSSL's `default` provider serves them, and makes, reads, writes and exchanges all EC keys. Nonces
//! depend on the key, the digest and fresh random bytes. The calling thread runs each operation at
//! once, or a job pauses for it, as for X25519. The provider tests the kernels when it is loaded. The
//! query `tollgate.ecdsa=yes` requires this provider.
//!
//! # Counters
//!
//! `OSSL_PROVIDER_get_params` returns the counts of this process and library context, as unsigned
//! integers of 64 bits: `tollgate-signatures`, `tollgate-keys` and others, which
//! `OSSL_PROVIDER_gettable_params` lists. A decryption counts even if its padding was invalid. With
//! the setting `metrics = /path`, each process writes the same counts to a file in that folder;
//! `docs/provider.md` describes them.
//!
//! This crate is internal: what it promises is the behaviour of the module in OpenSSL, not a Rust
//! API.

mod abi;
mod algorithm_id;
mod alt_stack;
mod asym_cipher;
mod asym_cipher_context;
mod background;
mod boundary;
mod connections;
mod context;
mod counters;
mod curve_operations;
mod decoder;
mod dispatch;
mod ecdsa;
mod generation;
mod handle;
mod hashing;
mod jobs;
mod key_exchange;
mod key_slot;
mod keymgmt;
mod keymgmt_cache;
mod library;
mod message;
mod metrics;
mod p256_key;
mod params;
mod private;
mod process_state;
mod provider;
mod reason;
mod remote;
mod rsa_key;
mod rsa_operation;
mod rsa_request;
mod rsa_slot;
mod self_test;
mod settings;
mod signature;
mod signature_context;
mod signature_padding;
mod signer;
mod table;
mod upcalls;
mod waker;
mod watch;
mod x25519;
mod x931;

pub use abi::{OSSL_CORE_HANDLE, OSSL_DISPATCH, OSSL_provider_init_fn as InitFunction};

/// Returns the argument of `OSSL_PROVIDER_add_builtin`, for a program that links this crate.
pub fn init_function() -> InitFunction {
    dispatch::OSSL_provider_init
}
