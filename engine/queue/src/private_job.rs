//! The job of private keys: RSA with its padding, or an operation on a curve (`curve_job.rs`).
//! A typed job lets a unit refuse raw operations, and so avoid being an oracle.

use core::ops::Range;
use std::sync::Arc;

use tollgate_rsa::{Error, MODULUS_BYTES_MAX, PrivateKey};
use zeroize::Zeroize;

use crate::curve_task::CurveTask;
use crate::job::{Class, Job};
use crate::queue::Caller;
use crate::work::Work;

/// A private-key operation of any key. Operations with RSA keys of one size form a class, and so do
/// operations of one kind on a curve.
#[derive(Default)]
pub struct PrivateJob {
    task: Task,
    input: Buffer,
    output: Buffer,
    /// The range of the result in `output`.
    result: Option<Range<usize>>,
}

/// The key of a job and the kind of its work.
#[derive(Debug, Default)]
enum Task {
    #[default]
    None,
    Rsa(Arc<PrivateKey>, Work),
    Curve(CurveTask),
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
    /// Takes bytes that fit.
    fn write(&mut self, bytes: &[u8]) {
        self.len = bytes.len();
        self.bytes[..self.len].copy_from_slice(bytes);
    }

    fn read(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn wipe(&mut self) {
        self.bytes[..self.len].zeroize();
        self.len = 0;
    }
}

impl core::fmt::Debug for PrivateJob {
    /// Shows no buffer: it may hold a message.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PrivateJob").field("task", &self.task).finish_non_exhaustive()
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
        match &self.task {
            Task::None => Class::default(),
            Task::Rsa(key, _) => Class(key.bits() as u64),
            Task::Curve(task) => task.class(),
        }
    }

    /// Returns the address of the key: a key loaded twice counts as two. All keys of X25519 count
    /// as one.
    fn key(&self) -> u64 {
        match &self.task {
            Task::None => 0,
            Task::Rsa(key, _) => Arc::as_ptr(key).addr() as u64,
            Task::Curve(task) => task.key(),
        }
    }

    fn has_result(&self) -> bool {
        self.result.is_some()
    }

    fn clear_result(&mut self) {
        self.output.wipe();
        self.result = None;
    }

    fn wipe(&mut self) {
        self.task = Task::None;
        self.input.wipe();
        self.clear_result();
    }
}

impl PrivateJob {
    /// Sets the job: `work` with an RSA key on a digest, a ciphertext, or a number of the key's
    /// size.
    ///
    /// # Errors
    ///
    /// `Misuse::BufferLength`, `Rejected::DigestLength` or `Rejected::DecryptionFailed` if the
    /// input has the wrong length; `Rejected::HashBroken` if signatures with this hash function can
    /// be forged.
    pub fn load(&mut self, key: &Arc<PrivateKey>, work: Work, input: &[u8]) -> Result<(), Error> {
        work.check(key, input)?;
        self.wipe();
        self.task = Task::Rsa(Arc::clone(key), work);
        // A ciphertext that is longer than any key has the wrong length, like an empty one.
        self.input.write(if input.len() > MODULUS_BYTES_MAX { &[] } else { input });
        Ok(())
    }

    /// Sets the job: a task on a curve with its input.
    pub(crate) fn load_curve(&mut self, task: CurveTask, input: &[u8]) {
        self.wipe();
        self.task = Task::Curve(task);
        self.input.write(input);
    }

    /// Returns the task of a job on a curve, and its input.
    pub(crate) fn curve(&self) -> Option<(&CurveTask, &[u8])> {
        match &self.task {
            Task::Curve(task) => Some((task, self.input.read())),
            _ => None,
        }
    }

    /// Sets the result of a job on a curve.
    pub(crate) fn set_output(&mut self, result: &[u8]) {
        self.output.write(result);
        self.result = Some(0..result.len());
    }

    /// Returns the result of a completed job: a signature or number of the key's size, a message,
    /// or the result of an operation on a curve.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        self.result.clone().map_or(&[], |result| &self.output.bytes[result])
    }

    /// Returns the RSA key, the work and the input, for a unit. Returns `None` if the job is an
    /// operation on a curve, which only [`Lanes`](crate::Lanes) can run.
    #[must_use]
    pub fn asked(&self) -> Option<(&Arc<PrivateKey>, Work, &[u8])> {
        match &self.task {
            Task::Rsa(key, work) => Some((key, *work, self.input.read())),
            _ => None,
        }
    }

    /// Returns the RSA key and the output buffer, which holds the padded input after
    /// [`encode`](Self::encode).
    #[must_use]
    pub fn operation(&mut self) -> Option<(&PrivateKey, &mut [u8])> {
        match &self.task {
            Task::Rsa(key, _) => Some((key, &mut self.output.bytes[..self.output.len])),
            _ => None,
        }
    }

    /// Writes the padded input to the output buffer.
    ///
    /// # Errors
    ///
    /// The padding does not fit the key; `Unavailable` if there are no random bytes for a salt.
    ///
    /// # Panics
    ///
    /// If [`asked`](Self::asked) returns `None`.
    pub fn encode(&mut self) -> Result<(), Error> {
        let Task::Rsa(key, work) = &self.task else { panic!("an RSA job is encoded") };
        (self.output.len, self.result) = (key.size(), None);
        work.encode(key, self.input.read(), &mut self.output.bytes[..key.size()])
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
    /// If [`asked`](Self::asked) returns `None`.
    pub fn decode(&mut self, outcome: Result<(), Error>) -> Result<(), Error> {
        let Task::Rsa(key, work) = &self.task else { panic!("an RSA job is decoded") };
        let em = &mut self.output.bytes[..self.output.len];
        let decoded = work.decode(key, self.input.read(), em, outcome);
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
