//! The private keys.

use core::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use openssl::nid::Nid;
use openssl::pkey::{Id, PKey};
use tollgate_curves::p256::SecretKey;
use tollgate_keyless::Ski;
use tollgate_rsa::PrivateKey;
use zeroize::Zeroizing;

use crate::config::KeySettings;
use crate::error::Error;

/// The longest file of a key or certificate, in bytes.
const FILE_BYTES_MAX: usize = 1 << 20;

/// A key that the signer has.
pub(crate) struct Key {
    pub(crate) name: String,
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
        let refuse = |why: &dyn fmt::Display| {
            Error::file(
                &settings.file,
                format!("no usable key: {why}: give an unencrypted PEM key, RSA or P-256"),
            )
        };
        let pem = read(&settings.file)?;
        // With an empty password, an encrypted key is an error, and not a question on the terminal.
        let key =
            PKey::private_key_from_pem_callback(&pem, |_| Ok(0)).map_err(|why| refuse(&why))?;
        let spki = key.public_key_to_der().map_err(|why| refuse(&why))?;
        let ski = Ski::of_public_key(&spki).ok_or_else(|| refuse(&"its public half is missing"))?;
        let secret = match key.id() {
            Id::RSA => {
                let key = PrivateKey::from_bytes(&pem).map_err(|why| refuse(&why))?;
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
        Ok(Self { name: settings.name.clone(), ski, secret, raw: settings.raw })
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
