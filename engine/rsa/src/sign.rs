//! Signatures: a padding and an operation (RFC 8017 §8).

use tollgate_mont::LANES;

use crate::error::{Error, MODULUS_BYTES_MAX, Rejected};
use crate::hash::Hash;
use crate::key::{PrivateKey, PublicKey};
use crate::of_thread;
use crate::operations::public_batch;
use crate::pkcs1v15;
use crate::pss::{self, Pss};
use crate::request::{PrivateRequest, PublicRequest};
use crate::workspace::Workspace;

impl PrivateKey {
    /// Signs a message by RSASSA-PKCS1-v1_5 (RFC 8017 §8.2.1).
    ///
    /// # Errors
    ///
    /// As [`sign_pkcs1v15_with`](Self::sign_pkcs1v15_with).
    pub fn sign_pkcs1v15(&self, hash: Hash, message: &[u8]) -> Result<Vec<u8>, Error> {
        let digest = hash.digest(message);
        self.public.fill(|workspace, signature| {
            self.sign_pkcs1v15_with(workspace, hash, digest.as_ref(), signature)
        })
    }

    /// Signs a message by RSASSA-PSS (RFC 8017 §8.1.1) with a random salt.
    ///
    /// # Errors
    ///
    /// As [`sign_pss_with`](Self::sign_pss_with).
    pub fn sign_pss(&self, pss: Pss, message: &[u8]) -> Result<Vec<u8>, Error> {
        let digest = pss.hash().digest(message);
        self.public.fill(|workspace, signature| {
            self.sign_pss_with(workspace, pss, digest.as_ref(), signature)
        })
    }

    /// Like [`sign_pkcs1v15`](Self::sign_pkcs1v15), with this workspace, on the digest of a
    /// message, into `signature` of [`size`](Self::size) bytes.
    ///
    /// # Errors
    ///
    /// [`Rejected::HashBroken`] for a hash function without collision resistance, such as SHA-1;
    /// [`Rejected::DigestLength`], [`Rejected::ModulusSmall`],
    /// [`Misuse::BufferLength`](crate::Misuse::BufferLength), and those of
    /// [`private`](Self::private).
    pub fn sign_pkcs1v15_with(
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

    /// Like [`sign_pss`](Self::sign_pss), with this workspace, on the digest of a message, into
    /// `signature` of [`size`](Self::size) bytes.
    ///
    /// # Errors
    ///
    /// [`Misuse::SaltAuto`](crate::Misuse::SaltAuto), and those of
    /// [`sign_pkcs1v15_with`](Self::sign_pkcs1v15_with).
    pub fn sign_pss_with(
        &self,
        workspace: &mut Workspace,
        pss: Pss,
        digest: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Error> {
        self.encode_pss(pss, digest, signature)?;
        self.private(workspace, signature)
    }

    fn encode_pss(&self, pss: Pss, digest: &[u8], em: &mut [u8]) -> Result<(), Error> {
        pss.hash().check_to_sign()?;
        self.public.check_length(em)?;
        pss::encode_random(em, self.bits(), pss, digest)
    }
}

impl PublicKey {
    /// Verifies an RSASSA-PKCS1-v1_5 signature (RFC 8017 §8.2.2) of a message.
    ///
    /// # Errors
    ///
    /// [`Rejected::SignatureInvalid`] for any invalid signature.
    pub fn verify_pkcs1v15(
        &self,
        hash: Hash,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let digest = hash.digest(message);
        of_thread::with(|workspace| {
            self.verify_pkcs1v15_with(workspace, hash, digest.as_ref(), signature)
        })
    }

    /// Verifies an RSASSA-PSS signature (RFC 8017 §8.1.2) of a message.
    ///
    /// # Errors
    ///
    /// [`Rejected::SignatureInvalid`] for any invalid signature.
    pub fn verify_pss(&self, pss: Pss, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let digest = pss.hash().digest(message);
        of_thread::with(|workspace| {
            self.verify_pss_with(workspace, pss, digest.as_ref(), signature)
        })
    }

    /// Like [`verify_pkcs1v15`](Self::verify_pkcs1v15), with this workspace, for the digest of a
    /// message.
    ///
    /// # Errors
    ///
    /// [`Rejected::SignatureInvalid`] for any invalid signature;
    /// [`Rejected::DigestLength`].
    pub fn verify_pkcs1v15_with(
        &self,
        workspace: &mut Workspace,
        hash: Hash,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        self.verify(workspace, Padding::Pkcs1v15(hash), digest, signature)
    }

    /// Like [`verify_pss`](Self::verify_pss), with this workspace, for the digest of a message.
    ///
    /// # Errors
    ///
    /// As [`verify_pkcs1v15_with`](Self::verify_pkcs1v15_with).
    pub fn verify_pss_with(
        &self,
        workspace: &mut Workspace,
        pss: Pss,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        self.verify(workspace, Padding::Pss(pss), digest, signature)
    }

    fn verify(
        &self,
        workspace: &mut Workspace,
        padding: Padding,
        digest: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        padding.hash().check(digest)?;
        if signature.len() != self.size() {
            return Err(Rejected::SignatureInvalid.into());
        }
        let mut em = [0; MODULUS_BYTES_MAX];
        let em = &mut em[..signature.len()];
        em.copy_from_slice(signature);
        self.public(workspace, em).map_err(|_| Rejected::SignatureInvalid)?;
        Rejected::unless_valid(padding.matches(em, self.bits(), digest))
    }
}

impl<'a> PrivateRequest<'a> {
    /// Creates a request to sign a message's digest as [`PrivateKey::sign_pkcs1v15_with`] does,
    /// into `signature`. If that refuses the digest, the request already has this outcome.
    pub fn sign_pkcs1v15(
        key: &'a PrivateKey,
        hash: Hash,
        digest: &[u8],
        signature: &'a mut [u8],
    ) -> Self {
        let refused = key.encode_pkcs1v15(hash, digest, signature).err();
        Self { key, buffer: signature, outcome: refused.map(Err) }
    }

    /// Creates a request to sign a message's digest as [`PrivateKey::sign_pss_with`] does, into
    /// `signature`. If that refuses the digest, the request already has this outcome.
    pub fn sign_pss(key: &'a PrivateKey, pss: Pss, digest: &[u8], signature: &'a mut [u8]) -> Self {
        let refused = key.encode_pss(pss, digest, signature).err();
        Self { key, buffer: signature, outcome: refused.map(Err) }
    }
}

/// A signature to verify in a batch.
#[derive(Debug)]
pub struct VerifyRequest<'a> {
    key: &'a PublicKey,
    padding: Padding,
    digest: &'a [u8],
    signature: &'a [u8],
    outcome: Option<Result<(), Error>>,
}

/// The padding of a signature, with its hash function.
#[derive(Clone, Copy, Debug)]
enum Padding {
    Pkcs1v15(Hash),
    Pss(Pss),
}

impl Padding {
    fn hash(self) -> Hash {
        match self {
            Self::Pkcs1v15(hash) => hash,
            Self::Pss(pss) => pss.hash(),
        }
    }

