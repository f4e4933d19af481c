//! A key on P-256 for rustls.

use core::fmt;
use std::sync::Arc;

use rustls::crypto::GetRandomFailed;
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::{Error, SignatureAlgorithm, SignatureScheme, sign};
use tollgate_curves::p256::{Nonce, P256, POINT_BYTES, PublicKey, SecretKey};
use tollgate_rsa::Hash;
use tollgate_rsa::pkcs8::der::asn1::{
    BitStringRef, ContextSpecific, ObjectIdentifier, OctetStringRef, UintRef,
};
use tollgate_rsa::pkcs8::der::{self, Decode as _, Encode as _, Reader as _, TagNumber};
use tollgate_rsa::pkcs8::{PrivateKeyInfoRef, spki};
use zeroize::Zeroizing;

use crate::key_exchange::no_kernels;

/// A key on P-256 that signs with ECDSA on the engine's kernels. Each handshake signs alone, in its
/// own thread.
pub struct EcdsaKey {
    curve: P256,
    secret: Arc<SecretKey>,
    public: PublicKey,
    public_der: Vec<u8>,
}

/// The scheme of these keys (RFC 8446, section 4.2.3).
const SCHEME: SignatureScheme = SignatureScheme::ECDSA_NISTP256_SHA256;

/// `id-ecPublicKey` and `secp256r1` (RFC 5480, section 2.1.1).
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const SECP256R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");

/// A `SubjectPublicKeyInfo` of P-256 up to its uncompressed point.
const SPKI_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, // id-ecPublicKey
    6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7, // secp256r1
    3, 0x42, 0, // a bit string of the point
];

impl EcdsaKey {
    /// Makes a signing key.
    ///
    /// # Errors
    ///
    /// `General`: this processor has no kernels of P-256.
    pub fn new(secret: SecretKey) -> Result<Self, Error> {
        let curve = P256::best().map_err(no_kernels)?;
        let public = curve.public_key(&secret);
        let public_der = [&SPKI_HEAD[..], &public.to_bytes()].concat();
        Ok(Self { curve, secret: Arc::new(secret), public, public_der })
    }

    /// Reads a key in the format PKCS#8 or SEC 1.
    ///
    /// # Errors
    ///
    /// `General`: the key is not on P-256, or is invalid, or this processor has no kernels of
    /// P-256.
    pub fn from_der(der: &PrivateKeyDer<'_>) -> Result<Self, Error> {
        P256::best().map_err(no_kernels)?;
        read(der).ok_or_else(|| {
            Error::General("not a key on P-256: load it with rustls's own provider".to_owned())
        })
    }
}

/// Reads a key; returns `None` if it is not a valid key on P-256.
pub(crate) fn read(der: &PrivateKeyDer<'_>) -> Option<EcdsaKey> {
    let (private, curve) = match der {
        PrivateKeyDer::Pkcs8(der) => {
            let info = PrivateKeyInfoRef::from_der(der.secret_pkcs8_der()).ok()?;
            (info.private_key.as_bytes(), curve(&info.algorithm))
        }
        PrivateKeyDer::Sec1(der) => (der.secret_sec1_der(), None),
        _ => return None,
    };
    let parts = EcPrivateKey::from_der(private).ok()?;
    // one of them names the curve, and they do not contradict each other
    if [curve, parts.curve].iter().flatten().any(|&curve| curve != SECP256R1)
        || curve.or(parts.curve).is_none()
    {
        return None;
    }
    let secret = SecretKey::from_bytes(parts.number.try_into().ok()?).ok()?;
    let key = EcdsaKey::new(secret).ok()?;
    let is_ours = |point: &[u8]| PublicKey::from_bytes(point).is_ok_and(|p| p == key.public);
    parts.point.is_none_or(is_ours).then_some(key)
}

/// Returns the curve that an algorithm names. Returns another curve's name for other algorithms.
fn curve(algorithm: &spki::AlgorithmIdentifierRef<'_>) -> Option<ObjectIdentifier> {
    let parameters = algorithm.parameters_oid().unwrap_or(EC);
    Some(if algorithm.oid == EC { parameters } else { algorithm.oid })
}

/// `ECPrivateKey` (RFC 5915, section 3).
struct EcPrivateKey<'a> {
    number: &'a [u8],
    curve: Option<ObjectIdentifier>,
    point: Option<&'a [u8]>,
}

impl<'a> EcPrivateKey<'a> {
    fn from_der(bytes: &'a [u8]) -> der::Result<Self> {
        let mut reader = der::SliceReader::new(bytes)?;
        let key = reader.sequence(|reader| -> der::Result<_> {
            let version = u8::decode(reader)?;
            if version != 1 {
                return Err(der::Tag::Integer.value_error().into());
            }
            let number = <&OctetStringRef>::decode(reader)?.as_bytes();
            let curve = ContextSpecific::<ObjectIdentifier>::decode_explicit(reader, TagNumber(0))?;
            let point = ContextSpecific::<BitStringRef<'_>>::decode_explicit(reader, TagNumber(1))?;
            let curve = curve.map(|field| field.value);
            Ok(Self { number, curve, point: point.and_then(|field| field.value.as_bytes()) })
        })?;
        reader.finish()?;
        Ok(key)
    }
}

impl fmt::Debug for EcdsaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EcdsaKey(..)")
    }
}

impl sign::SigningKey for EcdsaKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn sign::Signer>> {
        let signer = || Signer { curve: self.curve, secret: Arc::clone(&self.secret) };
        offered.contains(&SCHEME).then(|| Box::new(signer()) as _)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(SubjectPublicKeyInfoDer::from(self.public_der.as_slice()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

/// The key of one handshake.
struct Signer {
    curve: P256,
    secret: Arc<SecretKey>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EcdsaSigner(..)")
    }
}

impl sign::Signer for Signer {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut random = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *random).map_err(|_| GetRandomFailed)?;
        let digest = Hash::Sha256.digest(message);
        let signature = self.curve.sign(&self.secret, digest.as_ref(), Nonce::Hedged(&random));
        let signature = signature.map_err(|fault| Error::General(fault.to_string()))?.to_bytes();
        let (r, s) = signature.split_at(signature.len() / 2);
        // `Ecdsa-Sig-Value` (RFC 3279, section 2.2.3)
        let der = || [UintRef::new(r)?, UintRef::new(s)?].to_der();
        Ok(der().expect("two numbers of 32 bytes"))
    }

    fn scheme(&self) -> SignatureScheme {
        SCHEME
    }
}

const _: () = assert!(SPKI_HEAD[1] as usize == SPKI_HEAD.len() - 2 + POINT_BYTES);
