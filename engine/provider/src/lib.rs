#![doc = include_str!("../README.md")]
#![allow(unsafe_code, reason = "functions that libcrypto calls, and functions of libcrypto")]

mod abi;
mod algorithm_id;
mod algorithms;
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
mod kem;
mod kem_key;
mod kems;
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
