//! Keys for measurements: the built-in public test keys, or a key from a file.

use std::path::Path;
use std::sync::Arc;

use openssl::rsa::Rsa;
use tollgate_rsa::PrivateKey;

use crate::error::CliError;
use crate::read;

/// Sizes of the built-in keys, in bits.
pub(crate) const SIZES: [u32; 6] = [512, 1024, 2048, 3072, 4096, 8192];

/// The key of each of [`SIZES`]: the public test keys of `vectors/keys`.
const BUILT_IN: [&[u8]; SIZES.len()] = [
    include_bytes!("../../../vectors/keys/rsa-512.pem"),
    include_bytes!("../../../vectors/keys/rsa-1024.pem"),
    include_bytes!("../../../vectors/keys/rsa-2048.pem"),
    include_bytes!("../../../vectors/keys/rsa-3072.pem"),
    include_bytes!("../../../vectors/keys/rsa-4096.pem"),
    include_bytes!("../../../vectors/keys/rsa-8192.pem"),
];

/// A key on P-256, PKCS#8.
pub(crate) const ECDSA_P256: &[u8] = include_bytes!("../../../vectors/keys/ec-p256.pem");

/// A key on edwards25519, PKCS#8.
pub(crate) const ED25519: &[u8] = include_bytes!("../../../vectors/keys/ed25519.pem");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOperation {
    /// The private operation without CRT, raw.
    PrivateFull,
    /// The public operation with this exponent, raw.
    Public(u64),
    /// A PKCS#1 v1.5 signature of a SHA-256 digest.
    Sign,
    /// Verification of the signatures of [`KeyOperation::Sign`].
    Verify,
    /// A public key is read from DER, verifies one signature of a message, and is dropped.
    VerifyOnce,
}

/// An RSA private key in the form of each library.
pub(crate) struct Key {
    pub(crate) ours: Arc<PrivateKey>,
    /// The key for OpenSSL; other libraries import the key from this form.
    pub(crate) openssl: Rsa<openssl::pkey::Private>,
}

impl Key {
    /// Returns the built-in key of one of [`SIZES`].
    pub(crate) fn built_in(bits: u32) -> Result<Self, CliError> {
        let place = SIZES.iter().position(|size| *size == bits);
        let none = || error!("no built-in key has {bits} bits");
        let place = place.ok_or_else(none)?;
        Self::new(BUILT_IN[place], &format!("built-in key of {bits} bits"))
    }

    /// Returns the key in a file, PEM or DER. An error begins with the name of the file.
    pub(crate) fn from_file(path: &Path) -> Result<Self, CliError> {
        Self::new(&read::key(path)?, &path.display().to_string())
    }

    fn new(bytes: &[u8], name: &str) -> Result<Self, CliError> {
        let ours = PrivateKey::from_bytes(bytes).map_err(CliError::about(name))?;
        // Our parser is stricter and accepted the file, so an error here concerns OpenSSL, not the
        // file.
        let openssl = Rsa::private_key_from_pem(bytes)
            .or_else(|_| Rsa::private_key_from_der(bytes))
            .or_else(|_| openssl::pkey::PKey::private_key_from_der(bytes)?.rsa())
            .map_err(|error| error!("{name}: OpenSSL does not take it: {error}"))?;
        Ok(Self { ours: Arc::new(ours), openssl })
    }

    /// Returns the length of the longer prime in bits, which is the size of the products with CRT.
    pub(crate) fn prime_bits(&self) -> u32 {
        let bits = |prime: Option<&openssl::bn::BigNumRef>| prime.map_or(0, |p| p.num_bits());
        let bits = bits(self.openssl.p()).max(bits(self.openssl.q()));
        u32::try_from(bits).expect("a number of bits")
    }

    pub(crate) fn bits(&self) -> u32 {
        u32::try_from(self.ours.bits()).expect("at most 8192")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_keys_have_the_sizes_they_are_listed_under() {
        for bits in SIZES {
            let key = Key::built_in(bits).unwrap();
            assert_eq!((key.bits(), key.prime_bits()), (bits, bits / 2));
            assert_eq!(key.ours.public().modulus(), key.openssl.n().to_vec());
        }
        assert!(Key::built_in(9000).is_err());
    }
}
