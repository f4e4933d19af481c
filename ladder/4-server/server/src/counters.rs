//! The counters of a server. Each worker has its own counters; readers add them up.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

use crate::failure::Failure;
use crate::thread_clock::ThreadClock;

/// The counts of a server since its start. The counts are exact if no connection is being served.
/// Otherwise, some counts may be slightly older than others, because they are read one after the
/// other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of accepted connections.
    pub connections: u64,
    /// Number of connections that are open now.
    pub connections_open: u64,
    /// Number of handshakes completed with a private-key operation.
    pub handshakes_full: u64,
    /// Number of handshakes completed by resuming a session.
    pub handshakes_resumed: u64,
    /// Number of handshakes that failed, by reason. The list contains every reason, even if its
    /// count is zero.
    pub handshakes_failed: Vec<(Failure, u64)>,
    /// Number of responses sent completely.
    pub requests: u64,
    /// Number of responses that were begun and not completed.
    pub requests_cut: u64,
    /// Number of bytes of bodies sent, before encryption.
    pub body_bytes: u64,
    /// Number of pauses in accepting because no file descriptors were left.
    pub descriptor_pauses: u64,
    /// Number of turns of all event loops.
    pub loop_turns: u64,
    /// CPU time of each worker thread, user and system.
    pub worker_cpu: Vec<Duration>,
    /// Number of access-log lines (handshakes and requests) written.
    pub log_lines: u64,
    /// Number of access-log lines that were lost.
    pub log_lines_lost: u64,
    /// The provider that did the private-key operations.
    pub signer: Signer,
}

impl Counters {
    /// Returns the number of failed handshakes.
    #[must_use]
    pub fn handshakes_failed_total(&self) -> u64 {
        self.handshakes_failed.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of handshakes that failed for this reason.
    #[must_use]
    pub fn failed(&self, failure: Failure) -> u64 {
        self.handshakes_failed.iter().find(|(why, _)| *why == failure).map_or(0, |(_, n)| *n)
    }
}

/// The provider that did the private-key operations of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signer {
    /// The name of the OpenSSL provider that signed with each worker's key at start.
    pub provider: String,
    /// Number of private-key operations that this provider counted in the workers' library contexts
    /// since the server started; `None` for OpenSSL's own provider, which does not count.
    pub operations: Option<SignerOperations>,
}

/// Private-key operations, as counted by the provider `tollgate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignerOperations {
    /// Number of signatures.
    pub signatures: u64,
    /// Number of decryptions (RSA key exchange).
    pub decryptions: u64,
    /// Number of batches of two operations or more, which run in the lanes of vectors.
    pub batches: u64,
    /// Number of operations in batches.
    pub batched: u64,
}

impl SignerOperations {
    /// Returns the number of signatures plus the number of decryptions.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.signatures + self.decryptions
    }

    /// Returns the number of batches plus the number of operations that ran alone.
    #[must_use]
    pub const fn runs(self) -> u64 {
        self.batches + self.total().saturating_sub(self.batched)
    }

    /// Returns the operations since an earlier count of the same engine.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            signatures: self.signatures.saturating_sub(earlier.signatures),
            decryptions: self.decryptions.saturating_sub(earlier.decryptions),
            batches: self.batches.saturating_sub(earlier.batches),
            batched: self.batched.saturating_sub(earlier.batched),
        }
    }
}

/// A number that one thread writes and others read.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        // A single writer needs no locked instruction.
        self.set(self.0.load(Ordering::Relaxed).wrapping_add(n));
    }

    /// A thread that reads the number also sees all earlier counts of this thread.
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Release);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The counters of one worker, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Tally {
    pub(crate) connections: Count,
    pub(crate) connections_closed: Count,
    pub(crate) signatures: Count,
    pub(crate) decryptions: Count,
    pub(crate) batches: Count,
    pub(crate) batched: Count,
    pub(crate) handshakes_full: Count,
    pub(crate) handshakes_resumed: Count,
    pub(crate) handshakes_failed: [Count; Failure::ALL.len()],
    pub(crate) requests: Count,
    pub(crate) requests_cut: Count,
    pub(crate) body_bytes: Count,
    pub(crate) descriptor_pauses: Count,
    pub(crate) loop_turns: Count,
    /// The clock of the worker's thread.
    clock: OnceLock<ThreadClock>,
    /// The CPU time of a worker that has ended; 0 while it runs.
    final_cpu_ns: Count,
}

impl Tally {
    /// Called by the worker when it starts.
    pub(crate) fn start_cpu(&self) {
        if let Some(clock) = ThreadClock::of_this_thread() {
            self.clock.set(clock).expect("a worker starts once");
        }
    }

    /// Called by the worker when it ends.
    pub(crate) fn stop_cpu(&self) {
        let spent = duration(clock_gettime(ClockId::ThreadCPUTime));
        self.final_cpu_ns.set(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX));
    }

    fn cpu(&self) -> Duration {
        let ended = || Duration::from_nanos(self.final_cpu_ns.read());
        let running = || self.clock.get()?.elapsed();
        // The worker may end in between.
        if ended().is_zero() { running().unwrap_or_else(ended) } else { ended() }
    }
}

fn duration(time: rustix::time::Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the sum of private-key operations over all workers.
pub(crate) fn operations(tallies: &[Tally]) -> SignerOperations {
    SignerOperations {
        signatures: tallies.iter().map(|tally| tally.signatures.read()).sum(),
        decryptions: tallies.iter().map(|tally| tally.decryptions.read()).sum(),
        batches: tallies.iter().map(|tally| tally.batches.read()).sum(),
        batched: tallies.iter().map(|tally| tally.batched.read()).sum(),
    }
}

/// Returns the sums over all workers; the caller adds log and signer.
pub(crate) fn sum(tallies: &[Tally]) -> Counters {
    let total =
        |of: fn(&Tally) -> &Count| tallies.iter().map(|tally| of(tally).read()).sum::<u64>();
    let connections_closed = total(|tally| &tally.connections_closed);
    let connections = total(|tally| &tally.connections);
    let failed = |i: usize| tallies.iter().map(|tally| tally.handshakes_failed[i].read()).sum();
    Counters {
        connections,
        connections_open: connections.saturating_sub(connections_closed),
        handshakes_full: total(|tally| &tally.handshakes_full),
        handshakes_resumed: total(|tally| &tally.handshakes_resumed),
        handshakes_failed: Failure::ALL
            .iter()
            .map(|(why, _)| (*why, failed(*why as usize)))
            .collect(),
        requests: total(|tally| &tally.requests),
        requests_cut: total(|tally| &tally.requests_cut),
        body_bytes: total(|tally| &tally.body_bytes),
        descriptor_pauses: total(|tally| &tally.descriptor_pauses),
        loop_turns: total(|tally| &tally.loop_turns),
        worker_cpu: tallies.iter().map(Tally::cpu).collect(),
        ..Counters::default()
    }
}
