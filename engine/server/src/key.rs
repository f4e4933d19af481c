//! Private keys as they were read.

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private, Public};
use openssl::sha::sha256;
use zeroize::Zeroizing;

use crate::error::{Error, Rejected, Unavailable, one_line};
use crate::kinds::KeyKind;

/// A digest of the bytes that a key was read from.
pub(crate) type KeyId = [u8; 32];

/// A private key that is not decoded.
pub(crate) struct Key {
    pub(crate) id: KeyId,
    /// The key in DER. Each worker decodes it into its own library context.
    pub(crate) der: Zeroizing<Vec<u8>>,
    pub(crate) kind: KeyKind,
    /// The public key, which a certificate has too.
    public: PKey<Public>,
}

impl Key {
    /// Reads the key of a certificate with this public key.
    pub(crate) fn from_pem(pem: &[u8], public: PKey<Public>) -> Result<Self, Error> {
        let mut encrypted = false;
        // Without a callback, OpenSSL prompts for a passphrase on the terminal.
        let key = PKey::private_key_from_pem_callback(pem, |_| {
            encrypted = true;
            Err(ErrorStack::get())
        });
        if encrypted {
            return Err(Rejected::Key("it is encrypted".to_owned()).into());
        }
        let key = key.map_err(|stack| Rejected::Key(one_line(&stack)))?;
        if !public.public_eq(&key) {
            return Err(Rejected::KeyMismatch.into());
        }
        let kind = KeyKind::of(&key)
            .ok_or_else(|| Rejected::Key("its type or curve is not supported".to_owned()))?;
        let this =
            Self::new(&key, public, kind).map_err(Unavailable::openssl("writing the key"))?;
        Ok(Self { id: sha256(pem), ..this })
    }

    pub(crate) fn new(
        key: &PKey<Private>,
        public: PKey<Public>,
        kind: KeyKind,
    ) -> Result<Self, ErrorStack> {
        let der = Zeroizing::new(key.private_key_to_der()?);
        Ok(Self { id: sha256(&der), der, kind, public })
    }

    /// Checks that a certificate with this public key can be used with the key.
    pub(crate) fn check(&self, public: &PKey<Public>) -> Result<(), Error> {
        if public.public_eq(&self.public) { Ok(()) } else { Err(Rejected::KeyMismatch.into()) }
    }
}
