//! The RSA job: a private-key operation with its padding. A typed job lets a unit refuse raw
//! operations, and so avoid being an oracle.

use core::ops::Range;
use std::sync::Arc;

use tollgate_rsa::{Error, MODULUS_BYTES_MAX, PrivateKey};
use zeroize::Zeroize;

use crate::job::{Class, Job};
use crate::queue::Caller;
use crate::work::Work;

/// A private-key operation of any key. Its class is the key's size in bits.
#[derive(Default)]
pub struct PrivateJob {
    key: Option<Arc<PrivateKey>>,
    work: Option<Work>,
    input: Buffer,
    output: Buffer,
    /// The range of the result in `output`.
    result: Option<Range<usize>>,
}

struct Buffer {
    bytes: [u8; MODULUS_BYTES_MAX],
    len: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: [0; MODULUS_BYTES_MAX], len: 0 }
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

    /// Returns the address of the key: a key loaded twice counts as two.
    fn key(&self) -> u64 {
        self.key.as_ref().map_or(0, |key| Arc::as_ptr(key).addr() as u64)
    }

    fn has_result(&self) -> bool {
        self.result.is_some()
    }

    fn clear_result(&mut self) {
        self.output.wipe();
        self.result = None;
    }

    fn wipe(&mut self) {
        self.key = None;
        self.work = None;
        self.input.wipe();
        self.clear_result();
    }
}

impl PrivateJob {
    /// Sets the job: `work` with `key` on a digest, a ciphertext, or a number of the key's size.
    ///
    /// # Errors
    ///
    /// `Misuse::BufferLength`, `Rejected::DigestLength` or `Rejected::DecryptionFailed` if the
    /// input has the wrong length; `Rejected::HashBroken` if signatures with this hash function can
    /// be forged.
    pub fn load(&mut self, key: &Arc<PrivateKey>, work: Work, input: &[u8]) -> Result<(), Error> {
        work.check(key, input)?;
        self.wipe();
        (self.key, self.work) = (Some(Arc::clone(key)), Some(work));
        // A ciphertext that is longer than any key has the wrong length, like an empty one.
        let kept = if input.len() > MODULUS_BYTES_MAX { &[] } else { input };
        self.input.len = kept.len();
        self.input.bytes[..kept.len()].copy_from_slice(kept);
        Ok(())
    }

    /// Returns the result of a completed job: a signature or number of the key's size, or a
    /// message.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        self.result.clone().map_or(&[], |result| &self.output.bytes[result])
    }

    /// Returns the job's key, work and input, for a unit.
    #[must_use]
    pub fn asked(&self) -> Option<(&Arc<PrivateKey>, Work, &[u8])> {
        Some((self.key.as_ref()?, self.work?, &self.input.bytes[..self.input.len]))
    }

    /// Returns the key and the output buffer, which holds the padded input after
    /// [`encode`](Self::encode).
    #[must_use]
    pub fn operation(&mut self) -> Option<(&PrivateKey, &mut [u8])> {
        let key = self.key.as_deref()?;
        Some((key, &mut self.output.bytes[..self.output.len]))
    }

    /// Writes the padded input to the output buffer.
    ///
    /// # Errors
    ///
    /// The padding does not fit the key; `Unavailable` if there are no random bytes for a salt.
    ///
    /// # Panics
    ///
    /// If the job was not [loaded](Self::load).
    pub fn encode(&mut self) -> Result<(), Error> {
        let (Some(key), Some(work)) = (&self.key, self.work) else {
            panic!("a job is loaded before it is run");
        };
        (self.output.len, self.result) = (key.size(), None);
        let input = &self.input.bytes[..self.input.len];
        work.encode(key, input, &mut self.output.bytes[..key.size()])
    }

    /// Makes the result from the output buffer after an operation with this outcome: removes the
    /// padding of decrypted messages in constant time. Clears the buffer on error.
    ///
    /// # Errors
    ///
    /// The operation's error; `Rejected::DecryptionFailed` for any invalid ciphertext;
    /// `Unavailable` if there are no random bytes for a substitute premaster secret.
    ///
    /// # Panics
    ///
    /// If the job was not [loaded](Self::load).
    pub fn decode(&mut self, outcome: Result<(), Error>) -> Result<(), Error> {
        let (Some(key), Some(work)) = (&self.key, self.work) else {
            panic!("a job is loaded before it is run");
        };
        let input = &self.input.bytes[..self.input.len];
        let em = &mut self.output.bytes[..self.output.len];
        let decoded = work.decode(key, input, em, outcome);
        if decoded.is_err() {
            self.clear_result();
        }
        decoded.map(|result| self.result = Some(result))
    }
}

