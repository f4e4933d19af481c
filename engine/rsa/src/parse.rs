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

#[cfg(feature = "pem")]
use crate::error::Found;
use crate::error::{Error, Expected, Rejected};
use crate::parts::KeyParts;
#[cfg(feature = "pem")]
use crate::pem;

/// The encoding of the input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoding {
    Der,
    #[cfg(feature = "pem")]
    Pem,
    /// PEM if there is a BEGIN line, otherwise DER.
    #[cfg(feature = "pem")]
    Either,
}

/// Reads the numbers of a private key.
pub(crate) fn private(encoding: Encoding, input: &[u8]) -> Result<KeyParts, Error> {
    match block(encoding, input, Expected::PrivateKey)? {
        Some(block) => der::private(&block),
        None => der::private(input),
    }
}

/// Reads n and e of a public key.
pub(crate) fn public(encoding: Encoding, input: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    match block(encoding, input, Expected::PublicKey)? {
        Some(block) => der::public(&block),
        None => der::public(input),
    }
}

/// Returns the DER of the key's PEM block; `None` if the input is DER.
fn block(
    encoding: Encoding,
    input: &[u8],
    #[cfg_attr(not(feature = "pem"), expect(unused_variables, reason = "it is a PEM label"))]
    expected: Expected,
) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    if input.len() > LIMIT_BYTES {
        let (found_bytes, limit_bytes) = (input.len(), LIMIT_BYTES);
        return Err(Rejected::InputLength { found_bytes, limit_bytes }.into());
    }
    let is_der = input.first() == Some(&SEQUENCE);
    match encoding {
        Encoding::Der if is_der => Ok(None),
        Encoding::Der => Err(Rejected::NotDer.into()),
        #[cfg(feature = "pem")]
        Encoding::Pem => pem_block(input, expected)?.ok_or(Rejected::NotPem.into()).map(Some),
        #[cfg(feature = "pem")]
        Encoding::Either => match pem_block(input, expected) {
            Ok(None) if !is_der => Err(Rejected::NotAKey.into()),
            // DER may contain any text
            Err(Error::Rejected(Rejected::PemLine)) if is_der => Ok(None),
            block => block,
        },
    }
}

/// Returns the DER of the first PEM block with an expected label; `None` if there is no block.
#[cfg(feature = "pem")]
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
