//! Counts what a process does with a provider.
//!
//! A forked process inherits its parent's counts. Its first count sets the inherited counts aside.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate_cpu::process;

macro_rules! events {
    ($($event:ident = $key:literal, $help:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Event {
            $(#[doc = $help] $event,)*
        }

        impl Event {
            /// Each event with its key for `OSSL_PROVIDER_get_params` and its description.
            pub(crate) const ALL: [(Self, &'static CStr, &'static str); events!(@count $($key)*)] =
                [$((Self::$event, $key, $help),)*];
        }
    };
    (@count $($key:literal)*) => { [$($key),*].len() };
}

events! {
    Signature = c"tollgate-signatures", "Private operations of RSA that made a signature.";
    Verification = c"tollgate-verifications",
        "RSA signatures found valid, and messages recovered from them.";
    Decryption = c"tollgate-decryptions",
        "Private operations that decrypted, with valid padding or not.";
    Encryption = c"tollgate-encryptions", "Messages encrypted.";
    Key = c"tollgate-keys", "RSA keys imported or generated.";
    RefusedKey = c"tollgate-refused-keys",
        "RSA keys refused, which another provider then serves.";
    EcdsaSignature = c"tollgate-ecdsa-signatures", "Signatures made with ECDSA.";
    EcdsaVerification = c"tollgate-ecdsa-verifications", "ECDSA signatures found valid.";
    X25519Generation = c"tollgate-x25519-generations", "X25519 keys generated.";
    X25519Derivation = c"tollgate-x25519-derivations",
        "Secrets derived with X25519.";
    KemGeneration = c"tollgate-kem-generations",
        "Keys of ML-KEM-768 and X25519MLKEM768 generated.";
    Encapsulation = c"tollgate-encapsulations",
        "Secrets encapsulated with ML-KEM-768 and X25519MLKEM768.";
    Decapsulation = c"tollgate-decapsulations",
        "Secrets decapsulated with ML-KEM-768 and X25519MLKEM768.";
    Remote = c"tollgate-remote-operations", "Operations that a signer did.";
    RemoteFailure = c"tollgate-remote-failures", "Operations that a signer failed to do.";
    Async = c"tollgate-async-operations", "Operations that a job of libcrypto was paused for.";
    Abandoned = c"tollgate-abandoned-operations",
        "Operations whose job was never continued: libcrypto leaks its stack.";
    Batch = c"tollgate-batches", "Batches of two RSA operations or more.";
    BatchedOperation = c"tollgate-batched-operations", "RSA operations in batches.";
    CurveBatch = c"tollgate-curve-batches", "Batches of two operations on a curve or more.";
    BatchedCurveOperation = c"tollgate-batched-curve-operations",
        "Operations on curves in batches.";
    UnwrittenMetrics = c"tollgate-unwritten-metrics",
        "Failed writes of the counters to their file.";
}

/// The counts of one provider in this process. They start when the provider is loaded, or at the
/// fork in a forked child.
pub(crate) struct Counters {
    numbers: [Number; Event::ALL.len()],
    /// The fork generation that the counts belong to. With the bit [`SWITCHING`], a thread of that
    /// generation is setting the parent's counts aside.
    process: AtomicU64,
}

/// A bit that no fork generation has.
const SWITCHING: u64 = 1 << 63;

/// One counter, on its own cache line.
#[derive(Default)]
#[repr(align(64))]
struct Number {
    counted: AtomicU64,
    /// The part of `counted` that the parent counted.
    inherited: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        let numbers = core::array::from_fn(|_| Number::default());
        Self { numbers, process: AtomicU64::new(process::fork_generation()) }
    }
}

impl Counters {
    /// Counts one event, and returns the fork generation of this process.
    pub(crate) fn count(&self, event: Event) -> u64 {
        self.add(event, 1)
    }

    /// Counts several events, and returns the fork generation of this process.
    pub(crate) fn add(&self, event: Event, events: usize) -> u64 {
        let process = self.take_over();
        self.numbers[event as usize].counted.fetch_add(events as u64, Ordering::Relaxed);
        process
    }

    /// Returns how often the event has occurred in this process.
    pub(crate) fn read(&self, event: Event) -> u64 {
        if self.process.load(Ordering::Acquire) != process::fork_generation() {
            return 0;
        }
        let Number { counted, inherited } = &self.numbers[event as usize];
        counted.load(Ordering::Relaxed) - inherited.load(Ordering::Relaxed)
    }

    /// Returns a number that increases with each count.
    pub(crate) fn sum(&self) -> u64 {
        Event::ALL.iter().map(|(event, ..)| self.read(*event)).sum()
    }

    /// Sets the parent's counts aside, once after each fork.
    fn take_over(&self) -> u64 {
        let current = process::fork_generation();
        loop {
            let found = self.process.load(Ordering::Acquire);
            if found == current {
                return current;
            }
            if found == current | SWITCHING {
                // Another thread is copying a few words.
                thread::yield_now();
                continue;
            }
            // Any other value belongs to a parent, whose threads do not exist in this process.
            let (order, or) = (Ordering::Acquire, Ordering::Relaxed);
            if self.process.compare_exchange(found, current | SWITCHING, order, or).is_ok() {
                for Number { counted, inherited } in &self.numbers {
                    inherited.store(counted.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                self.process.store(current, Ordering::Release);
                return current;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_count_in_a_child_sets_the_parent_s_aside() {
        let counters = Counters::default();
        counters.count(Event::Signature);
        counters.count(Event::Signature);
        assert_eq!((counters.read(Event::Signature), counters.sum()), (2, 2));
        // The second value is found in a child that was forked while a thread of its parent was
        // switching.
        let current = process::fork_generation();
        for parent in [current + 1, (current + 1) | SWITCHING] {
            counters.process.store(parent, Ordering::Relaxed);
            assert_eq!((counters.read(Event::Signature), counters.sum()), (0, 0));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| assert_eq!(counters.count(Event::Key), current));
                }
            });
            assert_eq!((counters.read(Event::Signature), counters.read(Event::Key)), (0, 4));
        }
    }
}