    fn matches(self, em: &[u8], bits: usize, digest: &[u8]) -> bool {
        match self {
            Self::Pkcs1v15(hash) => pkcs1v15::matches(em, hash, digest),
            Self::Pss(pss) => pss::verify(em, bits, pss, digest).is_ok(),
        }
    }
}

impl<'a> VerifyRequest<'a> {
    /// Creates a request to verify an RSASSA-PKCS1-v1_5 signature of a message's digest.
    pub fn pkcs1v15(key: &'a PublicKey, hash: Hash, digest: &'a [u8], signature: &'a [u8]) -> Self {
        Self { key, padding: Padding::Pkcs1v15(hash), digest, signature, outcome: None }
    }

    /// Creates a request to verify an RSASSA-PSS signature of a message's digest.
    pub fn pss(key: &'a PublicKey, pss: Pss, digest: &'a [u8], signature: &'a [u8]) -> Self {
        Self { key, padding: Padding::Pss(pss), digest, signature, outcome: None }
    }

    /// Returns the result of [`PublicKey::verify_pkcs1v15_with`] or [`PublicKey::verify_pss_with`].
    ///
    /// # Errors
    ///
    /// As these.
    ///
    /// # Panics
    ///
    /// If the request has not been in a batch.
    pub fn outcome(&self) -> Result<(), Error> {
        self.outcome.clone().expect("a request has an outcome after its batch")
    }
}

/// Verifies many signatures of any keys and paddings.
pub fn verify_batch(workspace: &mut Workspace, requests: &mut [VerifyRequest<'_>]) {
    for chunk in requests.chunks_mut(LANES) {
        let mut em = [[0; MODULUS_BYTES_MAX]; LANES];
        for (request, em) in chunk.iter_mut().zip(&mut em) {
            request.outcome = request.padding.hash().check(request.digest).err().map(Err);
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
            let (padding, bits) = (request.padding, request.key.bits());
            let valid =
                public.outcome().is_ok() && padding.matches(public.buffer(), bits, request.digest);
            request.outcome.get_or_insert(Rejected::unless_valid(valid));
        }
    }
}
