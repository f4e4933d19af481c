//! The locks of the engine; its tests put loom's in their place.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::yield_now;
