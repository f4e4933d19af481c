//! What the provider has done since the process started: relaxed counters of the whole process.
//!
//! A forked process starts with its parent's numbers; whoever counts per process subtracts them.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering};

/// Operations that ended well, and keys; numbers since the process started.
///
/// The provider answers the same by `OSSL_PROVIDER_get_params`, as unsigned integers of 64 bits
/// named `tollgate-signatures` and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `tollgate-signatures`: private operations that made a signature.
    pub signatures: u64,
    /// `tollgate-verifications`: signatures found valid, messages recovered from them included.
    pub verifications: u64,
    /// `tollgate-decryptions`: private operations that decrypted, whatever the padding held.
    pub decryptions: u64,
    /// `tollgate-encryptions`: messages encrypted.
    pub encryptions: u64,
    /// `tollgate-keys`: keys imported.
    pub keys: u64,
    /// `tollgate-refused-keys`: keys refused, which OpenSSL's own provider then serves.
    pub refused_keys: u64,
}

/// The counters of this process, over all library contexts that loaded the provider.
pub fn counters() -> Counters {
    Counters {
        signatures: SIGNATURES.read(),
        verifications: VERIFICATIONS.read(),
        decryptions: DECRYPTIONS.read(),
        encryptions: ENCRYPTIONS.read(),
        keys: KEYS.read(),
        refused_keys: REFUSED_KEYS.read(),
    }
}

/// A number of events, on a cache line of its own.
#[repr(align(64))]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) static SIGNATURES: Counter = Counter(AtomicU64::new(0));
pub(crate) static VERIFICATIONS: Counter = Counter(AtomicU64::new(0));
pub(crate) static DECRYPTIONS: Counter = Counter(AtomicU64::new(0));
pub(crate) static ENCRYPTIONS: Counter = Counter(AtomicU64::new(0));
pub(crate) static KEYS: Counter = Counter(AtomicU64::new(0));
pub(crate) static REFUSED_KEYS: Counter = Counter(AtomicU64::new(0));
