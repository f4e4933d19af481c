//! The job of RSA: a private operation with its padding. Typed, so that a unit may refuse to be
//! an oracle for raw ones.

use std::sync::Arc;

use tollgate_rsa::{Error, Hash, MODULUS_BITS_MAX, Misuse, PrivateKey, Salt, pkcs1v15, pss};
use zeroize::Zeroize;

use crate::engine::Caller;
use crate::job::{Class, Job};

/// Bytes of the longest input and result.
const SIZE_MAX: usize = MODULUS_BITS_MAX / 8;

/// What is done with a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// RSASSA-PKCS1-v1_5 of a digest (RFC 8017 §8.2.1).
    SignPkcs1v15 {
        /// What made the digest.
        hash: Hash,
    },
    /// RSASSA-PSS of a digest (RFC 8017 §8.1.1), with a random salt.
    SignPss {
        /// What made the digest.
        hash: Hash,
        /// The hash function of MGF1.
        mgf_hash: Hash,
        /// How long the salt is.
        salt: Salt,
    },
    /// c^d mod n, without a padding.
    Raw,
}

/// A private operation of any key. Its class is the size of the key.
#[derive(Default)]
pub struct PrivateJob {
    key: Option<Arc<PrivateKey>>,
    work: Option<Work>,
    input: Buffer,
    output: Buffer,
}

struct Buffer {
    bytes: [u8; SIZE_MAX],
    len: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: [0; SIZE_MAX], len: 0 }
    }
}

impl Buffer {
    fn wipe(&mut self) {
        self.bytes[..self.len].zeroize();
        self.len = 0;
    }
}

impl core::fmt::Debug for PrivateJob {
    /// Shows no buffer: it may hold a message.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PrivateJob")
            .field("key", &self.key)
            .field("work", &self.work)
            .finish_non_exhaustive()
    }
}

impl Drop for PrivateJob {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl Job for PrivateJob {
    type Refusal = Error;

    fn class(&self) -> Class {
        Class(self.key.as_ref().map_or(0, |key| key.bits() as u64))
    }

    /// Its address: keys that are loaded twice are two.
    fn key(&self) -> u64 {
        self.key.as_ref().map_or(0, |key| Arc::as_ptr(key).addr() as u64)
    }

    fn wipe(&mut self) {
        self.key = None;
        self.work = None;
        self.input.wipe();
        self.output.wipe();
    }
}

impl PrivateJob {
    /// Asks for `work` with `key`, of a digest, or of a number of the key's size.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`] and `Rejected::DigestLength` if the input has another length.
    pub fn load(&mut self, key: &Arc<PrivateKey>, work: Work, input: &[u8]) -> Result<(), Error> {
        match work {
            Work::SignPkcs1v15 { hash } | Work::SignPss { hash, .. } => hash.check(input)?,
            Work::Raw if input.len() != key.size() => {
                let (found_bytes, expected_bytes) = (input.len(), key.size());
                return Err(Misuse::BufferLength { found_bytes, expected_bytes }.into());
            }
            Work::Raw => {}
        }
        self.wipe();
        (self.key, self.work) = (Some(Arc::clone(key)), Some(work));
        self.input.len = input.len();
        self.input.bytes[..input.len()].copy_from_slice(input);
        Ok(())
    }

    /// The result of a job that was done: a signature, or a number; of the key's size.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output.bytes[..self.output.len]
    }

    /// What is asked, for a unit: key, work and input.
    #[must_use]
    pub fn asked(&self) -> Option<(&Arc<PrivateKey>, Work, &[u8])> {
        Some((self.key.as_ref()?, self.work?, &self.input.bytes[..self.input.len]))
    }

    /// The key, and room for the result, which holds the padded input after
    /// [`encode`](Self::encode).
    #[must_use]
    pub fn operation(&mut self) -> Option<(&PrivateKey, &mut [u8])> {
        let key = self.key.as_deref()?;
        Some((key, &mut self.output.bytes[..self.output.len]))
    }

    /// Pads the input to what is raised to the power of d, in the output.
    ///
    /// # Errors
    ///
    /// The padding does not fit the key; `Unavailable` without random bytes for a salt.
    ///
    /// # Panics
    ///
    /// If nothing was loaded.
    pub fn encode(&mut self) -> Result<(), Error> {
        let (Some(key), Some(work)) = (&self.key, self.work) else {
            panic!("a job is loaded before it is done");
        };
        self.output.len = key.size();
        let output = &mut self.output.bytes[..key.size()];
        let input = &self.input.bytes[..self.input.len];
        match work {
            Work::SignPkcs1v15 { hash } => pkcs1v15::encode(output, hash, input),
            Work::SignPss { hash, mgf_hash, salt } => {
                pss::encode_random(output, key.bits(), hash, mgf_hash, salt, input)
            }
            Work::Raw => {
                output.copy_from_slice(input);
                Ok(())
            }
        }
    }
}

/// An error of an engine for private operations.
pub type PrivateError = crate::Error<Error>;

impl Caller<PrivateJob> {
    /// Does `work` with `key` and waits; the result goes to `output`, of the key's size.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn private(
        &self,
        key: &Arc<PrivateKey>,
        work: Work,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), PrivateError> {
        check_length(key, output)?;
        let answer = self.run(|job| job.load(key, work, input))?;
        output.copy_from_slice(answer.output());
        Ok(())
    }

    /// Signs many digests with keys of their own, and waits. The outcome of each is in it.
    ///
    /// # Errors
    ///
    /// As [`run_many`](Self::run_many): the engine takes no more.
    pub fn sign_many(&self, requests: &mut [Signing<'_>]) -> Result<(), PrivateError> {
        let count = requests.len();
        let requests = core::cell::RefCell::new(requests);
        self.run_many(
            count,
            |i, job| {
                let request = &requests.borrow()[i];
                if request.signature.len() != request.key.size() {
                    let (found_bytes, expected_bytes) =
                        (request.signature.len(), request.key.size());
                    return Err(Misuse::BufferLength { found_bytes, expected_bytes }.into());
                }
                job.load(request.key, request.work, request.digest)
            },
            |i, end| {
                let request = &mut requests.borrow_mut()[i];
                request.outcome = end.map(|job| request.signature.copy_from_slice(job.output()));
            },
        )
    }
}

fn check_length(key: &PrivateKey, output: &[u8]) -> Result<(), PrivateError> {
    let (found_bytes, expected_bytes) = (output.len(), key.size());
    if found_bytes == expected_bytes {
        return Ok(());
    }
    Err(crate::Error::Rejected(Misuse::BufferLength { found_bytes, expected_bytes }.into()))
}

/// One of many signatures, or raw operations.
#[derive(Debug)]
pub struct Signing<'a> {
    key: &'a Arc<PrivateKey>,
    work: Work,
    digest: &'a [u8],
    signature: &'a mut [u8],
    outcome: Result<(), PrivateError>,
}

impl<'a> Signing<'a> {
    /// Of a digest, into a buffer of the key's size.
    pub fn new(
        key: &'a Arc<PrivateKey>,
        work: Work,
        digest: &'a [u8],
        signature: &'a mut [u8],
    ) -> Self {
        Self { key, work, digest, signature, outcome: Err(crate::Error::ShutDown) }
    }

    /// How it ended.
    ///
    /// # Errors
    ///
    /// As [`Caller::private`]; [`ShutDown`](crate::Error::ShutDown) if it was not begun.
    pub fn outcome(&self) -> Result<(), PrivateError> {
        self.outcome.clone()
    }
}
