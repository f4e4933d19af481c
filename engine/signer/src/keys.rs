//! The private keys.

use core::fmt;
use std::path::Path;
use std::sync::Arc;

use openssl::nid::Nid;
use openssl::pkey::{Id, PKey};
use tollgate_curves::p256::{P256, SecretKey};
use tollgate_keyless::{Ski, Stub};
use tollgate_rsa::PrivateKey;
use zeroize::Zeroizing;

use crate::config::KeySettings;
use crate::error::Error;
use crate::secret_file::read;

/// A key of the signer.
pub(crate) struct Key {
    name: String,
    pub(crate) ski: Ski,
    pub(crate) secret: Secret,
    /// Clients may be allowed the raw operation.
    pub(crate) raw: bool,
}

/// The private half of a key.
pub(crate) enum Secret {
    P256(Arc<SecretKey>),
    Rsa(Arc<PrivateKey>),
}

impl fmt::Debug for Key {
    /// Shows no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .field("ski", &self.ski)
            .finish_non_exhaustive()
    }
}

impl Key {
    /// Reads the file of a key.
    pub(crate) fn load(settings: &KeySettings) -> Result<Self, Error> {
        let file = &settings.file;
        let pem = read(file)?;
        if Stub::from_pem(&pem).is_ok_and(|stub| stub.is_some()) {
            let why = "it is the stub of a key, for front ends: give the private key";
            return Err(Error::file(file, why));
        }
        let (ski, secret) = private(file, &pem)?;
        Ok(Self { name: settings.name.clone(), ski, secret, raw: settings.raw })
    }

    pub(crate) const fn is_rsa(&self) -> bool {
        matches!(self.secret, Secret::Rsa(_))
    }
}

fn unusable(path: &Path) -> impl Fn(&dyn fmt::Display) -> Error {
    move |why| {
        let remedy = "give an unencrypted PEM key, RSA or P-256";
        Error::file(path, format!("no usable key: {why}: {remedy}"))
    }
}

/// Reads a private key and its name.
fn private(path: &Path, pem: &[u8]) -> Result<(Ski, Secret), Error> {
    let refuse = unusable(path);
    // With an empty password, an encrypted key is an error, and not a question on the terminal.
    let key = PKey::private_key_from_pem_callback(pem, |_| Ok(0)).map_err(|why| refuse(&why))?;
    let spki = key.public_key_to_der().map_err(|why| refuse(&why))?;
    let ski = Ski::of_public_key(&spki).ok_or_else(|| refuse(&"its public half is missing"))?;
    let secret = match key.id() {
        Id::RSA => {
            let key = PrivateKey::from_bytes(pem).map_err(|why| refuse(&why))?;
            if key.is_insecure() {
                return Err(refuse(&"it has less than 2048 bits"));
            }
            Secret::Rsa(Arc::new(key))
        }
        Id::EC => {
            let key = key.ec_key().map_err(|why| refuse(&why))?;
            if key.group().curve_name() != Some(Nid::X9_62_PRIME256V1) {
                return Err(refuse(&"its curve is not P-256"));
            }
            P256::best().map_err(|why| refuse(&why))?;
            let number = key.private_key().to_vec_padded(32).map(Zeroizing::new);
            let number = number.map_err(|why| refuse(&why))?;
            let bytes = <&[u8; 32]>::try_from(&number[..]).expect("padded to 32 bytes");
            Secret::P256(Arc::new(SecretKey::from_bytes(bytes).map_err(|why| refuse(&why))?))
        }
        _ => return Err(refuse(&"it is of another type")),
    };
    Ok((ski, secret))
}
