//! The private keys.

use core::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use openssl::bn::BigNumContext;
use openssl::ec::PointConversionForm;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey};
use tollgate_curves::p256::{self, SecretKey};
use tollgate_keyless::{Ski, Stub};
use tollgate_rsa::PrivateKey;
use zeroize::Zeroizing;

use crate::config::KeySettings;
use crate::error::Error;

/// The longest file of a key or certificate, in bytes.
const FILE_BYTES_MAX: usize = 1 << 20;

/// The shortest modulus of a stub, in bits; private keys have [`PrivateKey::is_insecure`].
const RSA_BITS_MIN: usize = 2048;

/// A key of the signer, or of upstream signers.
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
    /// Upstream signers have it. The public half checks their results; the private one is there only if
    /// the signer may do what they do not.
    Upstream { public: Public, fallback: Option<Secret> },
}

/// The public half of a key.
pub(crate) enum Public {
    P256(p256::PublicKey),
    Rsa(Box<tollgate_rsa::PublicKey>),
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
    /// Reads the file of a key or of a stub.
    pub(crate) fn load(settings: &KeySettings) -> Result<Self, Error> {
        let pem = read(&settings.file)?;
        let stub = Stub::from_pem(&pem).map_err(|why| Error::file(&settings.file, why))?;
        let (ski, half) = match (stub, &settings.fallback) {
            (None, None) => {
                let (ski, secret) = private(&settings.file, &pem)?;
                (ski, Half::Here(secret))
            }
            (None, Some(_)) => {
                let why = "it is the private key itself, so `fallback` has no use: leave that out, or \
                           give the stub of a key of upstream signers";
                return Err(Error::file(&settings.file, why));
            }
            (Some(stub), fallback) => {
                let fallback = fallback.as_ref().map(|file| {
                    let (ski, secret) = private(file, &read(file)?)?;
                    let why = "it is another key than that of the stub: give the same";
                    (ski == stub.ski()).then_some(secret).ok_or_else(|| Error::file(file, why))
                });
                let (public, fallback) = (public(&settings.file, &stub)?, fallback.transpose()?);
                (stub.ski(), Half::Upstream { public, fallback })
            }
        };
        Ok(Self { name: settings.name.clone(), ski, half, raw: settings.raw })
    }

    pub(crate) const fn is_rsa(&self) -> bool {
        matches!(
            self.half,
            Half::Here(Secret::Rsa(_)) | Half::Upstream { public: Public::Rsa(_), .. }
        )
    }

    /// Returns the private half, if the signer has it.
    pub(crate) const fn secret(&self) -> Option<&Secret> {
        match &self.half {
            Half::Here(secret) => Some(secret),
            Half::Upstream { fallback, .. } => fallback.as_ref(),
        }
    }

    /// Returns the public half of a key that upstream signers have.
    pub(crate) const fn upstream(&self) -> Option<&Public> {
        match &self.half {
            Half::Here(_) => None,
            Half::Upstream { public, .. } => Some(public),
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
            let number = key.private_key().to_vec_padded(32).map(Zeroizing::new);
            let number = number.map_err(|why| refuse(&why))?;
            let bytes = <&[u8; 32]>::try_from(&number[..]).expect("padded to 32 bytes");
            Secret::P256(Arc::new(SecretKey::from_bytes(bytes).map_err(|why| refuse(&why))?))
        }
        _ => return Err(refuse(&"it is of another type")),
    };
    Ok((ski, secret))
}

/// Reads the public key of a stub.
fn public(path: &Path, stub: &Stub) -> Result<Public, Error> {
    let refuse = unusable(path);
    let key = PKey::public_key_from_der(stub.spki()).map_err(|why| refuse(&why))?;
    match key.id() {
        Id::RSA => {
            let key = tollgate_rsa::PublicKey::from_der(stub.spki()).map_err(|why| refuse(&why))?;
            if key.bits() < RSA_BITS_MIN {
                return Err(refuse(&"it has less than 2048 bits"));
            }
            Ok(Public::Rsa(Box::new(key)))
        }
        Id::EC => {
            let key = key.ec_key().map_err(|why| refuse(&why))?;
            if key.group().curve_name() != Some(Nid::X9_62_PRIME256V1) {
                return Err(refuse(&"its curve is not P-256"));
            }
            let form = PointConversionForm::UNCOMPRESSED;
            let point = BigNumContext::new()
                .and_then(|mut context| key.public_key().to_bytes(key.group(), form, &mut context))
                .map_err(|why| refuse(&why))?;
            let key = p256::PublicKey::from_bytes(&point).map_err(|why| refuse(&why))?;
            Ok(Public::P256(key))
        }
        _ => Err(refuse(&"it is of another type")),
    }
}

/// Reads a file that may hold a secret.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |why: std::io::Error| {
        let remedy = match why.kind() {
            ErrorKind::NotFound => ": check the path",
            ErrorKind::PermissionDenied => ": let the user of the signer read it",
            _ => "",
        };
        Error::file(path, format!("{why}{remedy}"))
    };
    let file = File::open(path).map_err(failed)?;
    // Allocated at full size: growing would leave copies of a key in memory.
    let len = file.metadata().map_err(failed)?.len();
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(FILE_BYTES_MAX);
    let mut bytes = Zeroizing::new(Vec::with_capacity(len + 1));
    file.take(len as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(Error::file(path, "longer than 1 MiB: give a file in PEM"));
    }
    Ok(bytes)
}
