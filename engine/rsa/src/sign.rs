//! Signatures: a padding and an operation (RFC 8017 §8).

use tollgate_mont::LANES;

use crate::error::{Error, MODULUS_BYTES_MAX, Rejected};
use crate::hash::Hash;
use crate::key::{PrivateKey, PublicKey};
use crate::operations::{private_batch, public_batch};
use crate::pss::Salt;
use crate::request::{PrivateRequest, PublicRequest};
use crate::workspace::Workspace;
use crate::{pkcs1v15, pss};

impl PrivateKey {
    /// Signs a message's digest by RSASSA-PKCS1-v1_5 (RFC 8017 §8.2.1) into `signature` of
    /// [`size`](Self::size) bytes.
    ///
    /// # Errors
    ///
    /// [`Rejected::HashBroken`] for a hash function without collision resistance, such as SHA-1;
    /// [`Rejected::DigestLength`], [`Rejected::ModulusSmall`],
    /// [`Misuse::BufferLength`](crate::Misuse::BufferLength), and those of
    /// [`private`](Self::private).
    pub fn sign_pkcs1v15(
        &self,
        workspace: &mut Workspace,
        hash: Hash,
        digest: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Error> {
        self.encode_pkcs1v15(hash, digest, signature)?;
        self.private(workspace, signature)
    }

    /// Encodes a digest if signatures with its hash function cannot be forged.
    fn encode_pkcs1v15(&self, hash: Hash, digest: &[u8], em: &mut [u8]) -> Result<(), Error> {
        hash.check_to_sign()?;
        self.public.check_length(em)?;
        pkcs1v15::encode(em, hash, digest)
    }

    /// Like [`sign_pkcs1v15`](Self::sign_pkcs1v15), over a T that the caller has built instead of a
    /// `DigestInfo`: see [`pkcs1v15::encode_raw`].
    ///
    /// # Errors
    ///
    /// As [`sign_pkcs1v15`](Self::sign_pkcs1v15).
    pub fn sign_pkcs1v15_raw(
        &self,
        workspace: &mut Workspace,
        t: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Error> {
        self.public.check_length(signature)?;
        pkcs1v15::encode_raw(signature, t)?;
        self.private(workspace, signature)
    }

    /// Signs a message's digest by RSASSA-PSS (RFC 8017 §8.1.1) with a random salt into `signature`
    /// of [`size`](Self::size) bytes.
    ///
    /// # Errors
    ///
    /// [`Misuse::SaltAuto`](crate::Misuse::SaltAuto), and those of
    /// [`sign_pkcs1v15`](Self::sign_pkcs1v15).
    pub fn sign_pss(
        &self,
        workspace: &mut Workspace,
        hash: Hash,
        mgf_hash: Hash,
        salt: Salt,
        digest: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Error> {
        hash.check_to_sign()?;
        self.public.check_length(signature)?;
        pss::encode_random(signature, self.bits(), hash, mgf_hash, salt, digest)?;
        self.private(workspace, signature)
    }
}

impl PublicKey {
    /// Verifies an RSASSA-PKCS1-v1_5 signature (RFC 8017 §8.2.2) of a message's digest.
    ///
    /// # Errors
    ///
    /// [`Rejected::SignatureInvalid`] for any invalid signature;
    /// [`Rejected::DigestLength`].
    pub fn verify_pkcs1v15(
        &self,
        workspace: &mut Workspace,
        hash: Hash,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        hash.check(digest)?;
        let mut em = [0; MODULUS_BYTES_MAX];
        let em = self.recover(workspace, signature, &mut em)?;
        Rejected::unless_valid(pkcs1v15::matches(em, hash, digest))
    }

    /// Like [`verify_pkcs1v15`](Self::verify_pkcs1v15), over a T that the caller has built instead
    /// of a `DigestInfo`: see [`pkcs1v15::encode_raw`].
    ///
    /// # Errors
    ///
    /// [`Rejected::SignatureInvalid`] for any invalid signature.
    pub fn verify_pkcs1v15_raw(
        &self,
        workspace: &mut Workspace,
        t: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let mut em = [0; MODULUS_BYTES_MAX];
        let em = self.recover(workspace, signature, &mut em)?;
        Rejected::unless_valid(pkcs1v15::matches_raw(em, t))
    }

    /// Verifies an RSASSA-PSS signature (RFC 8017 §8.1.2) of a message's digest.
    ///
    /// # Errors
    ///
    /// As [`verify_pkcs1v15`](Self::verify_pkcs1v15).
    pub fn verify_pss(
        &self,
        workspace: &mut Workspace,
        hash: Hash,
        mgf_hash: Hash,
        salt: Salt,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        hash.check(digest)?;
        let mut em = [0; MODULUS_BYTES_MAX];
        let em = self.recover(workspace, signature, &mut em)?;
        pss::verify(em, self.bits(), hash, mgf_hash, salt, digest)
    }

    /// Recovers the encoded message of a signature.
    fn recover<'a>(
        &self,
        workspace: &mut Workspace,
        signature: &[u8],
        em: &'a mut [u8; MODULUS_BYTES_MAX],
    ) -> Result<&'a [u8], Error> {
        if signature.len() != self.size() {
            return Err(Rejected::SignatureInvalid.into());
        }
        let em = &mut em[..signature.len()];
        em.copy_from_slice(signature);
        self.public(workspace, em).map_err(|_| Rejected::SignatureInvalid)?;
        Ok(em)
    }
}

/// Signs many digests by RSASSA-PKCS1-v1_5: request i signs digest i into its buffer.
///
/// # Panics
///
/// If the numbers of digests and requests differ.
pub fn sign_pkcs1v15_batch(
    workspace: &mut Workspace,
    hash: Hash,
    digests: &[&[u8]],
    requests: &mut [PrivateRequest<'_>],
) {
    assert!(digests.len() == requests.len(), "each request signs one digest");
    for (request, digest) in requests.iter_mut().zip(digests) {
        let encoded = request.key.encode_pkcs1v15(hash, digest, request.buffer);
        request.outcome = encoded.err().map(Err);
    }
    private_batch(workspace, requests);
}

/// A signature to verify in a batch.
#[derive(Debug)]
pub struct VerifyRequest<'a> {
    key: &'a PublicKey,
    hash: Hash,
    digest: &'a [u8],
    signature: &'a [u8],
    outcome: Option<Result<(), Error>>,
}

impl<'a> VerifyRequest<'a> {
    /// Creates a request to sign a message's digest.
    pub fn new(key: &'a PublicKey, hash: Hash, digest: &'a [u8], signature: &'a [u8]) -> Self {
        Self { key, hash, digest, signature, outcome: None }
    }

