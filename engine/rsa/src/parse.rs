//! Key files: PEM or DER, PKCS#1 and PKCS#8 for private keys, PKCS#1 and SPKI for public keys.
//!
//! The structure of the DER decides; a PEM label only selects the block of a file.
//! [`crate::validate`] checks the numbers.
//!
//! The parser is lenient where real files differ: it skips text around PEM blocks and other blocks
//! before the key (a certificate chain, `EC PARAMETERS`), and accepts lines of any width. It also
//! accepts an `rsaEncryption` identifier without parameters, as OpenSSL does, although RFC 8017 A.1
//! requires NULL. Otherwise it is strict: it refuses data after the DER, and non-DER numbers.

mod der;
mod pem;
#[cfg(test)]
mod tests;

pub(crate) use der::{private_info, private_pkcs1, public_info, public_pkcs1};

use crate::error::{Error, Expected, Rejected};
use crate::parts::KeyParts;

/// Reads the numbers of a private key. Takes the first private key of several PEM blocks.
pub(crate) fn private(file: &[u8]) -> Result<KeyParts, Error> {
    check_length(file)?;
    match pem::block(file, Expected::PrivateKey)? {
        Some(block) => der::private(&block),
        None => der::private(file),
    }
}

/// Reads n and e of a public key. Takes the first public key of several PEM blocks.
pub(crate) fn public(file: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    check_length(file)?;
    match pem::block(file, Expected::PublicKey)? {
        Some(block) => der::public(&block),
        None => der::public(file),
    }
}

fn check_length(file: &[u8]) -> Result<(), Error> {
    if file.len() <= LIMIT_BYTES {
        return Ok(());
    }
    Err(Rejected::InputLength { found_bytes: file.len(), limit_bytes: LIMIT_BYTES }.into())
}

/// Maximum length of the input in bytes: a key of 8192 bits after a long certificate chain.
pub(crate) const LIMIT_BYTES: usize = 1 << 16;
