//! A private operation of RSA.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_queue::{Job as _, PrivateJob, Work};
use tollgate_rsa::{Error, PrivateKey};

use crate::private::{Operation, ResultSink, Sharing};
use crate::provider::{Provider, Scratch};
use crate::reason::Reason;
use crate::rsa_key::RsaKey;
use crate::waker::Keys;

/// A private operation of RSA, with the context's key.
pub(crate) struct RsaOperation<'a> {
    pub(crate) key: &'a mut Option<Arc<RsaKey>>,
    pub(crate) work: Work,
    pub(crate) input: &'a [u8],
}

impl RsaOperation<'_> {
    fn half(&self) -> Result<&Arc<PrivateKey>, Reason> {
        self.key.as_ref().ok_or(Reason::KeyMissing)?.private()
    }
}

impl Operation for RsaOperation<'_> {
    const SHARING: Sharing = Sharing::Always;

    fn check(&self) -> Result<(), Reason> {
        self.half().map(|_| ())
    }

    fn load(&self, job: &mut PrivateJob) -> Result<(), Error> {
        let half = self.half().expect("checked before");
        job.load(half, self.work, self.input)
    }

    /// Uses the thread's scratch memory.
    #[inline(never)]
    fn run_here(&self, provider: &Provider, take: ResultSink<'_>) -> Result<(), Reason> {
        let half = self.half()?;
        provider.with_scratch(|Scratch { workspace, job }| {
            let result = job.load(half, self.work, self.input).and_then(|()| {
                job.encode()?;
                let (key, em) = job.operation().expect("an operation was loaded");
                let outcome = key.private(workspace, em);
                job.decode(outcome)
            });
            let taken = result.map_err(Reason::from).and_then(|()| take(job.output()));
            job.wipe(); // drops the key too
            taken
        })
    }

    fn take_keys(&mut self) -> Keys {
        self.key.take().map(|key| key as _).into_iter().collect()
    }

    fn put_back(&mut self, keys: Keys) {
        *self.key = keys.into_iter().next().and_then(|key| key.downcast().ok());
    }
}
