//! Locks and clocks of the queue; the loom tests replace this module.

#[cfg(not(target_os = "linux"))]
pub(crate) use core::sync::atomic::AtomicU32;
pub(crate) use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::yield_now;
use std::time::Instant;

pub(crate) use crate::futex::Futex;

/// Consecutive yields that bring no request before a leader stops yielding. A yield takes less than
/// a microsecond on an idle core, and the expected threads may have to migrate from another core.
pub(crate) const FRUITLESS_YIELDS_MAX: usize = 32;

pub(crate) fn time_since(begin: Instant) -> Duration {
    begin.elapsed()
}