/// The error of a queue of private-key operations.
pub type PrivateError = crate::Error<Error>;

impl Caller<PrivateJob> {
    /// Runs `work` with `key` and waits. Returns the result, at the start of `output`, which must
    /// have the key's size. A decrypted message is secret; the caller must wipe it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn private<'a>(
        &self,
        key: &Arc<PrivateKey>,
        work: Work,
        input: &[u8],
        output: &'a mut [u8],
    ) -> Result<&'a [u8], PrivateError> {
        key.public().check_length(output).map_err(crate::Error::Rejected)?;
        let answer = self.run(|job| job.load(key, work, input))?;
        let len = answer.output().len();
        output[..len].copy_from_slice(answer.output());
        Ok(&output[..len])
    }

    /// Runs many operations, each with its own key, and waits. Each [`Signing`] holds its outcome.
    ///
    /// # Errors
    ///
    /// As [`run_many`](Self::run_many): the queue accepts no more requests.
    pub fn sign_many(&self, requests: &mut [Signing<'_>]) -> Result<(), PrivateError> {
        let count = requests.len();
        let requests = core::cell::RefCell::new(requests);
        self.run_many(
            count,
            |i, job| {
                let request = &requests.borrow()[i];
                request.key.public().check_length(request.output)?;
                job.load(request.key, request.work, request.input)
            },
            |i, end| {
                let request = &mut requests.borrow_mut()[i];
                request.outcome = end.map(|job| {
                    let len = job.output().len();
                    request.output[..len].copy_from_slice(job.output());
                    len
                });
            },
        )
    }
}

/// One operation of [`Caller::sign_many`].
pub struct Signing<'a> {
    key: &'a Arc<PrivateKey>,
    work: Work,
    input: &'a [u8],
    output: &'a mut [u8],
    /// The length of the result in `output`.
    outcome: Result<usize, PrivateError>,
}

impl core::fmt::Debug for Signing<'_> {
    /// Shows no buffer: it may hold a message.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Signing")
            .field("key", &self.key)
            .field("work", &self.work)
            .field("outcome", &self.outcome.as_ref().map(|_| ()))
            .finish_non_exhaustive()
    }
}

impl<'a> Signing<'a> {
    /// Creates a request for `work` on `input`, with an output buffer of the key's size.
    pub fn new(
        key: &'a Arc<PrivateKey>,
        work: Work,
        input: &'a [u8],
        output: &'a mut [u8],
    ) -> Self {
        Self { key, work, input, output, outcome: Err(crate::Error::ShutDown) }
    }

    /// Returns the result, at the start of the buffer.
    ///
    /// # Errors
    ///
    /// As [`Caller::private`]; [`ShutDown`](crate::Error::ShutDown) if the operation was not run.
    pub fn outcome(&self) -> Result<&[u8], PrivateError> {
        self.outcome.clone().map(|len| &self.output[..len])
    }
}

#[cfg(test)]
mod tests {

    use tollgate_rsa::TlsVersions;

    use super::*;

    fn key() -> Arc<PrivateKey> {
        let pem = include_str!("../../../vectors/keys/rsa-1024.pem");
        Arc::new(PrivateKey::from_pem(pem).unwrap())
    }

    /// Wipes input, result, and the rest of the buffer behind a shorter result.
    #[test]
    fn a_wiped_job_holds_nothing() {
        let key = key();
        let versions = TlsVersions { client: 0x0303, negotiated: None };
        for (work, output_len) in [(Work::Raw, 128), (Work::DecryptTlsPremaster { versions }, 48)] {
            let mut job = PrivateJob::default();
            job.load(&key, work, &[7; 128]).unwrap();
            job.encode().unwrap();
            job.decode(Ok(())).unwrap();
            assert_eq!(job.output().len(), output_len);
            job.wipe();
            assert!(job.asked().is_none() && job.output().is_empty());
            let (input, output) = (&job.input.bytes, &job.output.bytes);
            assert!(input.iter().chain(output).all(|&byte| byte == 0), "{work:?}");
            assert_eq!(Arc::strong_count(&key), 1, "the key is released");
        }
    }

    #[test]
    fn a_failed_job_holds_no_result() {
        let key = key();
        let mut job = PrivateJob::default();
        job.load(&key, Work::Raw, &[7; 128]).unwrap();
        job.encode().unwrap();
        assert_eq!(job.decode(Err(Error::Fault)), Err(Error::Fault));
        assert!(job.output.bytes.iter().all(|&byte| byte == 0));
        assert!(job.asked().is_some(), "another unit can run it");
    }
}
