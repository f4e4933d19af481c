//! RSASSA-PKCS1-v1_5 behind the traits of the crate `signature`.

use core::marker::PhantomData;
use std::sync::Arc;

use signature::hazmat::{PrehashSigner, PrehashVerifier};
use signature::rand_core::TryCryptoRng;
use signature::{
    DigestSigner, DigestVerifier, Keypair, MultipartSigner, RandomizedDigestSigner,
    RandomizedMultipartSigner, RandomizedSigner, Signer, Verifier,
};

use super::Signature;
use crate::hash_function::{HashFunction, digest};
use crate::idle::Attended;
use crate::key::{PrivateKey, PublicKey};

/// A private key that signs by RSASSA-PKCS1-v1_5 with the hash function `D`.
///
/// It can be cloned and shared between threads: clones share the key, and workspaces, of which it
/// keeps as many as operations ran at once. Traits with `rng` draw nothing from it: the padding is
/// deterministic, and blinding takes the system's random numbers.
pub struct SigningKey<D> {
    inner: Attended<PrivateKey>,
    hash: PhantomData<fn() -> D>,
}

/// A public key that verifies RSASSA-PKCS1-v1_5 with the hash function `D`. Clones share it.
pub struct VerifyingKey<D> {
    inner: Attended<PublicKey>,
    hash: PhantomData<fn() -> D>,
}

impl<D: HashFunction> SigningKey<D> {
    /// Of a key, or of one in an [`Arc`] that is used elsewhere too.
    pub fn new(key: impl Into<Arc<PrivateKey>>) -> Self {
        Self { inner: Attended::new(key.into()), hash: PhantomData }
    }
}

impl<D: HashFunction> VerifyingKey<D> {
    /// Of a key, or of one in an [`Arc`] that is used elsewhere too.
    pub fn new(key: impl Into<Arc<PublicKey>>) -> Self {
        Self { inner: Attended::new(key.into()), hash: PhantomData }
    }
}

impl<D: HashFunction> PrehashSigner<Signature> for SigningKey<D> {
    fn sign_prehash(&self, prehash: &[u8]) -> signature::Result<Signature> {
        Ok(self.inner.with(|key, workspace| {
            Signature::write(key, |em| key.sign_pkcs1v15(workspace, D::HASH, prehash, em))
        })?)
    }
}

impl<D: HashFunction> PrehashVerifier<Signature> for VerifyingKey<D> {
    fn verify_prehash(&self, prehash: &[u8], signature: &Signature) -> signature::Result<()> {
        Ok(self.inner.with(|key, workspace| {
            key.verify_pkcs1v15(workspace, D::HASH, prehash, signature.as_ref())
        })?)
    }
}

impl<D: HashFunction> DigestSigner<D, Signature> for SigningKey<D> {
    fn try_sign_digest<F: Fn(&mut D) -> signature::Result<()>>(
        &self,
        f: F,
    ) -> signature::Result<Signature> {
        self.sign_prehash(&digest(f)?)
    }
}

impl<D: HashFunction> MultipartSigner<Signature> for SigningKey<D> {
    fn try_multipart_sign(&self, msg: &[&[u8]]) -> signature::Result<Signature> {
        self.try_sign_digest(|state| {
            msg.iter().for_each(|part| state.update(part));
            Ok(())
        })
    }
}

impl<D: HashFunction> Signer<Signature> for SigningKey<D> {
    fn try_sign(&self, msg: &[u8]) -> signature::Result<Signature> {
        self.try_multipart_sign(&[msg])
    }
}

impl<D: HashFunction> RandomizedDigestSigner<D, Signature> for SigningKey<D> {
    fn try_sign_digest_with_rng<R, F>(&self, _: &mut R, f: F) -> signature::Result<Signature>
    where
        R: TryCryptoRng + ?Sized,
        F: Fn(&mut D) -> signature::Result<()>,
    {
        self.try_sign_digest(f)
    }
}

impl<D: HashFunction> RandomizedMultipartSigner<Signature> for SigningKey<D> {
    fn try_multipart_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        _: &mut R,
        msg: &[&[u8]],
    ) -> signature::Result<Signature> {
        self.try_multipart_sign(msg)
    }
}

impl<D: HashFunction> RandomizedSigner<Signature> for SigningKey<D> {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        _: &mut R,
        msg: &[u8],
    ) -> signature::Result<Signature> {
        self.try_sign(msg)
    }
}

impl<D: HashFunction> DigestVerifier<D, Signature> for VerifyingKey<D> {
    fn verify_digest<F: Fn(&mut D) -> signature::Result<()>>(
        &self,
        f: F,
        signature: &Signature,
    ) -> signature::Result<()> {
        self.verify_prehash(&digest(f)?, signature)
    }
}

impl<D: HashFunction> Verifier<Signature> for VerifyingKey<D> {
    fn verify(&self, msg: &[u8], signature: &Signature) -> signature::Result<()> {
        self.verify_prehash(D::HASH.digest(msg).as_ref(), signature)
    }
}

impl<D: HashFunction> Keypair for SigningKey<D> {
    type VerifyingKey = VerifyingKey<D>;

    fn verifying_key(&self) -> VerifyingKey<D> {
        VerifyingKey::new(self.inner.key().public().clone())
    }
}

impl<D: HashFunction> From<PrivateKey> for SigningKey<D> {
    fn from(key: PrivateKey) -> Self {
        Self::new(key)
    }
}

impl<D: HashFunction> From<PublicKey> for VerifyingKey<D> {
    fn from(key: PublicKey) -> Self {
        Self::new(key)
    }
}

crate::encoded::key_traits!(SigningKey, PrivateKey);
crate::encoded::key_traits!(VerifyingKey, PublicKey);
crate::encoded::private_formats!(SigningKey);
crate::encoded::public_formats!(VerifyingKey);
