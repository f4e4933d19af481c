//! An RSA key for rustls.

use core::fmt;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::{Error, SignatureAlgorithm, SignatureScheme, sign};
use tollgate_queue::{Caller, PrivateJob, Queue, Work};
use tollgate_rsa::pkcs8::spki::EncodePublicKey;
use tollgate_rsa::{Hash, PrivateKey, Pss, Rejected};

/// An RSA key that signs through a queue.
pub struct SigningKey {
    key: Arc<PrivateKey>,
    caller: Caller<PrivateJob>,
    public_der: Vec<u8>,
}

/// The schemes of an RSA key with their hash functions and operations (RFC 8446 §4.2.3), best
/// first, in rustls's own order.
const SCHEMES: [(SignatureScheme, Hash, Work); 6] = [
    (SignatureScheme::RSA_PSS_SHA512, Hash::Sha512, pss(Hash::Sha512)),
    (SignatureScheme::RSA_PSS_SHA384, Hash::Sha384, pss(Hash::Sha384)),
    (SignatureScheme::RSA_PSS_SHA256, Hash::Sha256, pss(Hash::Sha256)),
    (SignatureScheme::RSA_PKCS1_SHA512, Hash::Sha512, Work::SignPkcs1v15 { hash: Hash::Sha512 }),
    (SignatureScheme::RSA_PKCS1_SHA384, Hash::Sha384, Work::SignPkcs1v15 { hash: Hash::Sha384 }),
    (SignatureScheme::RSA_PKCS1_SHA256, Hash::Sha256, Work::SignPkcs1v15 { hash: Hash::Sha256 }),
];

const fn pss(hash: Hash) -> Work {
    Work::SignPss(Pss::new(hash))
}

impl SigningKey {
    /// Makes a signing key from a loaded key. Refuses keys of fewer than 2048 bits, as aws-lc-rs
    /// does, because some of these keys are too short for PSS with SHA-512.
    ///
    /// # Errors
    ///
    /// `General`: the key is too small, or the queue accepts no callers.
    pub fn new(queue: &Queue<PrivateJob>, key: impl Into<Arc<PrivateKey>>) -> Result<Self, Error> {
        let key = key.into();
        if key.is_insecure() {
            return Err(Error::General(format!(
                "the RSA key has {} bits, fewer than 2048: make another, for example by \
                 openssl genrsa 3072, and a certificate for it",
                key.bits()
            )));
        }
        let public_der = key.public().to_public_key_der().map_err(general)?.into_vec();
        let caller = queue.caller().map_err(general)?;
        Ok(Self { key, caller, public_der })
    }

    /// Reads a key in the format PKCS#8 or PKCS#1.
    ///
    /// # Errors
    ///
    /// `General`: the key is not an RSA key, is invalid, or is refused by [`new`](Self::new).
    pub fn from_der(queue: &Queue<PrivateJob>, der: &PrivateKeyDer<'_>) -> Result<Self, Error> {
        let key = read(der)?.ok_or_else(|| {
            Error::General(
                "not an RSA key: load it with rustls's own provider, or with provider()".to_owned(),
            )
        })?;
        Self::new(queue, key)
    }
}

/// Reads a key; returns `None` if it is for another algorithm.
pub(crate) fn read(der: &PrivateKeyDer<'_>) -> Result<Option<PrivateKey>, Error> {
    let bytes = match der {
        PrivateKeyDer::Pkcs1(der) => der.secret_pkcs1_der(),
        PrivateKeyDer::Pkcs8(der) => der.secret_pkcs8_der(),
        _ => return Ok(None),
    };
    match PrivateKey::from_bytes(bytes) {
        Err(tollgate_rsa::Error::Rejected(Rejected::NotRsa { .. })) => Ok(None),
        read => read.map(Some).map_err(general),
    }
}

/// Converts an error to rustls's general form. The messages are one line each and tell the user
/// what to do.
fn general(error: impl fmt::Display) -> Error {
    Error::General(error.to_string())
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("bits", &self.key.bits()).finish_non_exhaustive()
    }
}

impl sign::SigningKey for SigningKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn sign::Signer>> {
        let (scheme, hash, work) =
            SCHEMES.into_iter().find(|(scheme, ..)| offered.contains(scheme))?;
        let (key, caller) = (Arc::clone(&self.key), self.caller.clone());
        Some(Box::new(Signer { key, caller, scheme, hash, work }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(SubjectPublicKeyInfoDer::from(self.public_der.as_slice()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

/// A key and the scheme of one handshake.
struct Signer {
    key: Arc<PrivateKey>,
    caller: Caller<PrivateJob>,
    scheme: SignatureScheme,
    hash: Hash,
    work: Work,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

impl sign::Signer for Signer {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let digest = self.hash.digest(message);
        let mut signature = vec![0; self.key.size()];
        self.caller
            .private(&self.key, self.work, digest.as_ref(), &mut signature)
            .map_err(general)?;
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}
