//! Writes the counters of each process to a file, for `tollgate provider stats` and for Prometheus.
//!
//! The first count starts a thread, which writes 50 ms later and then once a second while something
//! changes. After ten seconds without a change the thread ends, and the next count starts another,
//! so an idle server has no timer running. The last numbers are written when libcrypto tears the
//! provider down, which it does not at an exit with keys that still live. Such a process, and a
//! killed one, lose up to a second.
//!
//! If a program forbids new threads (some programs set `RLIMIT_NPROC` to 0), the threads that run
//! operations write the file, at most once a second. Counts that come after a write wait for the
//! next operation or for the teardown.
//!
//! A process may fork at any moment. Each mark holds the fork generation of the process that set
//! it, so a child takes over the marks that its parent's threads held. A failed write never fails
//! an operation; the failure is counted.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use tollgate_cpu::process::fork_generation;

use crate::background;
use crate::counters::{Counters, Event};

mod file;

/// The time from the first count to the first write. Tests and users wait for it, so it is short.
const FIRST: Duration = Duration::from_millis(50);
/// Time between writes.
const PAUSE: Duration = Duration::from_secs(1);
/// The number of pauses without a change after which the thread ends.
const QUIET_PAUSES: u32 = 10;

/// Writes the counters of one provider.
pub(crate) struct Metrics {
    counters: Arc<Counters>,
    folder: PathBuf,
    /// The number of the provider in this program, in the order of loading.
    context: u32,
    /// The provider. Each object that libcrypto holds has a strong reference to it.
    provider: Weak<dyn Send + Sync>,
    /// The program's name, read at load: the program may change its root folder later.
    program: String,
    /// The process that has a writing thread, or that cannot start one.
    active: AtomicU64,
    /// The process that cannot start a writing thread.
    threadless: AtomicU64,
    /// The time at which the process in `threadless` wrote last, in milliseconds after `created`.
    written_ms: AtomicU64,
    created: Instant,
    /// The process that is writing the file.
    writing: AtomicU64,
    closed: AtomicBool,
}

/// No process has this fork generation.
const NOBODY: u64 = 0;

impl Metrics {
    pub(crate) fn new(
        folder: &Path,
        counters: Arc<Counters>,
        provider: Weak<dyn Send + Sync>,
    ) -> Arc<Self> {
        static CONTEXTS: AtomicU32 = AtomicU32::new(0);
        let program = fs::read_to_string("/proc/self/comm").unwrap_or_default();
        Arc::new(Self {
            counters,
            folder: folder.to_owned(),
            context: CONTEXTS.fetch_add(1, Ordering::Relaxed),
            provider,
            program: program.trim().to_owned(),
            active: AtomicU64::new(NOBODY),
            threadless: AtomicU64::new(NOBODY),
            written_ms: AtomicU64::new(0),
            created: Instant::now(),
            writing: AtomicU64::new(NOBODY),
            closed: AtomicBool::new(false),
        })
    }

    /// Returns the number of keys and contexts that libcrypto holds, including those inherited from
    /// a parent process. libcrypto's own reference to the provider does not count.
    fn objects(&self) -> usize {
        self.provider.strong_count().saturating_sub(1)
    }

    /// Starts the writing thread of this process if it is not running. The provider calls this
    /// function after each count.
    pub(crate) fn wake(self: &Arc<Self>, process: u64) {
        if swap_if_other(&self.active, process) {
            let metrics = Arc::clone(self);
            if background::spawn("tollgate-metrics", move || metrics.work(process)).is_ok() {
                return;
            }
            // The flag `active` stays set, so that operations do not try again to start a thread.
            self.written_ms.store(0, Ordering::Relaxed);
            self.threadless.store(process, Ordering::Release);
            self.write_unless_closed(process);
        } else if self.threadless.load(Ordering::Acquire) == process {
            self.write_if_due(process);
        }
    }

    /// Writes the file if the last write was at least one [`PAUSE`] ago.
    fn write_if_due(&self, process: u64) {
        let now = u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = self.written_ms.load(Ordering::Relaxed);
        let is_due = u128::from(now.saturating_sub(last)) >= PAUSE.as_millis();
        let (order, or) = (Ordering::Relaxed, Ordering::Relaxed);
        if is_due && self.written_ms.compare_exchange(last, now, order, or).is_ok() {
            self.write_unless_closed(process);
        }
    }

    fn work(&self, process: u64) {
        let (mut written, mut quiet) = (0, 0);
        thread::sleep(FIRST);
        while !self.closed.load(Ordering::Acquire) {
            let sum = self.counters.sum();
            if sum == written {
                quiet += 1;
            } else {
                quiet = 0;
                // A failed write is counted too. That changes the sum, but is no reason to write
                // again.
                written = if self.write_unless_closed(process) { sum } else { self.counters.sum() };
            }
            if quiet == QUIET_PAUSES {
                self.active.store(NOBODY, Ordering::SeqCst);
                // A count that happened before this store has started no thread, so compare the sum
                // once more.
                if self.counters.sum() == written || !swap_if_other(&self.active, process) {
                    return;
                }
                quiet = 0;
            }
            thread::sleep(PAUSE);
        }
    }

    fn write_unless_closed(&self, process: u64) -> bool {
        let Some(_lock) = WriteLock::acquire(&self.writing, process) else {
            return self.fail();
        };
        self.closed.load(Ordering::Acquire) || self.write()
    }

    /// Writes for the last time, when libcrypto tears the provider down.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if self.counters.sum() == 0 {
            return;
        }
        // Another thread may be writing older numbers, so wait for it. The wait is limited because
        // the disk may hang.
        let _lock = WriteLock::acquire(&self.writing, fork_generation());
        self.write();
    }

    fn write(&self) -> bool {
        let process = process::id();
        let name = format!("tollgate-{process}-{}", self.context);
        file::replace(&self.folder, &name, &self.text(process)).is_ok() || self.fail()
    }

    fn fail(&self) -> bool {
        self.counters.count(Event::UnwrittenMetrics);
        false
    }
}

/// Sets `mark` to this process. Returns false if `mark` was already set to this process.
fn swap_if_other(mark: &AtomicU64, process: u64) -> bool {
    // Orders the load after the caller's counts: see the end of `work`.
    core::sync::atomic::fence(Ordering::SeqCst);
    let found = mark.load(Ordering::SeqCst);
    let order = Ordering::SeqCst;
    found != process && mark.compare_exchange(found, process, order, order).is_ok()
}

/// An exclusive right to write the file, released when dropped.
struct WriteLock<'a>(&'a AtomicU64);

impl<'a> WriteLock<'a> {
    /// Waits up to 100 ms for another thread of this process.
    fn acquire(writing: &'a AtomicU64, process: u64) -> Option<Self> {
        for _ in 0..100 {
            if swap_if_other(writing, process) {
                return Some(Self(writing));
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

impl Drop for WriteLock<'_> {
    fn drop(&mut self) {
        self.0.store(NOBODY, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
