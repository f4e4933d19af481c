//! RSASSA-PKCS1-v1_5 keys with the traits of the crate `signature`.

use core::marker::PhantomData;
use std::sync::Arc;

use signature::Keypair;
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::rand_core::TryCryptoRng;

use super::Signature;
use crate::hasher::HashFunction;
use crate::key::{PrivateKey, PublicKey};
use crate::pooled_key::PooledKey;

/// A private key that signs by RSASSA-PKCS1-v1_5 with the hash function `D`.
///
/// Clones share the key and a pool of workspaces. The pool grows to the number of concurrent
/// operations. Traits with an `rng` do not use it: the padding is deterministic, and blinding uses
/// the system's random numbers.
pub struct SigningKey<D> {
    inner: PooledKey<PrivateKey>,
    hash: PhantomData<fn() -> D>,
}

/// A public key that verifies RSASSA-PKCS1-v1_5 with the hash function `D`. Clones share it.
pub struct VerifyingKey<D> {
    inner: PooledKey<PublicKey>,
    hash: PhantomData<fn() -> D>,
}

impl<D: HashFunction> SigningKey<D> {
    /// Makes it from a key, or from a shared key in an [`Arc`].
    pub fn new(key: impl Into<Arc<PrivateKey>>) -> Self {
        Self { inner: PooledKey::new(key.into()), hash: PhantomData }
    }
}

impl<D: HashFunction> VerifyingKey<D> {
    /// Makes it from a key, or from a shared key in an [`Arc`].
    pub fn new(key: impl Into<Arc<PublicKey>>) -> Self {
        Self { inner: PooledKey::new(key.into()), hash: PhantomData }
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
