//! Reads key files.

use core::fmt;
use std::path::Path;

use tollgate_rsa::pkcs1::{DecodeRsaPrivateKey as _, DecodeRsaPublicKey as _};
use tollgate_rsa::{Error, Found, Hash, PrivateKey, PublicKey, Rejected};

use crate::error::CliError;
use crate::keys;

/// The contents of a key file.
pub(crate) struct KeyFile {
    pub(crate) key: Either,
    /// `PEM` or `DER`.
    pub(crate) encoding: &'static str,
    /// `PKCS#8`, `PKCS#1` or `SubjectPublicKeyInfo`.
    pub(crate) format: &'static str,
}

/// A private or a public key.
pub(crate) enum Either {
    Private(Box<PrivateKey>),
    Public(Box<PublicKey>),
}

impl KeyFile {
    /// Reads a file. An error begins with the name of the file.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let name = path.display();
        let bytes = keys::read(path)?;
        let key = match PrivateKey::from_bytes(&bytes) {
            Ok(key) => Either::Private(Box::new(key)),
            Err(Error::Rejected(Rejected::Unexpected { found: Found::PublicKey, .. })) => {
                let key = PublicKey::from_bytes(&bytes);
                Either::Public(Box::new(key.map_err(CliError::about(name))?))
            }
            Err(error) => return Err(error!("{name}: {error}")),
        };
        let is_in = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        let pem = is_in("-----BEGIN ");
        let pkcs1 = match (&key, pem) {
            (Either::Private(_), true) => is_in("-----BEGIN RSA PRIVATE KEY-----"),
            (Either::Private(_), false) => PrivateKey::from_pkcs1_der(&bytes).is_ok(),
            (Either::Public(_), true) => is_in("-----BEGIN RSA PUBLIC KEY-----"),
            (Either::Public(_), false) => PublicKey::from_pkcs1_der(&bytes).is_ok(),
        };
        let format = match (&key, pkcs1) {
            (_, true) => "PKCS#1",
            (Either::Private(_), false) => "PKCS#8",
            (Either::Public(_), false) => "SubjectPublicKeyInfo",
        };
        Ok(Self { key, encoding: if pem { "PEM" } else { "DER" }, format })
    }

    /// Returns the public key.
    pub(crate) fn public(&self) -> &PublicKey {
        match &self.key {
            Either::Private(key) => key.public(),
            Either::Public(key) => key,
        }
    }

    /// Returns `private` or `public`.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.key {
            Either::Private(_) => "private",
            Either::Public(_) => "public",
        }
    }
}

impl fmt::Display for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RSA {} key, {} in {}", self.kind(), self.format, self.encoding)
    }
}

/// Returns the SHA-256 of the key's `SubjectPublicKeyInfo`, in hexadecimal.
pub(crate) fn fingerprint(key: &PublicKey) -> String {
    use tollgate_rsa::pkcs8::EncodePublicKey as _;

    let spki = key.to_public_key_der().expect("a key that was checked has a DER");
    hexadecimal(Hash::Sha256.digest(spki.as_bytes()).as_ref())
}

/// Formats the public exponent: in decimal if it fits 64 bits, else in hexadecimal.
pub(crate) fn exponent(key: &PublicKey) -> String {
    let e = key.exponent();
    if e.len() > 8 {
        return format!("0x{}", hexadecimal(&e));
    }
    e.iter().fold(0, |e, byte| e << 8 | u64::from(*byte)).to_string()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
