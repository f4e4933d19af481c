//! Contexts of encryption and decryption, without `unsafe` code: provider-asym_cipher(7).
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_keyless::{Operation, Ski};
use tollgate_queue::Work;
use tollgate_rsa::premaster::PREMASTER_LEN;
use tollgate_rsa::{Hash, MODULUS_BYTES_MAX, TlsVersions, eme_pkcs1v15, premaster};
use zeroize::Zeroizing;

use crate::abi::*;
use crate::connections::Failure;
use crate::context::{Context, operation_key};
use crate::counters::Event;
use crate::handle::Output;
use crate::hashing;
use crate::params::{Answers, Choices, Param, Params};
use crate::provider::Provider;
use crate::reason::Reason;
use crate::rsa_key::RsaKey;
use crate::rsa_operation::RsaOperation;
use crate::table::Table;

/// The context of an encryption or decryption.
#[derive(Clone)]
pub(crate) struct AsymCipherContext {
    provider: Arc<Provider>,
    key: Option<Arc<RsaKey>>,
    padding: Padding,
    oaep: Oaep,
    /// The version of TLS that the client offered. This version and the negotiated one are 0 if not
    /// set.
    client_version: u16,
    negotiated_version: u16,
    implicit_rejection: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Raw,
    Oaep,
    Pkcs1,
    /// `RSA_PKCS1_WITH_TLS_PADDING`: PKCS#1 around a premaster secret; decryption only.
    Tls,
}

/// The paddings with their numbers and names. "oeap" is a misspelling of OpenSSL's that old
/// programs use.
const PADDINGS: &Choices<Padding> = &[
    (Padding::Pkcs1, 1, c"pkcs1"),
    (Padding::Raw, 3, c"none"),
    (Padding::Oaep, 4, c"oaep"),
    (Padding::Oaep, 4, c"oeap"),
    (Padding::Tls, 7, c""), // OpenSSL has no name for this padding either
];

#[derive(Clone)]
struct Oaep {
    hash: Hash,
    mgf1: Option<Hash>,
    label: Vec<u8>,
}

