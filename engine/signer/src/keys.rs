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

use crate::error::Error;
use crate::public_half::{Public, public};
use crate::secret_file::read;
use crate::token::TokenKey;

/// A key of the signer, of upstream signers, or in a token.
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) ski: Ski,
    pub(crate) half: Half,
    /// Clients may be allowed the raw operation.
    pub(crate) raw: bool,
}

/// The half of a key that the signer needs.
pub(crate) enum Half {
    /// The signer has the key.
    Here(Secret),
    /// A token has it.
    Token(Box<TokenKey>),
    /// Upstream signers have it. The public half checks their results; the private one is there only if
    /// the signer may do what they do not.
    Upstream { public: Public, fallback: Option<Secret> },
}

/// The private half of a key that the signer has.
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
    pub(crate) fn is_rsa(&self) -> bool {
        let public = match &self.half {
            Half::Here(secret) => return matches!(secret, Secret::Rsa(_)),
            Half::Token(key) => &key.public,
            Half::Upstream { public, .. } => public,
        };
        matches!(public, Public::Rsa(_))
    }

    /// Returns the private half, if the signer has it.
    pub(crate) const fn secret(&self) -> Option<&Secret> {
        match &self.half {
            Half::Here(secret) => Some(secret),
            Half::Token(_) => None,
            Half::Upstream { fallback, .. } => fallback.as_ref(),
        }
    }

    /// Returns whether upstream signers or a token have the key.
    pub(crate) const fn is_elsewhere(&self) -> bool {
        matches!(self.half, Half::Token(_) | Half::Upstream { .. })
    }

    /// Returns the public half of a key that upstream signers have.
    pub(crate) const fn upstream(&self) -> Option<&Public> {
        match &self.half {
            Half::Here(_) | Half::Token(_) => None,
            Half::Upstream { public, .. } => Some(public),
        }
    }

    /// Returns a key in a token.
    pub(crate) const fn in_token(&self) -> Option<&TokenKey> {
        match &self.half {
            Half::Token(key) => Some(key),
            Half::Here(_) | Half::Upstream { .. } => None,
        }
    }
}

impl Half {
    /// Reads the file of a key or of a stub.
    pub(crate) fn load(file: &Path, fallback: Option<&Path>) -> Result<(Ski, Self), Error> {
        let pem = read(file)?;
        let stub = Stub::from_pem(&pem).map_err(|why| Error::file(file, why))?;
        match (stub, fallback) {
            (None, None) => {
                let (ski, secret) = private(file, &pem)?;
                Ok((ski, Self::Here(secret)))
            }
            (None, Some(_)) => {
                let why = "it is the private key itself, so `fallback` has no use: leave that out, or \
                           give the stub of a key of upstream signers";
                Err(Error::file(file, why))
            }
            (Some(stub), fallback) => {
                let fallback = fallback.map(|file| {
                    let (ski, secret) = private(file, &read(file)?)?;
                    let why = "it is another key than that of the stub: give the same";
                    (ski == stub.ski()).then_some(secret).ok_or_else(|| Error::file(file, why))
                });
                let public = public(stub.spki(), unusable(file))?;
                Ok((stub.ski(), Self::Upstream { public, fallback: fallback.transpose()? }))
            }
        }
    }
}

fn unusable(path: &Path) -> impl Fn(&dyn fmt::Display) -> Error {
    move |why| {
        let remedy = "give an unencrypted PEM key, RSA or P-256, or a stub";
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
