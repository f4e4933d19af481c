//! A client's own certificate and key.

use core::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};

use crate::certificate::spki;
use crate::decode::{Reader, put_vector};
use crate::error::{Error, Misuse, Unavailable, Violation};
use crate::public_key::PublicKey;
use crate::registry::SignatureScheme;

/// A certificate with its private key, for servers that request one.
pub struct Identity {
    pub(crate) chain: Vec<Vec<u8>>,
    key: Key,
    public: PublicKey,
}

enum Key {
    Rsa(Box<RsaKeyPair>),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Prints the number of certificates and the kind of key, never the key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificates", &self.chain.len())
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads a chain of certificates and the leaf's key. The certificates are in DER, the leaf
    /// first. The key is PKCS#8 in DER: RSA, P-256, P-384 or Ed25519.
    ///
    /// # Errors
    ///
    /// [`Misuse::Identity`].
    pub fn new(chain: Vec<Vec<u8>>, key_pkcs8: &[u8]) -> Result<Self, Error> {
        Self::read(chain, key_pkcs8).ok_or_else(|| Misuse::Identity.into())
    }

    fn read(chain: Vec<Vec<u8>>, pkcs8: &[u8]) -> Option<Self> {
        let spki = spki(chain.first()?).ok()?;
        let public = PublicKey::read(spki).ok()?;
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, pkcs8).map(Key::Ecdsa);
        let key = match public {
            PublicKey::Rsa { .. } => {
                RsaKeyPair::from_pkcs8(pkcs8).map(|key| Key::Rsa(Box::new(key)))
            }
            PublicKey::P256 => ecdsa(&ECDSA_P256_SHA256_ASN1_SIGNING),
            PublicKey::P384 => ecdsa(&ECDSA_P384_SHA384_ASN1_SIGNING),
            PublicKey::Ed25519 => Ed25519KeyPair::from_pkcs8(pkcs8).map(Key::Ed25519),
        };
        let identity = Self { key: key.ok()?, public, chain };
        // in every kind of key, the public key is the last field
        let spki = self::spki(identity.chain.first()?).ok()?;
        let records = identity.chain.iter().map(|der| der.len() + 5).sum::<usize>();
        let fits = spki.ends_with(identity.key.public()) && records < 1 << 16;
        fits.then_some(identity)
    }

    /// Returns this identity's first scheme in the server's list. `None` is not an error of the
    /// server.
    pub(crate) fn choose(
        &self,
        mut theirs: Reader<'_>,
        tls13: bool,
    ) -> Result<Option<SignatureScheme>, Violation> {
        let mut numbers = Vec::new();
        while !theirs.is_empty() {
            numbers.push(theirs.u16("signature_algorithms")?);
        }
        let fits = |scheme: &SignatureScheme| {
            numbers.contains(&scheme.number()) && (!tls13 || self.public.signs_tls13(*scheme))
        };
        Ok(self.schemes().iter().copied().find(fits))
    }

    const fn schemes(&self) -> &[SignatureScheme] {
        match self.public {
            PublicKey::Rsa { .. } => &SignatureScheme::RSA,
            PublicKey::P256 => &[SignatureScheme::EcdsaSha256],
            PublicKey::P384 => &[SignatureScheme::EcdsaSha384],
            PublicKey::Ed25519 => &[SignatureScheme::Ed25519],
        }
    }

    pub(crate) fn sign(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Vec<u8>, Unavailable> {
        self.key.sign(scheme, message).ok_or(Unavailable::Signature)
    }
}

/// Writes the body of a Certificate message (RFC 5246 §7.4.6, RFC 8446 §4.4.2).
pub(crate) fn write_certificates(out: &mut Vec<u8>, chain: &[Vec<u8>], tls13: bool) {
    if tls13 {
        out.push(0); // no context
    }
    put_vector(out, 3, |out| {
        for der in chain {
            put_vector(out, 3, |out| out.extend_from_slice(der));
            if tls13 {
                out.extend([0, 0]); // no extensions
            }
        }
    });
}

impl Key {
    fn public(&self) -> &[u8] {
        match self {
            Self::Rsa(key) => key.public_key().as_ref(),
            Self::Ecdsa(key) => key.public_key().as_ref(),
            Self::Ed25519(key) => key.public_key().as_ref(),
        }
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
        let rng = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(encoding(scheme)?, &rng, message, &mut signature).ok()?;
                Some(signature)
            }
            Self::Ecdsa(key) => Some(key.sign(&rng, message).ok()?.as_ref().to_vec()),
            Self::Ed25519(key) => Some(key.sign(message).as_ref().to_vec()),
        }
    }
}

const fn encoding(scheme: SignatureScheme) -> Option<&'static dyn RsaEncoding> {
    Some(match scheme {
        SignatureScheme::PssSha256 => &RSA_PSS_SHA256,
        SignatureScheme::PssSha384 => &RSA_PSS_SHA384,
        SignatureScheme::PssSha512 => &RSA_PSS_SHA512,
        SignatureScheme::Pkcs1Sha256 => &RSA_PKCS1_SHA256,
        SignatureScheme::Pkcs1Sha384 => &RSA_PKCS1_SHA384,
        SignatureScheme::Pkcs1Sha512 => &RSA_PKCS1_SHA512,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rogue::certificate::{EC_P256, ED25519, RSA_2048, certificate, ec_p384};
    use crate::wire::Message;

    #[test]
    fn key_and_certificate_must_belong_together() {
        let p384 = ec_p384();
        let pairs = [RSA_2048, EC_P256, &p384, ED25519].map(certificate);
        for (at, (der, _)) in pairs.iter().enumerate() {
            for (of, (_, key)) in pairs.iter().enumerate() {
                let made = Identity::new(vec![der.clone()], key);
                assert_eq!(made.is_ok(), at == of, "{at} {of}");
            }
            let key = &pairs[at].1;
            for chain in [vec![], vec![vec![]], vec![der[1..].to_vec()]] {
                assert_eq!(Identity::new(chain, key).unwrap_err(), Misuse::Identity.into());
            }
            let long = vec![der.clone(); 400];
            assert_eq!(Identity::new(long, key).unwrap_err(), Misuse::Identity.into());
            let other = Identity::new(vec![der.clone()], &certificate(&ec_p384()).1);
            assert_eq!(other.unwrap_err(), Misuse::Identity.into(), "another key");
            let identity = Identity::new(vec![der.clone()], key).unwrap();
            let bytes = format!("{key:?}");
            assert!(!format!("{identity:?}").contains(&bytes[1..20]), "{identity:?}");
        }
    }

    #[test]
    fn the_scheme_fits_server_and_version() {
        let (der, key) = certificate(RSA_2048);
        let identity = Identity::new(vec![der], &key).unwrap();
        let chosen = |bytes: &[u8], tls13| {
            identity.choose(Reader::new(Message::CERTIFICATE_REQUEST, bytes), tls13)
        };
        let pkcs1 = Some(SignatureScheme::Pkcs1Sha256);
        assert_eq!(chosen(&[4, 1, 4, 3], false), Ok(pkcs1));
        assert_eq!(chosen(&[4, 1, 4, 3], true), Ok(None));
        assert_eq!(chosen(&[8, 6, 8, 4], true), Ok(Some(SignatureScheme::PssSha256)));
        assert_eq!(chosen(&[], false), Ok(None));
        assert!(matches!(chosen(&[4], false), Err(Violation::Decode { .. })));
    }
}
