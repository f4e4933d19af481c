//! RSASSA-PKCS1-v1_5 behind the traits of the crate `signature`.

use core::marker::PhantomData;
use std::sync::Arc;

use signature::Keypair;
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::rand_core::TryCryptoRng;

use super::Signature;
use crate::hash_function::HashFunction;
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

impl<D: HashFunction> RandomizedPrehashSigner<Signature> for SigningKey<D> {
    fn sign_prehash_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        _: &mut R,
        prehash: &[u8],
    ) -> signature::Result<Signature> {
        self.sign_prehash(prehash)
    }
}

impl<D: HashFunction> PrehashVerifier<Signature> for VerifyingKey<D> {
    fn verify_prehash(&self, prehash: &[u8], signature: &Signature) -> signature::Result<()> {
        Ok(self.inner.with(|key, workspace| {
            key.verify_pkcs1v15(workspace, D::HASH, prehash, signature.as_ref())
        })?)
    }
}

impl<D: HashFunction> Keypair for SigningKey<D> {
    type VerifyingKey = VerifyingKey<D>;

    fn verifying_key(&self) -> VerifyingKey<D> {
        VerifyingKey::new(self.inner.key().public().clone())
    }
}

crate::encoded::signing_key!();
crate::encoded::verifying_key!();
