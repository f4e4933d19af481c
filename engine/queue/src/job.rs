//! Jobs, requests and their outcomes.

use core::fmt;

/// The input and output of a request. The queue creates one job for each slot and reuses it after
/// [`wipe`](Self::wipe).
pub trait Job: Default + Send + 'static {
    /// The error of a job that cannot be done.
    type Refusal: core::error::Error + Clone + Send + 'static;

    /// Returns the class of the job; jobs of one class can share a call.
    fn class(&self) -> Class;

    /// Returns the key of the job. Requests of one caller with different keys are scheduled fairly.
    /// It is not secret; two copies of one key may have different numbers.
    fn key(&self) -> u64;

    /// Returns `true` if the job has a result. A job done without a result counts as a fault.
    fn has_result(&self) -> bool;

    /// Deletes an untrusted result and keeps the input.
    fn clear_result(&mut self);

    /// Overwrites secrets and releases shared objects.
    fn wipe(&mut self);
}

/// Jobs of one class may share a call of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u64);

/// A job in a batch. The unit sets its outcome by [`done`](Self::done), [`refuse`](Self::refuse) or
/// [`fault`](Self::fault).
pub struct Request<J: Job> {
    /// The job; the unit writes the result into it.
    pub job: J,
    outcome: Option<Outcome<J::Refusal>>,
    pub(crate) is_retry: bool,
    /// Serial number in the queue; 0 before submission.
    pub(crate) number: u64,
    /// Class and key, read from the job outside the queue's lock.
    pub(crate) class: Class,
    pub(crate) key: u64,
}

/// The outcome of a job in a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<R> {
    /// The job has a checked result.
    Done,
    /// The check of the result failed. Nothing was released; the job keeps its input.
    Fault,
    /// No unit can do the job.
    Refused(R),
}

impl<J: Job> Default for Request<J> {
    fn default() -> Self {
        Self {
            job: J::default(),
            outcome: None,
            is_retry: false,
            number: 0,
            class: Class::default(),
            key: 0,
        }
    }
}

impl<J: Job> fmt::Debug for Request<J> {
    /// Shows no job: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

impl<J: Job> Request<J> {
    /// Marks the job as done; as a [`fault`](Self::fault) if it has no result.
    pub fn done(&mut self) {
        let has_result = self.job.has_result();
        self.outcome = Some(if has_result { Outcome::Done } else { Outcome::Fault });
    }

    /// Reports that the check of the result failed. The queue tries another unit and quarantines
    /// this one.
    pub fn fault(&mut self) {
        self.outcome = Some(Outcome::Fault);
    }

    /// Reports that no unit can do the job.
    pub fn refuse(&mut self, why: J::Refusal) {
        self.outcome = Some(Outcome::Refused(why));
    }

    /// Returns `true` if the unit has set an outcome.
    pub fn has_outcome(&self) -> bool {
        self.outcome.is_some()
    }

    /// Takes the outcome, if the unit has set one.
    pub fn take_outcome(&mut self) -> Option<Outcome<J::Refusal>> {
        self.outcome.take()
    }

    /// Returns `true` if the result must not be trusted.
    pub(crate) fn is_fault(&self) -> bool {
        matches!(self.outcome, None | Some(Outcome::Fault))
    }

    /// Resets the request for the next user.
    pub(crate) fn wipe(&mut self) {
        self.job.wipe();
        self.outcome = None;
        self.is_retry = false;
        self.number = 0;
    }

    /// Reads class and key from the job.
    pub(crate) fn note_kind(&mut self) {
        (self.class, self.key) = (self.job.class(), self.job.key());
    }
}
