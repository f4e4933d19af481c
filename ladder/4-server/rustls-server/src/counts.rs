//! Counters of the server, and the referee that reads them.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tollgate_load::{Referee, Seen};

/// Counters of all threads; they only grow.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Handshakes completed.
    pub(crate) handshakes: AtomicU64,
    /// Completed handshakes that resumed a session.
    pub(crate) resumed: AtomicU64,
    /// Handshakes that did not complete.
    pub(crate) failed: AtomicU64,
    /// Responses with status 200 that the kernel has accepted completely.
    pub(crate) requests: AtomicU64,
    /// The total length in bytes of the bodies of these responses.
    pub(crate) body_bytes: AtomicU64,
}

impl Counts {
    fn seen(&self) -> Seen {
        let load = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        Seen {
            handshakes: load(&self.handshakes),
            resumed: load(&self.resumed),
            failed: load(&self.failed),
            requests: load(&self.requests),
            body_bytes: Some(load(&self.body_bytes)),
        }
    }
}

pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Release);
}

/// Reads a server's counters as a log.
#[derive(Debug)]
pub struct CountReferee {
    counts: Arc<Counts>,
    before: Seen,
}

impl CountReferee {
    pub(crate) fn new(counts: &Arc<Counts>) -> Self {
        Self { before: counts.seen(), counts: Arc::clone(counts) }
    }
}

impl Referee for CountReferee {
    fn mark(&mut self) -> io::Result<()> {
        // wait until all earlier events are counted: they belong to no run
        std::thread::sleep(self.lag());
        self.before = self.counts.seen();
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        let (now, before) = (self.counts.seen(), &self.before);
        let body_bytes = now.body_bytes.zip(before.body_bytes).map(|(now, before)| now - before);
        Ok(Seen {
            handshakes: now.handshakes - before.handshakes,
            resumed: now.resumed - before.resumed,
            failed: now.failed - before.failed,
            requests: now.requests - before.requests,
            body_bytes,
        })
    }

    fn lag(&self) -> Duration {
        // threads count at once, but may have to wait for a core
        Duration::from_millis(100)
    }
}
