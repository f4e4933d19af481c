//! Wakes the owners of ended requests, and the leader of the next batch.

use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::catch_unwind;

use super::state::{Guard, Shared};
use super::unit_slot::Notifications;
use crate::event::Event;
use crate::job::Job;

impl<J: Job> Shared<J> {
    /// If a unit is idle and requests wait, wakes a leader: a sleeping thread, or else every
    /// waiting task, since a single task may never be polled again.
    pub(crate) fn wake_next<'a>(&'a self, mut state: Guard<'a, J>) -> Guard<'a, J> {
        if state.idle.is_empty() || state.schedule.depth() == 0 {
            return state;
        }
        if let Some(slot) = state.schedule.next_sleeping_thread() {
            self.thread_wakers.wake(&mut [slot]);
        } else {
            let mut tasks = core::mem::take(&mut state.tasks);
            state.schedule.take_tasks(&mut tasks);
            drop(state);
            Self::wake(&mut tasks);
            state = self.lock();
            state.tasks = tasks;
        }
        state
    }

    /// Wakes owners. Call it without the lock, which they take.
    pub(crate) fn notify_owners(&self, notifications: &mut Notifications<J>) {
        self.thread_wakers.wake(&mut notifications.threads);
        notifications.threads.clear();
        Self::wake(&mut notifications.tasks);
    }

    /// Wipes abandoned requests without the lock, then frees their slots.
    pub(crate) fn release_abandoned(&self, notifications: &mut Notifications<J>) -> Guard<'_, J> {
        notifications.abandoned.iter_mut().for_each(|(_, request, _)| request.wipe());
        let mut state = self.lock();
        for (slot, request, _) in notifications.abandoned.drain(..) {
            state.schedule.release(slot, request);
        }
        state
    }

    fn wake(tasks: &mut Vec<Waker>) {
        for task in tasks.drain(..) {
            Self::call(|| task.wake());
        }
    }

    /// Runs foreign code, and ignores its panics.
    fn call(code: impl FnOnce()) {
        let _ = catch_unwind(AssertUnwindSafe(code));
    }

    /// Calls the listener and ignores its panics.
    pub(crate) fn emit(&self, event: &Event) {
        if let Some(listener) = &self.config.on_event {
            Self::call(|| listener(event));
        }
    }
}
