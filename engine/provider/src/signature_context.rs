//! Contexts of signing and verifying, without `unsafe` code: provider-signature(7).
#![forbid(unsafe_code)]

mod settings;

use std::sync::Arc;

use tollgate_keyless::{Operation, Ski};
use tollgate_queue::Work;
use tollgate_rsa::{Hash, MODULUS_BYTES_MAX, Pss, Rejected, Salt, pkcs1v15, pss};
use zeroize::Zeroizing;

use crate::counters::Event;
use crate::handle::Output;
use crate::hashing;
use crate::message::Message;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::rsa_key::RsaKey;
use crate::rsa_operation::RsaOperation;
use crate::signature_padding::{MDC2_DIGEST_INFO, Padding, SaltLength, decode, digest_in};
use crate::signer::Signer;
use crate::x931;

/// The context of a signature or a verification.
#[derive(Clone)]
pub(crate) struct RsaSignatureContext {
    provider: Arc<Provider>,
    key: Option<Arc<RsaKey>>,
    padding: Padding,
    mgf1: Option<Hash>,
    salt: SaltLength,
    message: Message,
}

impl AsRef<Provider> for RsaSignatureContext {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl Signer for RsaSignatureContext {
    fn message(&mut self) -> &mut Message {
        &mut self.message
    }

    fn hash_function(name: &str) -> Result<Hash, Reason> {
        hashing::from_name(name).ok_or(Reason::DigestUnsupported)
    }

    fn size(&self) -> Result<usize, Reason> {
        self.key().map(|key| key.size())
    }

    fn sign(&mut self, output: &mut Output, digest: &[u8]) -> Result<(), Reason> {
        let key = self.key()?;
        let size = key.size();
        if output.is_query_for(size)? {
            return Ok(());
        }
        if let Some(ski) = key.remote() {
            output.write(&self.sign_remotely(ski, digest)?)?;
            self.provider.count(Event::Signature);
            return Ok(());
        }
        let mut em = [0; MODULUS_BYTES_MAX];
        let em = &mut em[..size];
        self.encode(key, em, digest)?;
        // The digest is padded here, because OpenSSL signs with hash functions that the engine
        // refuses.
        let modulus = (self.padding == Padding::X931).then(|| key.public().modulus());
        let operation = RsaOperation { key: &mut self.key, work: Work::Raw, input: em };
        self.provider.private(operation, &mut |signature| match &modulus {
            Some(modulus) => output.write(&x931::smaller(signature, modulus)),
            None => output.write(signature),
        })?;
        self.provider.count(Event::Signature);
        Ok(())
    }

    fn verify(&self, signature: &[u8], digest: &[u8]) -> Result<(), Reason> {
        if !self.is_valid(self.key()?, signature, digest)? {
            return Err(Reason::SignatureInvalid);
        }
        self.provider.count(Event::Verification);
        Ok(())
    }
}

impl RsaSignatureContext {
    /// Signs on the signer, and checks the signature.
    fn sign_remotely(&mut self, ski: Ski, digest: &[u8]) -> Result<Zeroizing<Vec<u8>>, Reason> {
        self.provider.check_health()?;
        self.check_length(digest)?;
        let operation = match (self.padding, self.message.md()) {
            (Padding::Pkcs1, Some(md)) => Operation::SignPkcs1v15(md).if_known(),
            (Padding::Pss, Some(md)) => {
                let salt = self.salt.to_sign(self.key()?.public().bits(), md)?;
                let is_usual = salt == md.len() && self.pss_hashes()? == (md, md);
                Operation::SignPss(md).if_known().filter(|_| is_usual)
            }
            _ => None,
        };
        let operation = operation.ok_or(Reason::RemoteUnsupported)?;
        let mut key = self.key.take();
        let is_valid = |key: &RsaKey, signature: &[u8]| {
            self.is_valid(key, signature, digest).is_ok_and(|is_valid| is_valid)
        };
        let signature = self.provider.remote(&mut key, (ski, operation, digest), is_valid);
        self.key = key;
        signature.map_err(|why| self.provider.raise_remote(&why))
    }

    fn is_valid(&self, key: &RsaKey, signature: &[u8], digest: &[u8]) -> Result<bool, Reason> {
        self.check_length(digest)?;
        let mut em = [0; MODULUS_BYTES_MAX];
        let em = self.recovered(key, signature, &mut em)?;
        Ok(match self.padding {
            Padding::Pkcs1 => match self.message.md() {
                Some(md) => {
                    let is_mdc2 =
                        || pkcs1v15::matches_raw(em, &[MDC2_DIGEST_INFO, digest].concat());
                    pkcs1v15::matches(em, md, digest) || md == Hash::Mdc2 && is_mdc2()
                }
                // OpenSSL signs an empty content, and does not verify it.
                None => !digest.is_empty() && pkcs1v15::matches_raw(em, digest),
            },
            Padding::Pss => {
                let (hash, mgf1) = self.pss_hashes()?;
                let (bits, salt) = (key.public().bits(), self.salt.to_verify());
                let pss = Pss::new(hash).with_mgf_hash(mgf1).with_salt(salt);
                pss::verify(em, bits, pss, digest).is_ok()
            }
            Padding::Raw => em == digest,
            Padding::X931 => {
                let content = x931::decode(em, &key.public().modulus(), self.x931_id()?);
                content.is_some_and(|content| content == digest)
            }
        })
    }

