//! RSASSA-PSS keys with the traits of the crate `signature`.

use core::marker::PhantomData;
use std::sync::Arc;

use signature::Keypair;
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::rand_core::TryCryptoRng;

use super::{Salt, Signature, encode};
use crate::error::{MODULUS_BYTES_MAX, Unavailable};
use crate::hasher::HashFunction;
use crate::key::{PrivateKey, PublicKey};
use crate::pooled_key::PooledKey;

/// A private key that signs by RSASSA-PSS; `D` is the hash function of the message and of MGF1.
///
/// Clones share the key and a pool of workspaces. The pool grows to the number of concurrent
/// operations. Salts come from the system, or from the `rng` of the traits that have one. Blinding
/// always uses the system's random numbers.
pub struct SigningKey<D> {
    inner: PooledKey<PrivateKey>,
    salt_len: usize,
    hash: PhantomData<fn() -> D>,
}

/// A public key that verifies RSASSA-PSS; `D` is the hash function of the message and of MGF1.
/// Clones share it.
pub struct VerifyingKey<D> {
    inner: PooledKey<PublicKey>,
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
        Self { inner: PooledKey::new(key.into()), salt_len, hash: PhantomData }
    }

    /// Returns the length of the salt in bytes.
    pub fn salt_len(&self) -> usize {
        self.salt_len
    }
}

impl<D: HashFunction> VerifyingKey<D> {
    /// Accepts salts with the length of the digest. Takes a key, or a shared key in an [`Arc`].
    pub fn new(key: impl Into<Arc<PublicKey>>) -> Self {
        Self::new_with_salt_len(key, D::HASH.len())
    }

    /// Accepts salts of this many bytes only.
    pub fn new_with_salt_len(key: impl Into<Arc<PublicKey>>, salt_len: usize) -> Self {
        Self { inner: PooledKey::new(key.into()), salt_len: Some(salt_len), hash: PhantomData }
    }

    /// Accepts salts of any length.
    pub fn new_with_auto_salt_len(key: impl Into<Arc<PublicKey>>) -> Self {
        Self { inner: PooledKey::new(key.into()), salt_len: None, hash: PhantomData }
    }

    /// Returns the length of the salt in bytes; `None` if any length is accepted.
    pub fn salt_len(&self) -> Option<usize> {
        self.salt_len
    }
}

impl<D: HashFunction> PrehashSigner<Signature> for SigningKey<D> {
    fn sign_prehash(&self, prehash: &[u8]) -> signature::Result<Signature> {
        let salt = Salt::Exactly(self.salt_len);
        Ok(self.inner.with(|key, workspace| {
            Signature::write(key, |em| key.sign_pss(workspace, D::HASH, D::HASH, salt, prehash, em))
        })?)
    }
}

impl<D: HashFunction> RandomizedPrehashSigner<Signature> for SigningKey<D> {
    fn sign_prehash_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        prehash: &[u8],
    ) -> signature::Result<Signature> {
        D::HASH.check_to_sign()?;
        let mut buffer = [0; MODULUS_BYTES_MAX];
        let bits = self.inner.key().bits();
        let len = Salt::Exactly(self.salt_len).len_to_sign(bits, D::HASH)?;
        let salt = &mut buffer[..len]; // the buffer is shorter than the modulus
        rng.try_fill_bytes(salt).map_err(|_| crate::Error::from(Unavailable::CallerRandom))?;
        Ok(self.inner.with(|key, workspace| {
            Signature::write(key, |em| {
                encode(em, bits, D::HASH, D::HASH, salt, prehash)?;
                key.private(workspace, em)
            })
        })?)
    }
}

impl<D: HashFunction> PrehashVerifier<Signature> for VerifyingKey<D> {
    fn verify_prehash(&self, prehash: &[u8], signature: &Signature) -> signature::Result<()> {
        let salt = self.salt_len.map_or(Salt::Auto, Salt::Exactly);
        Ok(self.inner.with(|key, workspace| {
            key.verify_pss(workspace, D::HASH, D::HASH, salt, prehash, signature.as_ref())
        })?)
    }
}

impl<D: HashFunction> Keypair for SigningKey<D> {
    type VerifyingKey = VerifyingKey<D>;

    fn verifying_key(&self) -> VerifyingKey<D> {
        VerifyingKey::new_with_salt_len(self.inner.key().public().clone(), self.salt_len)
    }
}

crate::encoded::signing_key!(salt_len);
crate::encoded::verifying_key!(salt_len);