static GETTABLE: Table<[OSSL_PARAM; 8]> = Table::of_keys([
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, OSSL_PARAM_OCTET_PTR),
    (OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

/// Property queries for digests are accepted and ignored: this provider computes digests itself.
static SETTABLE: Table<[OSSL_PARAM; 10]> = Table::of_keys([
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, OSSL_PARAM_OCTET_STRING),
    (OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

impl AsRef<Provider> for AsymCipherContext {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl Context for AsymCipherContext {
    type Key = RsaKey;

    const GETTABLE: *const OSSL_PARAM = GETTABLE.first();
    const SETTABLE: *const OSSL_PARAM = SETTABLE.first();

    fn new(provider: Arc<Provider>) -> Self {
        Self {
            implicit_rejection: provider.settings.implicit_rejection,
            provider,
            key: None,
            padding: Padding::Pkcs1,
            oaep: Oaep { hash: Hash::Sha1, mgf1: None, label: Vec::new() },
            client_version: 0,
            negotiated_version: 0,
        }
    }

    fn restart(&mut self, key: Option<Arc<RsaKey>>, private: bool) -> Result<(), Reason> {
        let key = operation_key(key, &mut self.key, private)?;
        *self = Self { key: Some(key), ..Self::new(Arc::clone(&self.provider)) };
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(param) = params.find(OSSL_PKEY_PARAM_PAD_MODE) {
            self.padding = param.choice(PADDINGS)?.ok_or(Reason::PaddingUnsupported)?;
        }
        if let Some(param) = params.find(OSSL_PKEY_PARAM_DIGEST) {
            self.oaep.hash = hash(param)?;
        }
        if let Some(param) = params.find(OSSL_PKEY_PARAM_MGF1_DIGEST) {
            self.oaep.mgf1 = Some(hash(param)?);
        }
        if let Some(param) = params.find(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL) {
            self.oaep.label = param.octets().ok_or(Reason::Parameter)?.to_vec();
        }
        if let Some(param) = params.find(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION) {
            self.client_version = version(param)?;
        }
        if let Some(param) = params.find(OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION) {
            self.negotiated_version = version(param)?;
        }
        if let Some(param) = params.find(OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION) {
            self.implicit_rejection = param.integer().ok_or(Reason::Parameter)? != 0;
        }
        Ok(())
    }

    fn describe(&self, answers: &mut Answers<'_>) -> Result<(), Reason> {
        answers.choice(OSSL_PKEY_PARAM_PAD_MODE, &self.padding, PADDINGS)?;
        let (hash, mgf1) = self.oaep.hashes();
        answers.text(OSSL_PKEY_PARAM_DIGEST, hashing::name(hash))?;
        answers.text(OSSL_PKEY_PARAM_MGF1_DIGEST, hashing::name(mgf1))?;
        // CMS copies the label at once, before the next init or label replaces it.
        answers.pointer(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, &self.oaep.label)?;
        let versions = [
            (OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, self.client_version),
            (OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, self.negotiated_version),
            (OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, u16::from(self.implicit_rejection)),
        ];
        versions.into_iter().try_for_each(|(key, value)| answers.integer(key, value.into()))
    }
}

impl AsymCipherContext {
    pub(crate) fn encrypt(&self, output: &mut Output, message: &[u8]) -> Result<(), Reason> {
        let key = self.key.as_ref().ok_or(Reason::KeyMissing)?;
        let size = key.size();
        if output.is_query_for(size)? {
            return Ok(());
        }
        let mut em = Zeroizing::new([0; MODULUS_BYTES_MAX]);
        let em = &mut em[..size];
        let public = key.public();
        self.provider.with_workspace(|ws| match self.padding {
            Padding::Oaep => {
                let (hash, mgf1) = self.oaep.hashes();
                let oaep =
                    tollgate_rsa::Oaep::new(hash).with_mgf_hash(mgf1).with_label(&self.oaep.label);
                Ok(public.encrypt_oaep_with(ws, oaep, message, em)?)
            }
            Padding::Pkcs1 => Ok(public.encrypt_pkcs1v15_with(ws, message, em)?),
            Padding::Raw if message.len() == size => {
                em.copy_from_slice(message);
                Ok(public.encrypt_raw(ws, em)?)
            }
            Padding::Raw => Err(Reason::MessageRange),
            Padding::Tls => Err(Reason::PaddingUnsupported),
        })?;
        output.write(em)?;
        self.provider.count(Event::Encryption);
        Ok(())
    }

    pub(crate) fn decrypt(&mut self, output: &mut Output, ciphertext: &[u8]) -> Result<(), Reason> {
        let key = self.key.as_ref().ok_or(Reason::KeyMissing)?;
        if key.remote().is_none() {
            key.private()?;
        }
        let size = key.size();
        // This length does not depend on the message, so the size of a buffer reveals nothing.
        let needed = if self.padding == Padding::Tls { PREMASTER_LEN } else { size };
        if output.is_query_for(needed)? {
            return Ok(());
        }
        // A shorter ciphertext is a number with leading zeros.
        let zeros = size.checked_sub(ciphertext.len()).ok_or(Reason::CiphertextLength)?;
        // OpenSSL takes an empty one for zero where there is no padding. For TLS it must look like
        // any other invalid one.
        if ciphertext.is_empty() && !matches!(self.padding, Padding::Raw | Padding::Tls) {
            return Err(Reason::CiphertextLength);
        }
        let mut padded = [0; MODULUS_BYTES_MAX];
        padded[zeros..size].copy_from_slice(ciphertext);
        if let Some(ski) = key.remote() {
            self.decrypt_remotely(ski, &padded[..size], output)?;
            self.provider.count(Event::Decryption);
            return Ok(());
        }
        let (work, is_explicit) = (self.work()?, self.rejects_explicitly());
        let operation = RsaOperation { key: &mut self.key, work, input: &padded[..size] };
        let done = self.provider.private(operation, &mut |message| {
            output.write(if is_explicit { eme_pkcs1v15::decode(message)? } else { message })
        });
        // All users may read the counters, which must not reveal whether a padding is valid.
        if matches!(done, Ok(()) | Err(Reason::PaddingCheck)) {
            self.provider.count(Event::Decryption);
        }
        done
    }

    /// Decrypts on the signer, which rejects implicitly: its answer has a valid padding always.
    /// Other servers of the protocol answer with any block, with the message alone, or with a
    /// refusal; for TLS all of them give a premaster.
    fn decrypt_remotely(
        &mut self,
        ski: Ski,
        ciphertext: &[u8],
        output: &mut Output,
    ) -> Result<(), Reason> {
        self.provider.check_health()?;
        let versions = match self.padding {
            Padding::Pkcs1 => None,
            Padding::Tls => Some(self.versions()?),
            Padding::Oaep | Padding::Raw => return Err(Reason::RemoteUnsupported),
        };
        let substitute = premaster::substitute()?;
        let size = ciphertext.len();
        let has_size = |_: &RsaKey, block: &[u8]| block.len() == size || versions.is_some();
        let request = (ski, Operation::Decrypt, ciphertext);
        let em = self.provider.remote(&mut self.key, request, has_size);
        match (em, versions) {
            (Ok(em), None) => output.write(eme_pkcs1v15::decode(&em)?),
            (Ok(em), Some(versions)) => {
                output.write(&*premaster::decode(&with_padding(em, size), versions, substitute))
            }
            // So does a server that found the padding not valid, or the number not below the
            // modulus.
            (Err(why), Some(_)) if why.last().is_some_and(Failure::is_of_payload) => {
                output.write(&*substitute)
            }
            (Err(why), _) => Err(self.provider.raise_remote(&why)),
        }
    }

    /// Returns whether the padding is PKCS#1 without implicit rejection. This module decodes that
    /// padding itself.
    fn rejects_explicitly(&self) -> bool {
        self.padding == Padding::Pkcs1 && !self.implicit_rejection
    }

    fn work(&self) -> Result<Work, Reason> {
        Ok(match self.padding {
            Padding::Oaep => {
                let (hash, mgf_hash) = self.oaep.hashes();
                Work::DecryptOaep { label_digest: hash.digest(&self.oaep.label), mgf_hash }
            }
            Padding::Pkcs1 if self.implicit_rejection => Work::DecryptPkcs1v15,
            Padding::Pkcs1 | Padding::Raw => Work::Raw,
            Padding::Tls => Work::DecryptTlsPremaster { versions: self.versions()? },
        })
    }

    fn versions(&self) -> Result<TlsVersions, Reason> {
        let set = |version| Some(version).filter(|&version| version != 0);
        let client = set(self.client_version).ok_or(Reason::TlsVersion)?;
        Ok(TlsVersions { client, negotiated: set(self.negotiated_version) })
    }
}

impl Oaep {
    fn hashes(&self) -> (Hash, Hash) {
        (self.hash, self.mgf1.unwrap_or(self.hash))
    }
}

/// Returns a decrypted block of this size. A server may have removed its padding: it gets another
/// one, which is valid if there is room for it.
fn with_padding(em: Zeroizing<Vec<u8>>, size: usize) -> Zeroizing<Vec<u8>> {
    // The shortest padding: 00 02, eight bytes, 00.
    let Some(end) = size.checked_sub(em.len()).filter(|&end| end >= 11) else {
        return em;
    };
    let mut padded = Zeroizing::new(vec![0xff; size]);
    padded[..2].copy_from_slice(&[0, 2]);
    padded[end - 1] = 0;
    padded[end..].copy_from_slice(&em);
    padded
}

/// Returns the hash function of OAEP or of its MGF1. MDC-2 is not allowed, because its DES reads
/// tables at addresses that depend on the data, and the data is secret here.
fn hash(param: Param<'_>) -> Result<Hash, Reason> {
    let named = hashing::from_name(param.text().ok_or(Reason::Parameter)?);
    named.filter(|hash| *hash != Hash::Mdc2).ok_or(Reason::DigestUnsupported)
}

fn version(param: Param<'_>) -> Result<u16, Reason> {
    let version = param.integer().ok_or(Reason::Parameter)?;
    u16::try_from(version).map_err(|_| Reason::Parameter)
}