    /// Returns the result of [`PublicKey::verify_pkcs1v15`].
    ///
    /// # Errors
    ///
    /// As [`PublicKey::verify_pkcs1v15`].
    ///
    /// # Panics
    ///
    /// If the request has not been in a batch.
    pub fn outcome(&self) -> Result<(), Error> {
        self.outcome.clone().expect("a request has an outcome after its batch")
    }
}

/// Verifies many RSASSA-PKCS1-v1_5 signatures of any keys.
pub fn verify_pkcs1v15_batch(workspace: &mut Workspace, requests: &mut [VerifyRequest<'_>]) {
    for chunk in requests.chunks_mut(LANES) {
        let mut em = [[0; MODULUS_BYTES_MAX]; LANES];
        for (request, em) in chunk.iter_mut().zip(&mut em) {
            request.outcome = request.hash.check(request.digest).err().map(Err);
            if request.signature.len() == request.key.size() {
                em[..request.signature.len()].copy_from_slice(request.signature);
            } else if request.outcome.is_none() {
                request.outcome = Some(Err(Rejected::SignatureInvalid.into()));
            }
        }
        // unused lanes get the last key; their results are not used
        let mut keys = chunk.iter().map(|request| request.key);
        let mut key = chunk[0].key;
        let mut public = em.each_mut().map(|em| {
            key = keys.next().unwrap_or(key);
            PublicRequest::new(key, &mut em[..key.size()])
        });
        public_batch(workspace, &mut public[..chunk.len()]);
        for (request, public) in chunk.iter_mut().zip(&mut public) {
            let valid = public.outcome().is_ok()
                && pkcs1v15::matches(public.buffer(), request.hash, request.digest);
            request.outcome.get_or_insert(Rejected::unless_valid(valid));
        }
    }
}
