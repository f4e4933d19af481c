//! The certificate that clients send to a server that requests one.

use core::fmt;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use tollgate_tls_client::Identity;

use crate::certificate::Certificate;
use crate::error::Error;

/// A certificate with its key, for the load generator's client and for a complete client.
#[derive(Clone)]
pub struct ClientCertificate {
    pub(crate) own: Arc<Identity>,
    pub(crate) complete: Arc<CertifiedKey>,
    key: String,
}

impl ClientCertificate {
    /// Reads a chain in DER, the client's own certificate first, and its key as PKCS#8 in DER:
    /// RSA, P-256, P-384 or Ed25519.
    ///
    /// # Errors
    ///
    /// [`Error::ClientCertificate`] if the key has another kind or belongs to another certificate,
    /// or if the bytes are malformed.
    pub fn new(chain: Vec<Vec<u8>>, key_pkcs8: &[u8]) -> Result<Self, Error> {
        let leaf = chain
            .first()
            .and_then(|leaf| Certificate::read(leaf))
            .ok_or(Error::ClientCertificate)?;
        let certificates = chain.iter().map(|der| CertificateDer::from(der.clone())).collect();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key_pkcs8.to_vec()));
        let complete = CertifiedKey::from_der(certificates, key, &default_provider());
        Ok(Self {
            own: Arc::new(Identity::new(chain, key_pkcs8).map_err(|_| Error::ClientCertificate)?),
            complete: Arc::new(complete.map_err(|_| Error::ClientCertificate)?),
            key: leaf.key,
        })
    }

    /// Returns the kind of its key, as record subjects spell it: `rsa-2048`.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// Prints the kind of key, never the key.
impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").field("key", &self.key).finish_non_exhaustive()
    }
}
