//! Kinds of public keys in certificates, and their uses.

use core::fmt;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    VerificationAlgorithm,
};
use der::Decode as _;
use pkcs1::RsaPublicKeyRef;
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

use crate::error::Violation;
use crate::registry::SignatureScheme;
use crate::suite::{KeyExchange, Suite};

/// `rsaEncryption` (RFC 8017 A.1).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// `id-ecPublicKey` (RFC 5480 §2.1.1), whose parameters name the curve.
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
/// `id-Ed25519` (RFC 8410 §3).
const ED25519_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// The kind of a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// RSA, "rsa-2048".
    Rsa {
        /// The length of the modulus.
        bits: usize,
    },
    /// ECDSA on P-256, "ecdsa-p256".
    P256,
    /// ECDSA on P-384, "ecdsa-p384".
    P384,
    /// Ed25519, "ed25519".
    Ed25519,
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa { bits } => write!(f, "rsa-{bits}"),
            Self::P256 => f.write_str("ecdsa-p256"),
            Self::P384 => f.write_str("ecdsa-p384"),
            Self::Ed25519 => f.write_str("ed25519"),
        }
    }
}

impl PublicKey {
    /// Returns the kind of the key in a `SubjectPublicKeyInfo`.
    pub(crate) fn read(spki: &[u8]) -> Result<Self, Violation> {
        let info = SubjectPublicKeyInfoRef::from_der(spki).map_err(|_| Violation::Certificate)?;
        let curve = || info.algorithm.parameters_oid().ok();
        match info.algorithm.oid {
            RSA => {
                let key = info.subject_public_key.as_bytes().ok_or(Violation::Certificate)?;
                let key = RsaPublicKeyRef::from_der(key).map_err(|_| Violation::Certificate)?;
                let modulus = key.modulus.as_bytes();
                let [first, ..] = modulus else { return Err(Violation::Certificate) };
                Ok(Self::Rsa { bits: 8 * modulus.len() - first.leading_zeros() as usize })
            }
            EC if curve() == Some(P256) => Ok(Self::P256),
            EC if curve() == Some(P384) => Ok(Self::P384),
            ED25519_ID => Ok(Self::Ed25519),
            _ => Err(Violation::CertificateKeyType),
        }
    }

    /// Returns whether this kind of key fits a suite.
    pub(crate) const fn serves(self, suite: Suite) -> bool {
        match suite.exchange() {
            KeyExchange::Rsa | KeyExchange::EcdheRsa => {
                matches!(self, Self::Rsa { .. })
            }
            KeyExchange::EcdheEcdsa => !matches!(self, Self::Rsa { .. }),
            KeyExchange::Tls13 => true,
        }
    }

    /// Returns the verification algorithm of a scheme.
    ///
    /// TLS 1.2 allows a hash function with any curve (RFC 8422 §5.4). TLS 1.3 allows each hash
    /// function only with its own curve; [`Self::signs_tls13`] checks this rule.
    pub(crate) fn algorithm(
        self,
        scheme: SignatureScheme,
    ) -> Result<&'static dyn VerificationAlgorithm, Violation> {
        use SignatureScheme as S;
        let unfit = Violation::SignatureScheme { found: scheme.number() };
        Ok(match (self, scheme) {
            (Self::Rsa { .. }, S::EcdsaSha256 | S::EcdsaSha384 | S::Ed25519) => return Err(unfit),
            (Self::Rsa { bits }, _) if !(2048..=8192).contains(&bits) => return Err(self.unfit()),
            (Self::Rsa { .. }, S::PssSha256) => &RSA_PSS_2048_8192_SHA256,
            (Self::Rsa { .. }, S::PssSha384) => &RSA_PSS_2048_8192_SHA384,
            (Self::Rsa { .. }, S::PssSha512) => &RSA_PSS_2048_8192_SHA512,
            (Self::Rsa { .. }, S::Pkcs1Sha256) => &RSA_PKCS1_2048_8192_SHA256,
            (Self::Rsa { .. }, S::Pkcs1Sha384) => &RSA_PKCS1_2048_8192_SHA384,
            (Self::Rsa { .. }, S::Pkcs1Sha512) => &RSA_PKCS1_2048_8192_SHA512,
            (Self::P256, S::EcdsaSha256) => &ECDSA_P256_SHA256_ASN1,
            (Self::P256, S::EcdsaSha384) => &ECDSA_P256_SHA384_ASN1,
            (Self::P384, S::EcdsaSha256) => &ECDSA_P384_SHA256_ASN1,
            (Self::P384, S::EcdsaSha384) => &ECDSA_P384_SHA384_ASN1,
            (Self::Ed25519, S::Ed25519) => &ED25519,
            _ => return Err(unfit),
        })
    }

    /// Returns whether TLS 1.3 allows a scheme for this kind of key. In TLS 1.3, each curve has its
    /// own hash function (RFC 8446 §4.2.3).
    pub(crate) const fn signs_tls13(self, scheme: SignatureScheme) -> bool {
        match (self, scheme) {
            (Self::P256, SignatureScheme::EcdsaSha384)
            | (Self::P384, SignatureScheme::EcdsaSha256) => false,
            _ => scheme.signs_tls13(),
        }
    }

    /// Returns the violation for a key that does not fit.
    pub(crate) const fn unfit(self) -> Violation {
        match self {
            Self::Rsa { bits } => Violation::KeySize { bits },
            Self::P256 | Self::P384 | Self::Ed25519 => Violation::CertificateKeyType,
        }
    }
}
