//! What a provider has done in its library context: relaxed counters.
//!
//! A forked process starts with its parent's numbers; whoever counts per process subtracts them.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

/// Operations that ended well, and keys, since the provider was loaded.
///
/// `OSSL_PROVIDER_get_params` answers them as unsigned integers, by the names of
/// [`all`](Self::all).
#[derive(Default)]
pub(crate) struct Counters {
    /// Private operations that made a signature.
    pub(crate) signatures: Counter,
    /// Signatures found valid, messages recovered from them included.
    pub(crate) verifications: Counter,
    /// Private operations that decrypted, whatever the padding held.
    pub(crate) decryptions: Counter,
    /// Messages encrypted.
    pub(crate) encryptions: Counter,
    /// Keys imported, or made.
    pub(crate) keys: Counter,
    /// Keys refused, which OpenSSL's own provider then serves.
    pub(crate) refused_keys: Counter,
}

impl Counters {
    pub(crate) fn all(&self) -> [(&'static CStr, &Counter); 6] {
        [
            (c"tollgate-signatures", &self.signatures),
            (c"tollgate-verifications", &self.verifications),
            (c"tollgate-decryptions", &self.decryptions),
            (c"tollgate-encryptions", &self.encryptions),
            (c"tollgate-keys", &self.keys),
            (c"tollgate-refused-keys", &self.refused_keys),
        ]
    }
}

/// A number of events, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
