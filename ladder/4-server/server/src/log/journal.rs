//! A worker's side of the access log, which collects lines and sends them in batches.

use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread;
use std::time::Instant;

use super::line::Line;
use super::writer::LogState;

/// A batch of this many lines is sent at once.
const BATCH_LINES: usize = 256;
/// The longest time before a smaller batch is sent.
const BATCH_AGE: Duration = Duration::from_millis(50);
/// The maximum number of lines that a worker keeps while the writer's queue is full. Further lines
/// are lost and counted.
const LINES_MAX: usize = 16 * 1024;

/// A worker's side of the access log.
#[derive(Debug)]
pub(crate) struct Journal {
    to: Option<SyncSender<Vec<Line>>>,
    state: Arc<LogState>,
    batch: Vec<Line>,
    since: Option<Instant>,
}

impl Journal {
    /// Creates a journal that sends lines to `to`. If `to` is `None`, lines are discarded.
    pub(crate) const fn new(to: Option<SyncSender<Vec<Line>>>, state: Arc<LogState>) -> Self {
        Self { to, state, batch: Vec::new(), since: None }
    }

    /// Adds the line that `make` returns, unless there is no log.
    pub(crate) fn push(&mut self, now: Instant, make: impl FnOnce() -> Line) {
        if self.to.is_none() {
            return;
        }
        if self.batch.len() >= LINES_MAX {
            self.state.lose(1);
            return;
        }
        self.batch.push(make());
        self.since.get_or_insert(now);
        // If the queue is full, tries again after another batch of lines, not for each line.
        if self.batch.len().is_multiple_of(BATCH_LINES) {
            self.hand_over(now);
        }
    }

    /// Sends a batch that is old enough.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.since.is_some_and(|since| now.duration_since(since) >= BATCH_AGE) {
            self.hand_over(now);
        }
    }

    /// Returns how long the caller can wait before [`Self::tick`]. Returns `None` if there is
    /// nothing to send.
    pub(crate) fn wait(&self, now: Instant) -> Option<Duration> {
        self.since.map(|since| BATCH_AGE.saturating_sub(now.duration_since(since)))
    }

    /// Sends all lines; returns false if the queue is full.
    fn hand_over(&mut self, now: Instant) -> bool {
        let Some(to) = &self.to else { return true };
        if self.batch.is_empty() {
            return true;
        }
        let batch = core::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_LINES));
        self.since = None;
        match to.try_send(batch) {
            Ok(()) => true,
            Err(TrySendError::Full(batch)) => {
                self.batch = batch;
                self.since = Some(now);
                false
            }
            // The writer panicked.
            Err(TrySendError::Disconnected(batch)) => {
                self.state.lose(batch.len());
                true
            }
        }
    }

    /// Sends all lines and waits for the writer until `deadline`. Lines that are not sent by then
    /// are lost.
    pub(crate) fn finish(mut self, deadline: Instant) {
        while !self.hand_over(Instant::now()) {
            if Instant::now() >= deadline {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Lines that were not sent are lost. If a worker panics, at least the lines about the end of its
/// connections are lost.
impl Drop for Journal {
    fn drop(&mut self) {
        let lines = self.batch.len() + usize::from(thread::panicking());
        if self.to.is_some() && lines > 0 {
            self.state.lose(lines);
        }
    }
}
