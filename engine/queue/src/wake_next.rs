//! Wakes the owners of ended requests, and the leader of the next batch.

use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::catch_unwind;

use super::state::{Guard, Shared, State};
use super::unit_slot::Notifications;
use crate::event::Event;
use crate::job::Job;

impl<J: Job> Shared<J> {
    /// Returns `true` if a waiting thread should take an idle unit: its request is the only one, or
    /// no worker can lead.
    ///
    /// Workers lead longer queues, because they stay on their cores. Threads that lead in turn are
    /// woken on the leader's core, and may share it while another core is idle.
    pub(crate) fn thread_may_lead(&self, state: &mut State<J>) -> bool {
        !state.idle.is_empty() && (state.schedule.depth() == 1 || !self.wake_worker(state))
    }

    /// Wakes an idle worker if there are more idle units than woken workers. Returns `true` if each
    /// idle unit has a woken worker.
    pub(crate) fn wake_worker(&self, state: &mut State<J>) -> bool {
        if state.workers_woken < state.workers_idle.min(state.idle.len()) {
            state.workers_woken += 1;
            self.work.notify_one();
        }
        state.workers_woken >= state.idle.len()
    }

    /// If a unit is idle and requests wait, wakes a leader. The candidates, in this order: a worker
    /// if several requests wait, a sleeping thread, a worker, and every waiting task, since a
    /// single task may never be polled again.
    pub(crate) fn wake_next<'a>(&'a self, mut state: Guard<'a, J>) -> Guard<'a, J> {
        if state.idle.is_empty() || state.schedule.depth() == 0 {
            return state;
        }
        if state.schedule.depth() > 1 && self.wake_worker(&mut state) {
            return state;
        }
        if let Some(slot) = state.schedule.next_sleeping_thread() {
            self.thread_wakers.wake(&mut [slot]);
        } else if state.workers > 0 {
            self.wake_worker(&mut state);
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
