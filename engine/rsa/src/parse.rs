//! Key files: PEM or DER, PKCS#1 and PKCS#8 for private keys, PKCS#1 and SPKI for public keys.
//!
//! The structure of the DER decides; a PEM label only selects the block of a file.
//! [`crate::validate`] checks the numbers.
//!
//! The parser is lenient where real files differ: it skips what OpenSSL skips ([`crate::pem`]), and
//! other blocks before the key (a certificate chain, `EC PARAMETERS`), even damaged ones. It also
//! accepts an `rsaEncryption` identifier without parameters, as OpenSSL does, although RFC 8017 A.1
//! requires NULL. Otherwise it is strict: it refuses data after the DER, and non-DER numbers. The
//! first block with a private key counts: if it is damaged or encrypted, no later one is taken.

mod der;
#[cfg(test)]
mod tests;

pub(crate) use der::{private_info, private_pkcs1, public_info, public_pkcs1};

use zeroize::Zeroizing;

use crate::error::{Error, Expected, Found, Rejected};
use crate::parts::KeyParts;
use crate::pem;

/// Reads the numbers of a private key: PEM if there is a BEGIN line, otherwise DER.
pub(crate) fn private(file: &[u8]) -> Result<KeyParts, Error> {
    match block(file, Expected::PrivateKey)? {
        Some(block) => der::private(&block),
        None => der::private(file),
    }
}

/// Reads n and e of a public key, as [`private`].
pub(crate) fn public(file: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    match block(file, Expected::PublicKey)? {
        Some(block) => der::public(&block),
        None => der::public(file),
    }
}

/// Reads the numbers of a private key in DER.
pub(crate) fn private_der(der: &[u8]) -> Result<KeyParts, Error> {
    if is_der(der)? { der::private(der) } else { Err(Rejected::NotDer.into()) }
}

/// Reads n and e of a public key in DER.
pub(crate) fn public_der(der: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    if is_der(der)? { der::public(der) } else { Err(Rejected::NotDer.into()) }
}

fn is_der(input: &[u8]) -> Result<bool, Error> {
    if input.len() > LIMIT_BYTES {
        let (found_bytes, limit_bytes) = (input.len(), LIMIT_BYTES);
        return Err(Rejected::InputLength { found_bytes, limit_bytes }.into());
    }
    Ok(input.first() == Some(&SEQUENCE))
}

/// Returns the DER of the key's PEM block; `None` if the file is DER.
fn block(file: &[u8], expected: Expected) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let is_der = is_der(file)?;
    match pem_block(file, expected) {
        Ok(None) if !is_der => Err(Rejected::NotAKey.into()),
        // DER may contain any text
        Err(Error::Rejected(Rejected::PemLine)) if is_der => Ok(None),
        block => block,
    }
}

/// Returns the DER of the first PEM block with an expected label; `None` if there is no block.
fn pem_block(file: &[u8], expected: Expected) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let labels: &[&[u8]] = match expected {
        // The DER says whether a key of SEC 1 is one: OpenSSL takes PKCS#8 in such a block, too.
        Expected::PrivateKey => &[b"PRIVATE KEY", b"RSA PRIVATE KEY", b"EC PRIVATE KEY"],
        Expected::PublicKey => &[b"PUBLIC KEY", b"RSA PUBLIC KEY"],
    };
    let mut refusal = None;
    for block in pem::blocks(file) {
        if labels.contains(&block.label) {
            return Ok(Some(block.der()?));
        }
        let found = match block.label {
            b"ENCRYPTED PRIVATE KEY" => return Err(Rejected::Encrypted.into()),
            b"CERTIFICATE"
            | b"X509 CERTIFICATE"
            | b"TRUSTED CERTIFICATE"
            | b"CERTIFICATE REQUEST"
            | b"NEW CERTIFICATE REQUEST" => Some(Found::Certificate),
            b"EC PRIVATE KEY" => Some(Found::EcPrivateKey),
            b"PRIVATE KEY" | b"RSA PRIVATE KEY" => Some(Found::PrivateKey),
            b"PUBLIC KEY" | b"RSA PUBLIC KEY" => Some(Found::PublicKey),
            _ => None,
        };
        refusal = Some(match (block.der(), found) {
            (Err(truncated @ Rejected::PemTruncated { .. }), _) => truncated,
            (_, Some(found)) => Rejected::Unexpected { found, expected },
            (_, None) => Rejected::PemLabel { label: block.printable_label(), expected },
        });
    }
    refusal.or_else(|| pem::why_no_blocks(file)).map_or(Ok(None), |refusal| Err(refusal.into()))
}

/// The first byte of the DER of a key; no PEM file begins with it.
const SEQUENCE: u8 = 0x30;
/// Maximum length of the input in bytes: a key of 8192 bits after a long certificate chain.
pub(crate) const LIMIT_BYTES: usize = 1 << 16;
