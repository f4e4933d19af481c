//! RSASSA-PSS behind the traits of the crate `signature`.

use core::marker::PhantomData;
use std::sync::Arc;

use signature::Keypair;
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::rand_core::TryCryptoRng;

use super::{Salt, Signature, encode};
use crate::error::{MODULUS_BYTES_MAX, Unavailable};
use crate::hash_function::HashFunction;
use crate::idle::Attended;
use crate::key::{PrivateKey, PublicKey};

/// A private key that signs by RSASSA-PSS; `D` hashes the message and makes the mask.
///
/// It can be cloned and shared between threads: clones share the key, and workspaces, of which it
/// keeps as many as operations ran at once. Salts come from the system, or from the `rng` of the
/// traits that have one; blinding takes the system's random numbers in any case.
pub struct SigningKey<D> {
    inner: Attended<PrivateKey>,
    salt_len: usize,
    hash: PhantomData<fn() -> D>,
}

/// A public key that verifies RSASSA-PSS; `D` hashes the message and makes the mask. Clones share
/// it.
pub struct VerifyingKey<D> {
    inner: Attended<PublicKey>,
    salt_len: Option<usize>,
    hash: PhantomData<fn() -> D>,
}

impl<D: HashFunction> SigningKey<D> {
    /// With salts as long as the digest. Of a key, or of one in an [`Arc`] that is used elsewhere
    /// too.
    pub fn new(key: impl Into<Arc<PrivateKey>>) -> Self {
        Self::new_with_salt_len(key, D::HASH.len())
    }

    /// With salts of so many bytes; where they do not fit the key, signing fails.
    pub fn new_with_salt_len(key: impl Into<Arc<PrivateKey>>, salt_len: usize) -> Self {
        Self { inner: Attended::new(key.into()), salt_len, hash: PhantomData }
    }

    /// Bytes of a salt.
    pub fn salt_len(&self) -> usize {
        self.salt_len
    }
}

impl<D: HashFunction> VerifyingKey<D> {
    /// For salts as long as the digest. Of a key, or of one in an [`Arc`] that is used elsewhere
    /// too.
    pub fn new(key: impl Into<Arc<PublicKey>>) -> Self {
        Self::new_with_salt_len(key, D::HASH.len())
    }

    /// For salts of so many bytes and no others.
    pub fn new_with_salt_len(key: impl Into<Arc<PublicKey>>, salt_len: usize) -> Self {
        Self { inner: Attended::new(key.into()), salt_len: Some(salt_len), hash: PhantomData }
    }

    /// For salts of any length.
    pub fn new_with_auto_salt_len(key: impl Into<Arc<PublicKey>>) -> Self {
        Self { inner: Attended::new(key.into()), salt_len: None, hash: PhantomData }
    }

    /// Bytes of a salt, unless any number will do.
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
        let salt = &mut buffer[..len]; // shorter than the modulus
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
