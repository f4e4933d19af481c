//! RSASSA-PKCS1-v1_5 keys with the traits of the crate `signature`.

use core::marker::PhantomData;
use std::sync::Arc;

use signature::Keypair;
use signature::hazmat::{PrehashSigner, PrehashVerifier};

use super::Signature;
use crate::hasher::HashFunction;
use crate::key::{PrivateKey, PublicKey};
use crate::of_thread;

/// A private key that signs by RSASSA-PKCS1-v1_5 with the hash function `D`.
///
/// Clones share the key; each thread keeps a workspace.
pub struct SigningKey<D> {
    key: Arc<PrivateKey>,
    hash: PhantomData<fn() -> D>,
}

/// A public key that verifies RSASSA-PKCS1-v1_5 with the hash function `D`. Clones share it.
pub struct VerifyingKey<D> {
    key: Arc<PublicKey>,
    hash: PhantomData<fn() -> D>,
}

impl<D: HashFunction> SigningKey<D> {
    /// Makes it from a key, or from a shared key in an [`Arc`].
    pub fn new(key: impl Into<Arc<PrivateKey>>) -> Self {
        Self { key: key.into(), hash: PhantomData }
    }
}

impl<D: HashFunction> VerifyingKey<D> {
    /// Makes it from a key, or from a shared key in an [`Arc`].
    pub fn new(key: impl Into<Arc<PublicKey>>) -> Self {
        Self { key: key.into(), hash: PhantomData }
    }
}

impl<D: HashFunction> PrehashSigner<Signature> for SigningKey<D> {
    fn sign_prehash(&self, prehash: &[u8]) -> signature::Result<Signature> {
        Ok(Signature::write(&self.key, |workspace, em| {
            self.key.sign_pkcs1v15_with(workspace, D::HASH, prehash, em)
        })?)
    }
}

impl<D: HashFunction> PrehashVerifier<Signature> for VerifyingKey<D> {
    fn verify_prehash(&self, prehash: &[u8], signature: &Signature) -> signature::Result<()> {
        Ok(of_thread::with(|workspace| {
            self.key.verify_pkcs1v15_with(workspace, D::HASH, prehash, signature.as_ref())
        })?)
    }
}

impl<D: HashFunction> Keypair for SigningKey<D> {
    type VerifyingKey = VerifyingKey<D>;

    fn verifying_key(&self) -> VerifyingKey<D> {
        VerifyingKey::new(self.key.public().clone())
    }
}

crate::encoded::signing_key!();
crate::encoded::verifying_key!();
