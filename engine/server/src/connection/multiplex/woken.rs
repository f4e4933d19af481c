//! Wakers of the library that speaks HTTP/2. They set a flag, which the connection reads in its turn.

use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;
use std::sync::Arc;
use std::task::Wake;

#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A flag with its waker.
#[derive(Debug)]
pub(super) struct Woken {
    flag: Arc<Flag>,
    waker: Waker,
}

impl Woken {
    pub(super) fn new() -> Self {
        let flag = Arc::new(Flag::default());
        Self { waker: Waker::from(Arc::clone(&flag)), flag }
    }

    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    pub(super) fn set(&self) {
        self.flag.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag was set, and clears it.
    pub(super) fn take(&self) -> bool {
        // one thread sets and clears it
        let was_set = self.flag.0.load(Ordering::Relaxed);
        if was_set {
            self.flag.0.store(false, Ordering::Relaxed);
        }
        was_set
    }
}
