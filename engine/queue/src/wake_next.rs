//! Who is woken: those whose requests ended, and whoever is to lead next.

use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::catch_unwind;

use super::state::{Guard, Notifications, Shared, State};
use crate::event::Event;
use crate::job::Job;

impl<J: Job> Shared<J> {
    /// Whether an idle unit is for a thread that waits: it is alone in line, or no worker can come.
    ///
    /// Where many threads lead in turn, the next leader is on the core where it was woken: two
    /// may come to share one core while another has none. Workers stay where they are.
    pub(crate) fn caller_may_lead(&self, state: &mut State<J>) -> bool {
        !state.idle.is_empty() && (state.schedule.depth() == 1 || !self.wake_worker(state))
    }

    /// Wakes a worker for an idle unit; whether one is on its way to each.
    pub(crate) fn wake_worker(&self, state: &mut State<J>) -> bool {
        if state.workers_woken < state.workers_idle.min(state.idle.len()) {
            state.workers_woken += 1;
            self.work.notify_one();
        }
        state.workers_woken >= state.idle.len()
    }

    /// If a unit is idle and somebody is in line, somebody who will lead is woken: a worker if
    /// several are in line, else a thread that sleeps, else a worker, else every task, since one
    /// alone may never be polled again.
    pub(crate) fn wake_next<'a>(&'a self, mut state: Guard<'a, J>) -> Guard<'a, J> {
        if state.idle.is_empty() || state.schedule.depth() == 0 {
            return state;
        }
        if state.schedule.depth() > 1 && self.wake_worker(&mut state) {
            return state;
        }
        if let Some(slot) = state.schedule.next_sleeping_thread() {
            self.thread_wakers.ring(&mut [slot]);
        } else if state.workers > 0 {
            self.wake_worker(&mut state);
        } else {
            let mut tasks = core::mem::take(&mut state.tasks);
            state.schedule.take_tasks(&mut tasks);
            drop(state);
            self.wake(&mut tasks);
            state = self.lock();
            state.tasks = tasks;
        }
        state
    }

    /// Tells owners; outside of the lock, which they want.
    pub(crate) fn notify_owners(&self, notifications: &mut Notifications<J>) {
        self.thread_wakers.ring(&mut notifications.threads);
        notifications.threads.clear();
        self.wake(&mut notifications.tasks);
    }

    /// Wipes, outside of the lock, what nobody wants, and frees its slots.
    pub(crate) fn release_gone(&self, notifications: &mut Notifications<J>) -> Guard<'_, J> {
        notifications.gone.iter_mut().for_each(|(_, request, _)| request.wipe());
        let mut state = self.lock();
        for (slot, request, _) in notifications.gone.drain(..) {
            state.schedule.release(slot, request);
        }
        state
    }

    fn wake(&self, tasks: &mut Vec<Waker>) {
        for task in tasks.drain(..) {
            self.call(|| task.wake());
        }
    }

    /// Runs a stranger's code: its panic is counted, said, and goes no further.
    pub(crate) fn call(&self, code: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(code)).is_err() {
            self.lock().stats.callback_panics += 1;
            self.emit(&Event::CallbackPanicked);
        }
    }

    /// A listener that panics hears nothing more of this event, and nobody hears of that.
    pub(crate) fn emit(&self, event: &Event) {
        if let Some(listener) = &self.config.on_event {
            let _ = catch_unwind(AssertUnwindSafe(|| listener(event)));
        }
    }
}
