//! The DER structures of a key: PKCS#1, PKCS#8, `SubjectPublicKeyInfo`; other structures are named
//! in errors.

use core::iter;

use der::asn1::{AnyRef, ObjectIdentifier, UintRef};
use der::{Decode, SliceReader, Tag, Tagged};
use pkcs1::{RsaPrivateKeyRef, RsaPublicKeyRef};
use pkcs8::PrivateKeyInfoRef;
use spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use zeroize::Zeroizing;

use crate::error::{Error, Expected, Found, Rejected};
use crate::parts::KeyParts;

/// The structure of PKCS#1 in error messages.
pub(super) const RSA_KEY: &str = "the SEQUENCE of the RSA key";

pub(super) fn private(der: &[u8]) -> Result<KeyParts, Error> {
    let found = match Shape::new(der)? {
        Shape::Pkcs1 => return private_pkcs1(der),
        Shape::Pkcs8 => {
            let info = PrivateKeyInfoRef::from_der(der);
            return private_info(&info.map_err(malformed("PKCS#8 PrivateKeyInfo"))?);
        }
        Shape::Encrypted => return Err(Rejected::Encrypted.into()),
        Shape::Pkcs1Public | Shape::Spki => Found::PublicKey,
        Shape::Certificate => Found::Certificate,
        Shape::EcPrivateKey => Found::EcPrivateKey,
    };
    Err(Rejected::Unexpected { found, expected: Expected::PrivateKey }.into())
}

pub(super) fn public(der: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let found = match Shape::new(der)? {
        Shape::Pkcs1Public => return public_pkcs1(der),
        Shape::Spki => {
            let info = SubjectPublicKeyInfoRef::from_der(der);
            return public_info(&info.map_err(malformed("SubjectPublicKeyInfo"))?);
        }
        Shape::Pkcs1 | Shape::Pkcs8 | Shape::Encrypted => Found::PrivateKey,
        Shape::Certificate => Found::Certificate,
        Shape::EcPrivateKey => Found::EcPrivateKey,
    };
    Err(Rejected::Unexpected { found, expected: Expected::PublicKey }.into())
}

pub(crate) fn private_info(info: &PrivateKeyInfoRef<'_>) -> Result<KeyParts, Error> {
    check_algorithm(&info.algorithm)?;
    private_pkcs1(info.private_key.as_bytes())
}

pub(crate) fn private_pkcs1(der: &[u8]) -> Result<KeyParts, Error> {
    let key = RsaPrivateKeyRef::from_der(der).map_err(malformed(RSA_KEY))?;
    if key.other_prime_infos.is_some() {
        return Err(Rejected::MultiPrime.into());
    }
    let secret = |number: UintRef<'_>| Zeroizing::new(number.as_bytes().to_vec());
    Ok(KeyParts {
        n: key.modulus.as_bytes().to_vec(),
        e: key.public_exponent.as_bytes().to_vec(),
        d: secret(key.private_exponent),
        p: secret(key.prime1),
        q: secret(key.prime2),
        d_p: secret(key.exponent1),
        d_q: secret(key.exponent2),
        q_inv: secret(key.coefficient),
    })
}

pub(crate) fn public_info(info: &SubjectPublicKeyInfoRef<'_>) -> Result<(Vec<u8>, Vec<u8>), Error> {
    check_algorithm(&info.algorithm)?;
    let key = info.subject_public_key.as_bytes().ok_or_else(|| Rejected::Der {
        field: "SubjectPublicKeyInfo, subjectPublicKey",
        what: "a BIT STRING of partial bytes".into(),
    })?;
    public_pkcs1(key)
}

pub(crate) fn public_pkcs1(der: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let key = RsaPublicKeyRef::from_der(der).map_err(malformed(RSA_KEY))?;
    Ok((key.modulus.as_bytes().to_vec(), key.public_exponent.as_bytes().to_vec()))
}

/// Requires `rsaEncryption` with NULL parameters, or without parameters.
fn check_algorithm(algorithm: &AlgorithmIdentifierRef<'_>) -> Result<(), Error> {
    if algorithm.oid != pkcs1::ALGORITHM_OID {
        return Err(Rejected::NotRsa { algorithm: algorithm_name(algorithm.oid) }.into());
    }
    if algorithm.parameters.is_none_or(|parameters| parameters.is_null()) {
        return Ok(());
    }
    let what = "parameters that are neither NULL nor absent".into();
    Err(Rejected::Der { field: "the algorithm identifier rsaEncryption", what }.into())
}

fn algorithm_name(oid: ObjectIdentifier) -> String {
    let digits = oid.to_string();
    let name = match digits.as_str() {
        "1.2.840.113549.1.1.7" => "RSAES-OAEP",
        "1.2.840.113549.1.1.10" => "RSASSA-PSS",
        "1.2.840.113549.1.3.1" => "DH",
        "1.2.840.10040.4.1" => "DSA",
        "1.2.840.10045.2.1" => "elliptic curves",
        "1.3.101.110" => "X25519",
        "1.3.101.111" => "X448",
        "1.3.101.112" => "Ed25519",
        "1.3.101.113" => "Ed448",
        _ => "an unknown algorithm",
    };
    format!("{name} ({digits})")
}

/// The kind of a structure, by the tags of its first three fields.
enum Shape {
    Certificate,
    EcPrivateKey,
    Encrypted,
    Pkcs1,
    Pkcs1Public,
    Pkcs8,
    Spki,
}

impl Shape {
    fn new(der: &[u8]) -> Result<Self, Error> {
        let field = "the outer SEQUENCE";
        let outer = AnyRef::from_der(der).map_err(malformed(field))?;
        let mut reader = SliceReader::new(outer.value()).map_err(malformed(field))?;
        let mut fields = iter::from_fn(|| AnyRef::decode(&mut reader).ok());
        let mut tag = || fields.next().map(|field| Tagged::tag(&field));
        match (tag(), tag(), tag()) {
            (Some(Tag::Integer), Some(Tag::Integer), None) => Ok(Self::Pkcs1Public),
            (Some(Tag::Integer), Some(Tag::Integer), Some(_)) => Ok(Self::Pkcs1),
            (Some(Tag::Integer), Some(Tag::Sequence), _) => Ok(Self::Pkcs8),
            (Some(Tag::Integer), Some(Tag::OctetString), _) => Ok(Self::EcPrivateKey),
            (Some(Tag::Sequence), Some(Tag::OctetString), None) => Ok(Self::Encrypted),
            (Some(Tag::Sequence), Some(Tag::BitString), None) => Ok(Self::Spki),
            (Some(Tag::Sequence), Some(Tag::Sequence), Some(Tag::BitString)) => {
                Ok(Self::Certificate)
            }
            _ => Err(Rejected::Der { field, what: "not the fields of a key".into() }.into()),
        }
    }
}

/// Converts an error of the DER reader. The text has tags, lengths and positions, but no contents.
fn malformed(field: &'static str) -> impl Fn(der::Error) -> Error {
    move |error| Rejected::Der { field, what: error.to_string() }.into()
}
