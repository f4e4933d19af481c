//! What a process has done with a provider: relaxed counters.
//!
//! A forked process starts with its parent's numbers; the first that it counts itself sets them
//! aside.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate_cpu::process;

macro_rules! events {
    ($($event:ident = $key:literal, $help:literal;)*) => {
        /// What is counted: operations that ended well, keys, and what went wrong aside.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Event {
            $(#[doc = $help] $event,)*
        }

        impl Event {
            /// Each with the key under which `OSSL_PROVIDER_get_params` answers it as an unsigned
            /// integer, and what it is.
            pub(crate) const ALL: [(Self, &'static CStr, &'static str); events!(@count $($key)*)] =
                [$((Self::$event, $key, $help),)*];
        }
    };
    (@count $($key:literal)*) => { [$($key),*].len() };
}

events! {
    Signature = c"tollgate-signatures", "Private operations that made a signature.";
    Verification = c"tollgate-verifications",
        "Signatures found valid, and messages recovered from them.";
    Decryption = c"tollgate-decryptions",
        "Private operations that decrypted, whatever the padding held.";
    Encryption = c"tollgate-encryptions", "Messages encrypted.";
    Key = c"tollgate-keys", "Keys imported, or made.";
    RefusedKey = c"tollgate-refused-keys",
        "Keys refused, which the next provider then serves.";
    Async = c"tollgate-async-operations", "Operations that a job of libcrypto was paused for.";
    Abandoned = c"tollgate-abandoned-operations",
        "Those of them whose job never went on: libcrypto loses its stack.";
    Batch = c"tollgate-batches", "Calls of the kernels for two operations and more.";
    BatchedOperation = c"tollgate-batched-operations", "The operations in them.";
    UnwrittenMetrics = c"tollgate-unwritten-metrics",
        "Times that the counters could not be written to their file.";
}

/// The numbers of one provider since it was loaded, or since this process was forked from the one
/// that loaded it.
pub(crate) struct Counters {
    numbers: [Number; Event::ALL.len()],
    /// The process whose counts these are; with [`TURNING`], the one that is making them its own.
    process: AtomicU64,
}

/// The bit above a fork generation.
const TURNING: u64 = 1 << 63;

/// On a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Number {
    counted: AtomicU64,
    /// How much of it the parent counted.
    inherited: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        let numbers = core::array::from_fn(|_| Number::default());
        Self { numbers, process: AtomicU64::new(process::fork_generation()) }
    }
}

impl Counters {
    /// Counts one, and returns the fork generation of the process in which that was.
    pub(crate) fn count(&self, event: Event) -> u64 {
        self.add(event, 1)
    }

    /// Counts so many, as `count` does.
    pub(crate) fn add(&self, event: Event, events: usize) -> u64 {
        let process = self.take_home();
        self.numbers[event as usize].counted.fetch_add(events as u64, Ordering::Relaxed);
        process
    }

    /// What this process has counted.
    pub(crate) fn read(&self, event: Event) -> u64 {
        if self.process.load(Ordering::Acquire) != process::fork_generation() {
            return 0;
        }
        let Number { counted, inherited } = &self.numbers[event as usize];
        counted.load(Ordering::Relaxed) - inherited.load(Ordering::Relaxed)
    }

    /// A number that grows with each count.
    pub(crate) fn sum(&self) -> u64 {
        Event::ALL.iter().map(|(event, ..)| self.read(*event)).sum()
    }

    /// Makes the counts this process's own, once after each fork.
    fn take_home(&self) -> u64 {
        let home = process::fork_generation();
        loop {
            let found = self.process.load(Ordering::Acquire);
            if found == home {
                return home;
            }
            if found == home | TURNING {
                // Another thread is at it: it copies a few words.
                thread::yield_now();
                continue;
            }
            // Whoever else is named here has no thread in this process.
            let (order, or) = (Ordering::Acquire, Ordering::Relaxed);
            if self.process.compare_exchange(found, home | TURNING, order, or).is_ok() {
                for Number { counted, inherited } in &self.numbers {
                    inherited.store(counted.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                self.process.store(home, Ordering::Release);
                return home;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_parent_counted_is_set_aside_by_the_first_count() {
        let counters = Counters::default();
        counters.count(Event::Signature);
        counters.count(Event::Signature);
        assert_eq!((counters.read(Event::Signature), counters.sum()), (2, 2));
        // As in a child: forked in peace, or while a thread of the parent was turning.
        let home = process::fork_generation();
        for parent in [home + 1, (home + 1) | TURNING] {
            counters.process.store(parent, Ordering::Relaxed);
            assert_eq!((counters.read(Event::Signature), counters.sum()), (0, 0));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| assert_eq!(counters.count(Event::Key), home));
                }
            });
            assert_eq!((counters.read(Event::Signature), counters.read(Event::Key)), (0, 4));
        }
    }
}
