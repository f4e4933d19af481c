//! The leader of a batch: takes the next batch, runs it, wakes its owners, and returns the unit.

use std::time::Instant;

use super::state::{Guard, Shared, State};
use super::unit_slot::{LastBatch, UnitHealth, UnitSlot};
use crate::event::Event;
use crate::job::{Class, Job, Request};
use crate::schedule::{Owner, Taken};

impl<J: Job> Shared<J> {
    /// Adds a filled request to the waiting ones.
    pub(crate) fn enqueue(&self, state: &mut State<J>, slot: usize, request: Box<Request<J>>) {
        let now = Instant::now();
        state.stats.submitted += 1;
        state.arrivals.of_mut(request.class).note(now);
        state.schedule.enqueue(slot, request, now);
        if state.lingering > 0 {
            self.arrived.notify_all();
        }
    }

    /// Waits for the request of a slot and takes it; leads batches while it waits and a unit is
    /// idle.
    pub(crate) fn wait(&self, slot: usize) -> Taken<J> {
        let mut state = self.lock();
        // The waker of an earlier poll is foreign code: it is dropped outside the lock.
        let _waker = core::mem::replace(state.schedule.owner(slot), Owner::None);
        let taken = loop {
            if let Some(taken) = state.schedule.claim(slot) {
                break taken;
            }
            if state.schedule.is_queued(slot)
                && let Some(unit_slot) = state.idle.pop()
            {
                state = self.lead(state, unit_slot);
                continue;
            }
            // This thread may have been woken to lead a batch that another leader took. Then
            // another thread must lead the rest. `wake_next` may unlock, so check again before
            // sleeping.
            state = self.wake_next(state);
            let may_lead = state.schedule.is_queued(slot) && !state.idle.is_empty();
            if may_lead || state.schedule.is_done(slot) {
                continue;
            }
            *state.schedule.owner(slot) = Owner::Thread { called: false };
            self.thread_wakers.clear(slot);
            drop(state);
            self.thread_wakers.sleep(slot);
            state = self.lock();
            *state.schedule.owner(slot) = Owner::None;
        };
        drop(self.wake_next(state));
        taken
    }

    /// Waits for further requests and runs a batch: see [`lead_gathered`](Self::lead_gathered).
    pub(crate) fn lead<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        mut unit_slot: UnitSlot<J>,
    ) -> Guard<'a, J> {
        state.busy += 1;
        state = self.gather(state, &mut unit_slot);
        match state.schedule.next_class() {
            Some(class) => self.lead_gathered(state, unit_slot, class),
            None => self.give_back(state, unit_slot, None),
        }
    }

    /// Runs one batch of a class that has waiting requests. The unit counts as busy already. Wakes
    /// the owners before the unit is returned.
    pub(crate) fn lead_gathered<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        mut unit_slot: UnitSlot<J>,
        class: Class,
    ) -> Guard<'a, J> {
        let room = unit_slot.room(class);
        state.schedule.next_batch(class, room, &mut unit_slot.batch);
        let requests = unit_slot.batch.slots.len();
        state.arrivals.of_mut(class).begin(requests);
        drop(self.wake_next(state)); // more than one batch may wait
        let begin = Instant::now();
        let health = unit_slot.run();
        let service = begin.elapsed();
        unit_slot.last_batch = (requests > 1).then_some(LastBatch { requests, room, service });

        let mut state = self.lock();
        state.stats.fill[unit_slot.batch.slots.len()] += 1;
        state.end(&mut unit_slot, health.cause());
        drop(state);
        self.notify_owners(&mut unit_slot.notifications);
        if let UnitHealth::Faulty(cause) = health {
            self.emit(&Event::Quarantined { unit: unit_slot.name(), cause });
        }
        let state = self.release_abandoned(&mut unit_slot.notifications);
        let state = self.give_back(state, unit_slot, health.cause());
        if health == UnitHealth::Cleared {
            drop(state);
            self.readmit();
            return self.lock();
        }
        state
    }
}
