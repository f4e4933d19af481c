//! The key and the end of validity of a certificate.

use core::time::Duration;

use der::asn1::{AnyRef, GeneralizedTime, UintRef, UtcTime};
use der::{Decode as _, Reader as _, SliceReader, Tag, TagNumber, Tagged as _};
use jiff::Timestamp;
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// A server's certificate, unverified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The kind of its key, as record subjects spell it: `rsa-2048`, `ecdsa-p256`, `other`.
    pub key: String,
    /// End of validity.
    pub until: Timestamp,
    /// Length in bytes.
    pub bytes: usize,
}

impl Certificate {
    /// Reads a certificate in DER (RFC 5280 §4.1); `None` if it is malformed.
    #[must_use]
    pub fn read(der: &[u8]) -> Option<Self> {
        read(der).ok()
    }
}

fn read(der: &[u8]) -> Result<Certificate, der::Error> {
    let certificate = AnyRef::from_der(der)?;
    certificate.tag().assert_eq(Tag::Sequence)?;
    let mut fields = SliceReader::new(certificate.value())?;
    let signed = AnyRef::decode(&mut fields)?;
    signed.tag().assert_eq(Tag::Sequence)?;
    let mut fields = SliceReader::new(signed.value())?;
    let version = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };
    if Tag::peek(&fields)? == version {
        AnyRef::decode(&mut fields)?;
    }
    // serial number, signature algorithm, issuer
    for tag in [Tag::Integer, Tag::Sequence, Tag::Sequence] {
        AnyRef::decode(&mut fields)?.tag().assert_eq(tag)?;
    }
    let validity = AnyRef::decode(&mut fields)?;
    validity.tag().assert_eq(Tag::Sequence)?;
    let mut times = SliceReader::new(validity.value())?;
    time(&mut times)?;
    let end = time(&mut times)?;
    AnyRef::decode(&mut fields)?.tag().assert_eq(Tag::Sequence)?; // the subject
    let key = key(fields.tlv_bytes()?)?;
    let seconds = i64::try_from(end.as_secs()).unwrap_or(i64::MAX);
    let until = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
    Ok(Certificate { key, until, bytes: der.len() })
}

/// Reads a time in either form of RFC 5280, since 1970.
fn time(times: &mut SliceReader<'_>) -> Result<Duration, der::Error> {
    match Tag::peek(times)? {
        Tag::UtcTime => Ok(UtcTime::decode(times)?.to_unix_duration()),
        _ => Ok(GeneralizedTime::decode(times)?.to_unix_duration()),
    }
}

fn key(spki: &[u8]) -> Result<String, der::Error> {
    let info = SubjectPublicKeyInfoRef::from_der(spki)?;
    let curve = info.algorithm.parameters_oid().ok();
    Ok(match info.algorithm.oid {
        RSA => match info.subject_public_key.as_bytes().map(modulus_bits) {
            Some(bits) => format!("rsa-{}", bits?),
            None => "other".to_owned(),
        },
        EC if curve == Some(P256) => "ecdsa-p256".to_owned(),
        EC if curve == Some(P384) => "ecdsa-p384".to_owned(),
        ED25519 => "ed25519".to_owned(),
        _ => "other".to_owned(),
    })
}

/// Returns the length of the modulus of an RSA key (RFC 8017 A.1.1).
fn modulus_bits(key: &[u8]) -> Result<usize, der::Error> {
    let key = AnyRef::from_der(key)?;
    key.tag().assert_eq(Tag::Sequence)?;
    let modulus = UintRef::decode(&mut SliceReader::new(key.value())?)?;
    let zeros = modulus.as_bytes().first().map_or(0, |first| first.leading_zeros() as usize);
    Ok(8 * modulus.as_bytes().len() - zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_certificates_are_none() {
        for bad in [&[][..], &[0x30], &[0x30, 0], &[0x30, 2, 0x30, 0], b"-----BEGIN"] {
            assert_eq!(Certificate::read(bad), None);
        }
    }
}
