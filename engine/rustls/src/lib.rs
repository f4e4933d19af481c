//! Keys for rustls that sign through the engine, and a crypto provider with them.
//!
//! [`provider`] is rustls's provider on aws-lc-rs with one thing changed: RSA keys that are loaded
//! with it sign through an [`Queue`]. All other keys, and all other cryptography, stay with
//! aws-lc-rs. [`SigningKey`] is such a key, for who brings a certificate resolver of one's own.
//!
//! * **rustls signs synchronously**: `Signer::sign` returns the signature, and the connection's
//!   thread stands still until then. So a server with one thread gains by the kernel for single
//!   operations and by nothing else; batches form only between threads that sign at the same time.
//! * The engine needs no thread of its own: a thread that signs does its own work, and that of
//!   those who came meanwhile.
//! * A key is a caller of the engine: keys get equal shares of it, however busy one of them is, and
//!   the connections of one key take their turns in order.
//! * A thread holds one place of the engine while it signs. With more threads than the engine's
//!   `slots_per_caller_max` (128 unless told) or `capacity` (256), signatures are refused when all
//!   places are taken, and their handshakes fail: raise both above the number of threads.
//! * An RSA key that the engine cannot have is refused, and not handed on: nobody finds out by the
//!   electricity bill that aws-lc-rs signed.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustls::ServerConfig;
//! use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
//! use tollgate_queue::{Config, Queue};
//!
//! # use openssl::{asn1::Asn1Time, hash::MessageDigest, pkey::PKey, x509::X509};
//! # let key_pem: &[u8] = include_bytes!("../../../vectors/keys/rsa-2048.pem");
//! # let pair = PKey::private_key_from_pem(key_pem)?;
//! # let mut made = X509::builder()?;
//! # made.set_version(2)?;
//! # made.set_pubkey(&pair)?;
//! # made.set_not_before(Asn1Time::days_from_now(0)?.as_ref())?;
//! # made.set_not_after(Asn1Time::days_from_now(2)?.as_ref())?;
//! # made.sign(&pair, MessageDigest::sha256())?;
//! # let certificate_pem = made.build().to_pem()?;
//! let certificates = CertificateDer::pem_slice_iter(&certificate_pem).collect::<Result<_, _>>()?;
//! let key = PrivateKeyDer::from_pem_slice(key_pem)?;
//!
//! let engine = Queue::of_this_processor(Config::default())?; // one for the whole program
//! let config = ServerConfig::builder_with_provider(Arc::new(tollgate_rustls::provider(&engine)))
//!     .with_safe_default_protocol_versions()?
//!     .with_no_client_auth()
//!     .with_single_cert(certificates, key)?;
//! # let _ = config;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod key_loader;
mod signing_key;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use tollgate_queue::{PrivateJob, Queue};

pub use key_loader::KeyLoader;
pub use signing_key::SigningKey;

/// rustls's provider on aws-lc-rs, but that RSA keys sign through `engine`.
///
/// Call it once for an engine: rustls keeps key providers for the life of the program, so each call
/// leaves a [`KeyLoader`] and its handle of the engine in memory. Such an engine ends by
/// `shut_down`, not by dropping its handles. For another choice of suites or groups, replace those
/// fields of the result. [`SigningKey`] alone needs no provider of ours and leaves nothing.
#[must_use]
pub fn provider(engine: &Queue<PrivateJob>) -> CryptoProvider {
    let others = aws_lc_rs::default_provider();
    let key_provider = Box::leak(Box::new(KeyLoader::new(engine, others.key_provider)));
    CryptoProvider { key_provider, ..others }
}

/// The page for those who use it; its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rustls.md")]
pub struct Page;
