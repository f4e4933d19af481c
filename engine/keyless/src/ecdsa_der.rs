//! Signatures of ECDSA P-256 in DER: `Ecdsa-Sig-Value` (RFC 3279, section 2.2.3).

use der::asn1::UintRef;
use der::{Decode as _, Encode as _, Reader as _, SliceReader};

/// The length of r and s.
const NUMBERS_BYTES: usize = 64;

/// Encodes r and s, of 32 bytes each, big end first.
///
/// # Panics
///
/// Never: two numbers of 32 bytes can be encoded.
#[must_use]
pub fn encode(numbers: &[u8; NUMBERS_BYTES]) -> Vec<u8> {
    let (r, s) = numbers.split_at(NUMBERS_BYTES / 2);
    let write = || -> der::Result<Vec<u8>> { [UintRef::new(r)?, UintRef::new(s)?].to_der() };
    write().expect("two short numbers")
}

/// Returns r and s, of 32 bytes each. Accepts DER alone, as OpenSSL does, and no longer numbers.
#[must_use]
pub fn decode(der: &[u8]) -> Option<[u8; NUMBERS_BYTES]> {
    let (r, s) = numbers(der).ok()?;
    let mut bytes = [0; NUMBERS_BYTES];
    for (number, half) in [r, s].iter().zip(bytes.chunks_mut(NUMBERS_BYTES / 2)) {
        let number = number.as_bytes();
        let at = half.len().checked_sub(number.len())?;
        half[at..].copy_from_slice(number);
    }
    Some(bytes)
}

/// Returns whether these bytes are DER of two numbers, which may be too large for a signature.
#[must_use]
pub fn is_encoding(der: &[u8]) -> bool {
    numbers(der).is_ok()
}

fn numbers(der: &[u8]) -> der::Result<(UintRef<'_>, UintRef<'_>)> {
    let mut reader = SliceReader::new(der)?;
    let numbers = reader.sequence(|reader| -> der::Result<_> {
        Ok((UintRef::decode(reader)?, UintRef::decode(reader)?))
    })?;
    reader.finish()?;
    Ok(numbers)
}
