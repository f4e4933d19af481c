//! Conversion of keys to and from DER and PEM, by the traits of the crates [`pkcs1`], [`pkcs8`] and
//! `spki`.
//!
//! Programs written for the crate `rsa` use these traits, so there are no other methods with the
//! same purpose. To read a file of unknown format, prefer [`PrivateKey::from_bytes`]: it detects
//! the format, and its errors tell the user what to do, while the traits' errors only name a kind.
//!
//! A written key reads back as the same key. DER documents wipe themselves when dropped, and PEM
//! texts are [`Zeroizing`](zeroize::Zeroizing). DER numbers have no leading zeros, so the file's
//! length reveals the number of leading zero bytes of a private exponent; the format requires this.

use der::asn1::{BitStringRef, OctetStringRef, UintRef};
use der::{Document, SecretDocument};
use pkcs1::{
    DecodeRsaPrivateKey, DecodeRsaPublicKey, EncodeRsaPrivateKey, EncodeRsaPublicKey,
    RsaPrivateKeyRef, RsaPublicKeyRef,
};
use pkcs8::{EncodePrivateKey, PrivateKeyInfoRef};
use spki::{EncodePublicKey, SubjectPublicKeyInfoRef};

use crate::error::{Error, MODULUS_BITS_MAX, Rejected};
use crate::key::{PrivateKey, PublicKey};
use crate::parse;

/// Returns the DER of PKCS#1's `RSAPrivateKey`.
fn private_pkcs1(key: &PrivateKey) -> der::Result<SecretDocument> {
    let parts = key.to_parts();
    SecretDocument::encode_msg(&RsaPrivateKeyRef {
        modulus: UintRef::new(&parts.n)?,
        public_exponent: UintRef::new(&parts.e)?,
        private_exponent: UintRef::new(&parts.d)?,
        prime1: UintRef::new(&parts.p)?,
        prime2: UintRef::new(&parts.q)?,
        exponent1: UintRef::new(&parts.d_p)?,
        exponent2: UintRef::new(&parts.d_q)?,
        coefficient: UintRef::new(&parts.q_inv)?,
        other_prime_infos: None,
    })
}

/// Returns the DER of PKCS#1's `RSAPublicKey`.
fn public_pkcs1(key: &PublicKey) -> der::Result<Document> {
    let (n, e) = (key.modulus(), key.exponent());
    Document::encode_msg(&RsaPublicKeyRef {
        modulus: UintRef::new(&n)?,
        public_exponent: UintRef::new(&e)?,
    })
}

impl EncodeRsaPrivateKey for PrivateKey {
    fn to_pkcs1_der(&self) -> pkcs1::Result<SecretDocument> {
        Ok(private_pkcs1(self)?)
    }
}

impl EncodePrivateKey for PrivateKey {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        let pkcs1 = private_pkcs1(self)?;
        let key = OctetStringRef::new(pkcs1.as_bytes())?;
        Ok(SecretDocument::encode_msg(&PrivateKeyInfoRef::new(pkcs1::ALGORITHM_ID, key))?)
    }
}

impl EncodeRsaPublicKey for PublicKey {
    fn to_pkcs1_der(&self) -> pkcs1::Result<Document> {
        Ok(public_pkcs1(self)?)
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let pkcs1 = public_pkcs1(self)?;
        let key = BitStringRef::from_bytes(pkcs1.as_bytes())?;
        let info =
            SubjectPublicKeyInfoRef { algorithm: pkcs1::ALGORITHM_ID, subject_public_key: key };
        Ok(Document::encode_msg(&info)?)
    }
}

impl DecodeRsaPrivateKey for PrivateKey {
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        let key = parse::private_pkcs1(bytes).and_then(|parts| Self::from_parts(&parts));
        key.map_err(|error| pkcs1_error(&error))
    }
}

impl TryFrom<PrivateKeyInfoRef<'_>> for PrivateKey {
    type Error = pkcs8::Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> pkcs8::Result<Self> {
        info.algorithm.assert_algorithm_oid(pkcs1::ALGORITHM_OID)?;
        let key = parse::private_info(&info).and_then(|parts| Self::from_parts(&parts));
        key.map_err(|error| pkcs8_error(&error))
    }
}

impl DecodeRsaPublicKey for PublicKey {
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        let key = parse::public_pkcs1(bytes).and_then(|(n, e)| Self::from_components(&n, &e));
        key.map_err(|error| pkcs1_error(&error))
    }
}

impl TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        info.algorithm.assert_algorithm_oid(pkcs1::ALGORITHM_OID)?;
        let key = parse::public_info(&info).and_then(|(n, e)| Self::from_components(&n, &e));
        key.map_err(|_| spki::Error::KeyMalformed)
    }
}

fn pkcs1_error(error: &Error) -> pkcs1::Error {
    match error {
        Error::Rejected(Rejected::Der { .. }) => pkcs1::Error::KeyMalformed,
        Error::Rejected(Rejected::MultiPrime) => pkcs1::Error::Version,
        _ => pkcs1::Error::Crypto,
    }
}

fn pkcs8_error(error: &Error) -> pkcs8::Error {
    let error = match error {
        Error::Rejected(Rejected::Size { bits }) if *bits > MODULUS_BITS_MAX => {
            pkcs8::KeyError::TooLong
        }
        Error::Rejected(Rejected::Size { .. }) => pkcs8::KeyError::TooShort,
        _ => pkcs8::KeyError::Invalid,
    };
    error.into()
}
