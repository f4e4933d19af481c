//! Key files: PEM or DER, PKCS#1 and PKCS#8 for private keys, PKCS#1 and SPKI for public ones.
//!
//! What decides is the structure of the DER; a PEM label only says which block of a file to read.
//! Nothing here knows whether the numbers make a key: that is [`crate::validate`].
//!
//! Lenient where files in the wild are: text around PEM blocks, other blocks before the key (a
//! certificate chain, `EC PARAMETERS`), lines of any width, and an `rsaEncryption` identifier
//! without its parameters, which RFC 8017 A.1 demands to be NULL and OpenSSL accepts absent.
//! Strict elsewhere: data after the DER is refused, and so are numbers that DER writes otherwise.

mod der;
mod pem;
#[cfg(test)]
mod tests;

pub(crate) use der::{private_info, private_pkcs1, public_info, public_pkcs1};

use crate::error::{Error, Expected, Rejected};
use crate::parts::{KeyParts, PublicParts};

/// Reads an RSA private key, PEM or DER, PKCS#1 or PKCS#8, from the contents of a file.
///
/// Of several PEM blocks the first private key is read. Nothing is checked but the format.
///
/// # Errors
///
/// [`Rejected`], with a variant for each reason; see the module.
pub(crate) fn private(file: &[u8]) -> Result<KeyParts, Error> {
    check_length(file)?;
    match pem::block(file, Expected::PrivateKey)? {
        Some(block) => der::private(&block),
        None => der::private(file),
    }
}

/// Reads an RSA public key, PEM or DER, PKCS#1 or SPKI, from the contents of a file.
///
/// Of several PEM blocks the first public key is read. Nothing is checked but the format.
///
/// # Errors
///
/// [`Rejected`], with a variant for each reason; see the module.
pub(crate) fn public(file: &[u8]) -> Result<PublicParts, Error> {
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

/// The longest input that is read, in bytes: a key of 8192 bits after a long certificate chain.
pub(crate) const LIMIT_BYTES: usize = 1 << 16;
