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

impl EncodeRsaPrivateKey for PrivateKey {
    fn to_pkcs1_der(&self) -> pkcs1::Result<SecretDocument> {
        let parts = self.to_parts();
        let key = RsaPrivateKeyRef {
            modulus: UintRef::new(&parts.n)?,
            public_exponent: UintRef::new(&parts.e)?,
            private_exponent: UintRef::new(&parts.d)?,
            prime1: UintRef::new(&parts.p)?,
            prime2: UintRef::new(&parts.q)?,
            exponent1: UintRef::new(&parts.d_p)?,
            exponent2: UintRef::new(&parts.d_q)?,
            coefficient: UintRef::new(&parts.q_inv)?,
            other_prime_infos: None,
        };
        Ok(SecretDocument::encode_msg(&key)?)
    }
}

impl EncodePrivateKey for PrivateKey {
    fn to_pkcs8_der(&self) -> pkcs8::Result<SecretDocument> {
        let pkcs1 = self.to_pkcs1_der().map_err(|error| match error {
            pkcs1::Error::Asn1(error) => error,
            _ => der::ErrorKind::Failed.into(),
        })?;
        let key = OctetStringRef::new(pkcs1.as_bytes())?;
        Ok(SecretDocument::encode_msg(&PrivateKeyInfoRef::new(pkcs1::ALGORITHM_ID, key))?)
    }
}

impl EncodeRsaPublicKey for PublicKey {
    fn to_pkcs1_der(&self) -> pkcs1::Result<Document> {
        let (n, e) = (self.modulus(), self.exponent());
        let key =
            RsaPublicKeyRef { modulus: UintRef::new(&n)?, public_exponent: UintRef::new(&e)? };
        Ok(Document::encode_msg(&key)?)
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let pkcs1 = self.to_pkcs1_der().map_err(|error| match error {
            pkcs1::Error::Asn1(error) => spki::Error::Asn1(error),
            _ => spki::Error::KeyMalformed,
        })?;
        let key = BitStringRef::from_bytes(pkcs1.as_bytes())?;
        let info =
            SubjectPublicKeyInfoRef { algorithm: pkcs1::ALGORITHM_ID, subject_public_key: key };
        Ok(Document::encode_msg(&info)?)
    }
}

impl DecodeRsaPrivateKey for PrivateKey {
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        let parts = parse::private_pkcs1(bytes).map_err(|error| pkcs1_error(&error))?;
        Self::from_parts(&parts).map_err(|error| pkcs1_error(&error))
    }
}

impl TryFrom<PrivateKeyInfoRef<'_>> for PrivateKey {
    type Error = pkcs8::Error;

    fn try_from(info: PrivateKeyInfoRef<'_>) -> pkcs8::Result<Self> {
        info.algorithm.assert_algorithm_oid(pkcs1::ALGORITHM_OID)?;
        let parts = parse::private_info(&info).map_err(|error| pkcs8_error(&error))?;
        Self::from_parts(&parts).map_err(|error| pkcs8_error(&error))
    }
}

impl DecodeRsaPublicKey for PublicKey {
    fn from_pkcs1_der(bytes: &[u8]) -> pkcs1::Result<Self> {
        let parts = parse::public_pkcs1(bytes).map_err(|error| pkcs1_error(&error))?;
        Self::from_parts(&parts).map_err(|error| pkcs1_error(&error))
    }
}

impl TryFrom<SubjectPublicKeyInfoRef<'_>> for PublicKey {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        info.algorithm.assert_algorithm_oid(pkcs1::ALGORITHM_OID)?;
        let parts = parse::public_info(&info).map_err(|_| spki::Error::KeyMalformed)?;
        Self::from_parts(&parts).map_err(|_| spki::Error::KeyMalformed)
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
