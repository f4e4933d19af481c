//! The locks and clocks of the queue; its tests put loom's in their slot.

#[cfg(not(target_os = "linux"))]
pub(crate) use core::sync::atomic::AtomicU32;
pub(crate) use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::yield_now;
use std::time::Instant;

pub(crate) use crate::futex::Futex;

/// Looks, with the processor yielded in between, that may bring nothing one after the other. One
/// of them takes less than a microsecond if nobody else wants the core, and those who are awaited
/// may have to cross from another one.
pub(crate) const FRUITLESS_YIELDS_MAX: usize = 32;

pub(crate) fn time_since(begin: Instant) -> Duration {
    begin.elapsed()
}
