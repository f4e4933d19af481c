//! Quarantine and readmission of units, and requests without a unit.

use super::state::{Guard, Shared};
use super::unit_slot::{Notifications, UnitSlot};
use crate::error::Error;
use crate::event::{Cause, Event};
use crate::job::Job;

impl<J: Job> Shared<J> {
    /// Returns a unit to the idle ones, or quarantines it.
    pub(crate) fn give_back<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        unit_slot: UnitSlot<J>,
        cause: Option<Cause>,
    ) -> Guard<'a, J> {
        match cause {
            None => {
                state.busy -= 1;
                state.idle.push(unit_slot);
            }
            Some(cause) => {
                state.stats.quarantines += 1;
                state.quarantined.push((unit_slot, cause));
                if state.healthy() == 1 {
                    // This was the last unit; it still counts as busy. Jobs that fail everywhere
                    // must not take all units away, so readmit units that pass their self tests.
                    drop(state);
                    self.readmit();
                    state = self.lock();
                }
                state.busy -= 1;
                if state.healthy() == 0 {
                    state = self.fail_all(state, &Error::NoUnit).0;
                    drop(state);
                    self.emit(&Event::NoUnitLeft);
                    state = self.lock();
                }
            }
        }
        if state.is_closing {
            self.drained.notify_all();
        }
        state
    }

    /// Ends all waiting requests with an error and returns their number. Allocates, so it is for
    /// rare events only.
    pub(crate) fn fail_all<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        why: &Error<J::Refusal>,
    ) -> (Guard<'a, J>, usize) {
        let (mut notifications, mut count) = (Notifications::with_room(0), 0);
        while let Some(slot) = state.schedule.fail_first(why.clone()) {
            state.record_owner(slot, &mut notifications);
            state.stats.failed += 1;
            count += 1;
        }
        drop(state);
        self.notify_owners(&mut notifications);
        (self.release_abandoned(&mut notifications), count)
    }

    /// Tests the quarantined units, except those with wrong code, and readmits those that pass;
    /// returns how many.
    pub(crate) fn readmit(&self) -> usize {
        let mut state = self.lock();
        let suspects = core::mem::take(&mut state.quarantined);
        drop(state);
        let mut back = 0;
        for (mut unit_slot, cause) in suspects {
            if !cause.is_final() && unit_slot.passes() {
                self.emit(&Event::Readmitted { unit: unit_slot.name() });
                back += 1;
                self.lock().idle.push(unit_slot);
            } else {
                self.lock().quarantined.push((unit_slot, cause));
            }
        }
        drop(self.wake_next(self.lock()));
        back
    }

    /// Quarantines a unit before the queue starts.
    pub(crate) fn quarantine_at_start(&self, unit_slot: UnitSlot<J>) {
        let event = Event::Quarantined { unit: unit_slot.name(), cause: Cause::SelfTest };
        let mut state = self.lock();
        state.stats.quarantines += 1;
        state.quarantined.push((unit_slot, Cause::SelfTest));
        drop(state);
        self.emit(&event);
    }
}
