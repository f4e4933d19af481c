//! What a thread used.

use core::time::Duration;
use std::time::Instant;

use crate::cpu::{thread_cpu, thread_wait};

/// What a thread used between two readings of its clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// Time it wanted a core and had none.
    pub(crate) wait: Option<Duration>,
}

/// A reading of a thread's clocks.
pub(crate) struct Reading {
    at: Instant,
    cpu: Duration,
    wait: Option<Duration>,
}

impl Reading {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), cpu: thread_cpu(), wait: thread_wait() }
    }

    pub(crate) fn until_now(&self) -> Usage {
        let now = Self::now();
        let wait = now.wait.zip(self.wait).map(|(now, then)| now.saturating_sub(then));
        let (wall, cpu) =
            (now.at.saturating_duration_since(self.at), now.cpu.saturating_sub(self.cpu));
        Usage { wall, cpu, wait }
    }
}
