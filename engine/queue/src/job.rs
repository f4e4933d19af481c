//! What is asked of a unit, and how it ended.

use core::fmt;

/// A request as a unit sees it: whatever it is made of, it lives in one of the queue's slots,
/// which are made once, filled again and again, and wiped in between.
pub trait Job: Default + Send + 'static {
    /// Why a job cannot be done: the answer to a caller who asked for the impossible.
    type Refusal: core::error::Error + Clone + Send + 'static;

    /// What it has in common with the jobs that it can share a call with.
    fn class(&self) -> Class;

    /// What is fair beside callers: jobs of one caller with different keys wait in lines of their
    /// own. Public, and as good as another number of the same key.
    fn key(&self) -> u64;

    /// Whether a result stands in it. One that was done without a result is a fault.
    fn has_result(&self) -> bool;

    /// Forgets the result of a unit that is not believed, and keeps what was asked.
    fn clear_result(&mut self);

    /// Overwrites what nobody may find here later, and lets go of what it shares.
    fn wipe(&mut self);
}

/// Jobs of one class share a call of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u64);

/// A job in a batch. The unit says how it ended: [`done`](Self::done), [`refuse`](Self::refuse) or
/// [`fault`](Self::fault).
pub struct Request<J: Job> {
    /// The job; its result belongs in it.
    pub job: J,
    outcome: Option<Outcome<J::Refusal>>,
    pub(crate) is_retry: bool,
    /// Which one of all that the queue had; 0 before it is in line.
    pub(crate) number: u64,
    /// What the job says, asked outside of the queue's lock.
    pub(crate) class: Class,
    pub(crate) key: u64,
}

/// How a job ended in a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<R> {
    /// Its result is in it, and was checked.
    Done,
    /// The check of its result failed. Nothing was released; what was asked is still in it.
    Fault,
    /// It cannot be done, by no unit.
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
    /// The result is in the job; if there is none, this is a [`fault`](Self::fault).
    pub fn done(&mut self) {
        let has_result = self.job.has_result();
        self.outcome = Some(if has_result { Outcome::Done } else { Outcome::Fault });
    }

    /// The check of the result failed: the queue asks another unit, and this one no more.
    pub fn fault(&mut self) {
        self.outcome = Some(Outcome::Fault);
    }

    /// No unit could do this.
    pub fn refuse(&mut self, why: J::Refusal) {
        self.outcome = Some(Outcome::Refused(why));
    }

    /// Whether the unit has said how it ended.
    pub fn has_outcome(&self) -> bool {
        self.outcome.is_some()
    }

    /// How it ended, if the unit said so; forgets it.
    pub fn take_outcome(&mut self) -> Option<Outcome<J::Refusal>> {
        self.outcome.take()
    }

    /// Whether its result is not to be trusted.
    pub(crate) fn is_fault(&self) -> bool {
        matches!(self.outcome, None | Some(Outcome::Fault))
    }

    /// As good as new.
    pub(crate) fn wipe(&mut self) {
        self.job.wipe();
        self.outcome = None;
        self.is_retry = false;
        self.number = 0;
    }

    /// Asks the job what it is.
    pub(crate) fn note_kind(&mut self) {
        (self.class, self.key) = (self.job.class(), self.job.key());
    }
}
