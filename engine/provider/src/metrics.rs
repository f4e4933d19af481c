//! The counters of each process in a file of its own, for `tollgate provider stats` and for
//! Prometheus.
//!
//! A provider has no thread of its own to do that, and no other moment than its calls. So the first
//! count starts a thread, which writes 50 ms later and then once a second while something changes.
//! After ten seconds without a change it ends, and the next count starts another: a server that
//! rests has no timer of ours. The last numbers are written when libcrypto takes the provider down,
//! at the latest when the process exits; one that is killed loses a second.
//!
//! A program may forbid new threads: some set `RLIMIT_NPROC` to 0. Then operations write, one a
//! second, and what is counted after the last of them waits for the next one or for the end.
//!
//! Any process may fork at any moment: what the parent's thread held here, the child takes over,
//! because every mark is the fork generation of a process. No error here is one of an operation: it
//! is counted.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Instant;

use tollgate_cpu::process::fork_generation;

use crate::background;
use crate::counters::{Counters, Event};
use crate::provider::Provider;

mod file;
mod text;

/// From the first count to the first write: what a test or a curious user waits for.
const FIRST: Duration = Duration::from_millis(50);
/// Between writes.
const PAUSE: Duration = Duration::from_secs(1);
/// Pauses in which nothing changed, after which the thread ends.
const QUIET_PAUSES: u32 = 10;

/// Where one provider's counters go.
pub(crate) struct Metrics {
    counters: Arc<Counters>,
    folder: PathBuf,
    /// Which provider of this program, by order of loading.
    context: u32,
    /// Each object that libcrypto holds has a count of it.
    provider: OnceLock<Weak<Provider>>,
    /// The program's name, read at load: later there may be another root folder.
    program: String,
    /// The process that has a thread here, or has found that it gets none.
    at_work: AtomicU64,
    /// The process that gets no thread, and when it wrote last, in milliseconds after `made`.
    threadless: AtomicU64,
    written_ms: AtomicU64,
    made: Instant,
    /// The process that writes the file, for as long as it does.
    writing: AtomicU64,
    closed: AtomicBool,
}

/// No process has this fork generation.
const NOBODY: u64 = 0;

impl Metrics {
    pub(crate) fn new(folder: &Path, counters: Arc<Counters>) -> Arc<Self> {
        static CONTEXTS: AtomicU32 = AtomicU32::new(0);
        let program = fs::read_to_string("/proc/self/comm").unwrap_or_default();
        Arc::new(Self {
            counters,
            folder: folder.to_owned(),
            context: CONTEXTS.fetch_add(1, Ordering::Relaxed),
            provider: OnceLock::new(),
            program: program.trim().to_owned(),
            at_work: AtomicU64::new(NOBODY),
            threadless: AtomicU64::new(NOBODY),
            written_ms: AtomicU64::new(0),
            made: Instant::now(),
            writing: AtomicU64::new(NOBODY),
            closed: AtomicBool::new(false),
        })
    }

    /// Has it tell the objects of this provider too.
    pub(crate) fn watch(&self, provider: Weak<Provider>) {
        let _ = self.provider.set(provider);
    }

    /// Keys and contexts that libcrypto holds, in this process or in the parent that it was forked
    /// from: one of the counts is that of the provider itself.
    fn objects(&self) -> usize {
        self.provider.get().map_or(0, Weak::strong_count).saturating_sub(1)
    }

    /// After each count: sees to it that this process has a thread that writes.
    pub(crate) fn wake(self: &Arc<Self>, process: u64) {
        if swap_if_other(&self.at_work, process) {
            let metrics = Arc::clone(self);
            if background::spawn("tollgate-metrics", move || metrics.work(process)).is_ok() {
                return;
            }
            // It stays at work by name, so that nobody tries again for each operation.
            self.written_ms.store(0, Ordering::Relaxed);
            self.threadless.store(process, Ordering::Release);
            self.write_unless_closed(process);
        } else if self.threadless.load(Ordering::Acquire) == process {
            self.write_if_due(process);
        }
    }

    /// Writes if it is a pause ago that somebody did.
    fn write_if_due(&self, process: u64) {
        let now = u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = self.written_ms.load(Ordering::Relaxed);
        let is_due = u128::from(now.saturating_sub(last)) >= PAUSE.as_millis();
        let (order, or) = (Ordering::Relaxed, Ordering::Relaxed);
        if is_due && self.written_ms.compare_exchange(last, now, order, or).is_ok() {
            self.write_unless_closed(process);
        }
    }

    /// The thread.
    fn work(&self, process: u64) {
        let (mut written, mut quiet) = (0, 0);
        thread::sleep(FIRST);
        while !self.closed.load(Ordering::Acquire) {
            let sum = self.counters.sum();
            if sum == written {
                quiet += 1;
            } else {
                quiet = 0;
                // What failed is counted and so changes the sum: it is not tried again for that.
                written = if self.write_unless_closed(process) { sum } else { self.counters.sum() };
            }
            if quiet == QUIET_PAUSES {
                self.at_work.store(NOBODY, Ordering::SeqCst);
                // Who counted before this store found a thread here: it was this one.
                if self.counters.sum() == written || !swap_if_other(&self.at_work, process) {
                    return;
                }
                quiet = 0;
            }
            thread::sleep(PAUSE);
        }
    }

    fn write_unless_closed(&self, process: u64) -> bool {
        let Some(_turn) = Turn::take(&self.writing, process) else {
            return self.fail();
        };
        self.closed.load(Ordering::Acquire) || self.write()
    }

    /// The last words, when the provider is taken down.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if self.counters.sum() == 0 {
            return;
        }
        // A thread that writes now has older numbers. A disk that hangs is not waited for.
        let _turn = Turn::take(&self.writing, fork_generation());
        self.write();
    }

    /// Writes the file, with numbers read now.
    fn write(&self) -> bool {
        let process = process::id();
        let name = format!("tollgate-{process}-{}", self.context);
        let (counters, objects) = (&self.counters, self.objects());
        let text = text::text(counters, objects, process, self.context, &self.program);
        file::replace(&self.folder, &name, &text).is_ok() || self.fail()
    }

    fn fail(&self) -> bool {
        self.counters.count(Event::UnwrittenMetrics);
        false
    }
}

/// Puts this process's mark, if another's or nobody's is there: a mark says which process has
/// something.
fn swap_if_other(mark: &AtomicU64, process: u64) -> bool {
    // In one order with the counts before it: see the end of `work`.
    core::sync::atomic::fence(Ordering::SeqCst);
    let found = mark.load(Ordering::SeqCst);
    let order = Ordering::SeqCst;
    found != process && mark.compare_exchange(found, process, order, order).is_ok()
}

/// The right to write, until dropped.
struct Turn<'a>(&'a AtomicU64);

impl<'a> Turn<'a> {
    /// Waits for another thread of this process, a tenth of a second at most.
    fn take(writing: &'a AtomicU64, process: u64) -> Option<Self> {
        for _ in 0..100 {
            if swap_if_other(writing, process) {
                return Some(Self(writing));
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(NOBODY, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
