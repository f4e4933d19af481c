//! RSASSA-PSS keys with the traits of the crate `signature`.

use core::marker::PhantomData;
use std::sync::Arc;

use signature::Keypair;
use signature::hazmat::{PrehashSigner, PrehashVerifier};

use super::{Pss, Salt, Signature};
use crate::hasher::HashFunction;
use crate::key::{PrivateKey, PublicKey};
use crate::of_thread;

/// A private key that signs by RSASSA-PSS; `D` is the hash function of the message and of MGF1.
///
/// Clones share the key; each thread keeps a workspace. Salts come from the system.
pub struct SigningKey<D> {
    key: Arc<PrivateKey>,
    salt_len: usize,
    hash: PhantomData<fn() -> D>,
}

/// A public key that verifies RSASSA-PSS; `D` is the hash function of the message and of MGF1.
/// Clones share it.
pub struct VerifyingKey<D> {
    key: Arc<PublicKey>,
    salt_len: Option<usize>,
    hash: PhantomData<fn() -> D>,
}

impl<D: HashFunction> SigningKey<D> {
    /// Uses salts with the length of the digest. Takes a key, or a shared key in an [`Arc`].
    pub fn new(key: impl Into<Arc<PrivateKey>>) -> Self {
        Self::new_with_salt_len(key, D::HASH.len())
    }

    /// Uses salts of this many bytes; signing fails if they do not fit the key.
    pub fn new_with_salt_len(key: impl Into<Arc<PrivateKey>>, salt_len: usize) -> Self {
        Self { key: key.into(), salt_len, hash: PhantomData }
    }

    /// Returns the length of the salt in bytes.
    pub fn salt_len(&self) -> usize {
        self.salt_len
    }

    fn pss(&self) -> Pss {
        Pss::new(D::HASH).with_salt(Salt::Exactly(self.salt_len))
    }
}

impl<D: HashFunction> VerifyingKey<D> {
    /// Accepts salts with the length of the digest. Takes a key, or a shared key in an [`Arc`].
    pub fn new(key: impl Into<Arc<PublicKey>>) -> Self {
        Self::new_with_salt_len(key, D::HASH.len())
    }

    /// Accepts salts of this many bytes only.
    pub fn new_with_salt_len(key: impl Into<Arc<PublicKey>>, salt_len: usize) -> Self {
        Self { key: key.into(), salt_len: Some(salt_len), hash: PhantomData }
    }

    /// Accepts salts of any length.
    pub fn new_with_auto_salt_len(key: impl Into<Arc<PublicKey>>) -> Self {
        Self { key: key.into(), salt_len: None, hash: PhantomData }
    }

    /// Returns the length of the salt in bytes; `None` if any length is accepted.
    pub fn salt_len(&self) -> Option<usize> {
        self.salt_len
    }
}

impl<D: HashFunction> PrehashSigner<Signature> for SigningKey<D> {
    fn sign_prehash(&self, prehash: &[u8]) -> signature::Result<Signature> {
        Ok(Signature::write(&self.key, |workspace, em| {
            self.key.sign_pss_with(workspace, self.pss(), prehash, em)
        })?)
    }
}

impl<D: HashFunction> PrehashVerifier<Signature> for VerifyingKey<D> {
    fn verify_prehash(&self, prehash: &[u8], signature: &Signature) -> signature::Result<()> {
        let pss = Pss::new(D::HASH).with_salt(self.salt_len.map_or(Salt::Auto, Salt::Exactly));
        Ok(of_thread::with(|workspace| {
            self.key.verify_pss_with(workspace, pss, prehash, signature.as_ref())
        })?)
    }
}

impl<D: HashFunction> Keypair for SigningKey<D> {
    type VerifyingKey = VerifyingKey<D>;

    fn verifying_key(&self) -> VerifyingKey<D> {
        VerifyingKey::new_with_salt_len(self.key.public().clone(), self.salt_len)
    }
}

crate::encoded::signing_key!(salt_len);
crate::encoded::verifying_key!(salt_len);
