//! Keys for rustls that sign through the engine, and a crypto provider with them.
//!
//! [`provider`] is rustls's aws-lc-rs provider with one change: RSA keys loaded by it sign through
//! a [`Queue`]. All other keys, and all other cryptography, stay with aws-lc-rs. [`SigningKey`] is
//! an RSA key that signs through a queue, for programs with their own certificate resolver.
//!
//! * **rustls signs synchronously**: `Signer::sign` returns the signature and blocks the
//!   connection's thread until then. A server with one thread therefore gains only from the faster
//!   single operation. Batches need several threads that sign at the same time.
//! * The queue needs no thread of its own. A signing thread runs its own request and the requests
//!   that arrived meanwhile.
//! * Each key is a caller of the queue: keys get equal shares of it, and the requests of one key
//!   run in order.
//! * A thread holds one slot of the queue while it signs. If all slots are in use, a signature is
//!   refused and its handshake fails. So set `slots_per_caller_max` (default 128) and `capacity`
//!   (default 256) to at least the number of threads.
//! * An RSA key that the engine does not support is refused. It is not passed to aws-lc-rs, so that
//!   no key is slow without notice.
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
//! let queue = Queue::of_this_processor(Config::default())?; // one for the whole program
//! let config = ServerConfig::builder_with_provider(Arc::new(tollgate_rustls::provider(&queue)))
//!     .with_safe_default_protocol_versions()?
//!     .with_no_client_auth()
//!     .with_single_cert(certificates, key)?;
//! # let _ = config;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod signing_key;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, KeyProvider, aws_lc_rs};
use rustls::pki_types::PrivateKeyDer;
use rustls::{Error, sign};
use tollgate_queue::{PrivateJob, Queue};
use zeroize::Zeroize as _;

pub use signing_key::SigningKey;

/// Returns rustls's aws-lc-rs provider, except that RSA keys sign through `queue`.
///
/// Call it once per queue: rustls keeps key providers for the life of the program, so each call
/// leaks one and its handle of the queue. End such a queue by `shut_down`, not by dropping its
/// handles. To choose other suites or groups, replace those fields of the result. [`SigningKey`]
/// alone needs no such provider and leaks nothing.
#[must_use]
pub fn provider(queue: &Queue<PrivateJob>) -> CryptoProvider {
    let others = aws_lc_rs::default_provider();
    let loader = KeyLoader { queue: queue.clone(), others: others.key_provider };
    CryptoProvider { key_provider: Box::leak(Box::new(loader)), ..others }
}

/// Loads RSA keys that sign through a queue, and passes others to another loader.
#[derive(Debug)]
struct KeyLoader {
    queue: Queue<PrivateJob>,
    others: &'static dyn KeyProvider,
}

impl KeyProvider for KeyLoader {
    fn load_private_key(
        &self,
        mut key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn sign::SigningKey>, Error> {
        let Some(key) = signing_key::read(&key_der).transpose() else {
            return self.others.load_private_key(key_der);
        };
        key_der.zeroize();
        Ok(Arc::new(SigningKey::new(&self.queue, key?)?))
    }
}

/// The user's guide; its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rustls.md")]
pub struct Page;
