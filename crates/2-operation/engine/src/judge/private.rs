//! Cases of private operations, judged by the public one.

use std::sync::{Arc, Mutex, PoisonError};

use tollgate_rsa::{Error, Hash, PrivateKey, Workspace};

use super::Cases;
use crate::private_job::{PrivateJob, Work};

/// Signatures by PKCS#1 v1.5 with one key, of digests of numbers.
#[derive(Debug)]
pub struct PrivateCases {
    key: Arc<PrivateKey>,
    workspace: Mutex<Workspace>,
}

impl PrivateCases {
    /// With this key, of at least 512 bits.
    ///
    /// # Errors
    ///
    /// `TOLLGATE_CPU_DISABLE` holds an unknown word.
    pub fn new(key: Arc<PrivateKey>) -> Result<Self, Error> {
        Ok(Self { key, workspace: Mutex::new(Workspace::new()?) })
    }
}

const WORK: Work = Work::SignPkcs1v15 { hash: Hash::Sha256 };

impl Cases<PrivateJob> for PrivateCases {
    fn load(&self, i: usize, job: &mut PrivateJob) -> Result<(), Error> {
        let digest = Hash::Sha256.digest(&i.to_be_bytes());
        job.load(&self.key, WORK, digest.as_ref())
    }

    fn is_right(&self, i: usize, job: &PrivateJob) -> bool {
        let digest = Hash::Sha256.digest(&i.to_be_bytes());
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let (public, hash) = (self.key.public(), Hash::Sha256);
        public.verify_pkcs1v15(&mut workspace, hash, digest.as_ref(), job.output()).is_ok()
    }

    /// A number that is not below the modulus.
    fn load_refused(&self, job: &mut PrivateJob) -> Result<(), Error> {
        job.load(&self.key, Work::Raw, &vec![0xff; self.key.size()])
    }
}