    fn encode(&self, key: &RsaKey, em: &mut [u8], digest: &[u8]) -> Result<(), Reason> {
        self.check_length(digest)?;
        match self.padding {
            Padding::Pkcs1 => Ok(match self.message.md() {
                Some(md) => pkcs1v15::encode(em, md, digest),
                None => pkcs1v15::encode_raw(em, digest),
            }?),
            Padding::Pss => {
                let (hash, mgf1) = self.pss_hashes()?;
                let bits = key.public().bits();
                let salt = Salt::Exactly(self.salt.to_sign(bits, hash)?);
                let pss = Pss::new(hash).with_mgf_hash(mgf1).with_salt(salt);
                Ok(pss::encode_random(em, bits, pss, digest)?)
            }
            Padding::X931 => x931::encode(em, digest, self.x931_id()?),
            Padding::Raw if digest.len() == em.len() => {
                em.copy_from_slice(digest);
                Ok(())
            }
            Padding::Raw => Err(Reason::MessageRange),
        }
    }

    /// Writes the signed digest, or the signed content if no hash function is set.
    pub(crate) fn verify_recover(
        &self,
        output: &mut Output,
        signature: &[u8],
    ) -> Result<(), Reason> {
        let key = self.key()?;
        if output.is_length_query() {
            output.set_length(key.size());
            return Ok(());
        }
        let mut em = [0; MODULUS_BYTES_MAX];
        let em = self.recovered(key, signature, &mut em)?;
        let digest;
        let content = match (self.padding, self.message.md()) {
            (Padding::Raw, None) => Some(em),
            (Padding::X931, Some(md)) => {
                digest = x931::decode(em, &key.public().modulus(), x931::hash_id(md)?);
                digest.as_deref().filter(|content| content.len() == md.len())
            }
            // As OpenSSL 3.5, which takes an empty content for a failure.
            (Padding::Pkcs1, None) => decode(em).filter(|content| !content.is_empty()),
            (Padding::Pkcs1, Some(md)) => decode(em).and_then(|info| digest_in(info, md)),
            _ => return Err(Reason::PaddingUnsupported),
        };
        output.write(content.ok_or(Reason::SignatureInvalid)?)?;
        self.provider.count(Event::Verification);
        Ok(())
    }

    /// Applies the public operation to a signature.
    fn recovered<'a>(
        &self,
        key: &RsaKey,
        signature: &[u8],
        em: &'a mut [u8; MODULUS_BYTES_MAX],
    ) -> Result<&'a [u8], Reason> {
        if signature.len() != key.size() {
            return Err(Reason::SignatureInvalid);
        }
        let em = &mut em[..signature.len()];
        em.copy_from_slice(signature);
        let result = self.provider.with_workspace(|ws| key.public().public(ws, em));
        match result {
            Ok(()) => Ok(em),
            Err(tollgate_rsa::Error::Rejected(Rejected::MessageRange)) => {
                Err(Reason::SignatureInvalid)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn key(&self) -> Result<&Arc<RsaKey>, Reason> {
        self.key.as_ref().ok_or(Reason::KeyMissing)
    }

    /// Checks the length of a digest. PSS without a hash function uses SHA-1, as in OpenSSL.
    fn check_length(&self, digest: &[u8]) -> Result<(), Reason> {
        let implied = (self.padding == Padding::Pss).then_some(Hash::Sha1);
        match self.message.md().or(implied) {
            Some(md) if md.len() != digest.len() => Err(Reason::DigestLength),
            _ => Ok(()),
        }
    }

    /// Returns the byte that names the hash function in X9.31.
    fn x931_id(&self) -> Result<u8, Reason> {
        x931::hash_id(self.message.md().ok_or(Reason::DigestMissing)?)
    }

    fn pss_hashes(&self) -> Result<(Hash, Hash), Reason> {
        let hash = self.message.md().unwrap_or(Hash::Sha1);
        if hash == Hash::Mdc2 {
            return Err(Reason::DigestUnsupported); // as in OpenSSL
        }
        Ok((hash, self.mgf1.unwrap_or(hash)))
    }
}
