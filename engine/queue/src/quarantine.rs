//! Units that are taken out, and come back; and the requests that no unit is left for.

use super::seat::Seat;
use super::state::{Guard, Shared, Told};
use crate::error::Error;
use crate::event::{Cause, Event};
use crate::job::Job;

impl<J: Job> Shared<J> {
    /// Returns the unit, to the idle ones or to quarantine.
    pub(crate) fn give_back<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        seat: Seat<J>,
        cause: Option<Cause>,
    ) -> Guard<'a, J> {
        match cause {
            None => {
                state.busy -= 1;
                state.idle.push(seat);
            }
            Some(cause) => {
                state.stats.quarantines += 1;
                state.quarantined.push((seat, cause));
                if state.healthy() == 1 {
                    // The last one, still counted: jobs that nobody can do must not take all units
                    // from the others, so that those which pass their tests come back.
                    drop(state);
                    self.readmit();
                    state = self.lock();
                }
                state.busy -= 1;
                if state.healthy() == 0 {
                    state = self.fail_all(state, &Error::NoUnit).0;
                    drop(state);
                    self.say(&Event::NoUnitLeft);
                    state = self.lock();
                }
            }
        }
        if state.is_closing {
            self.drained.notify_all();
            self.work.notify_all();
        }
        state
    }

    /// Ends everything in line; how much that was. Not for every day: it allocates.
    pub(crate) fn fail_all<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        why: &Error<J::Refusal>,
    ) -> (Guard<'a, J>, usize) {
        let (mut told, mut count) = (Told::with_room(0), 0);
        while let Some(place) = state.schedule.fail_first(why.clone()) {
            state.ended(place, &mut told);
            state.stats.failed += 1;
            count += 1;
        }
        drop(state);
        self.tell(&mut told);
        self.work.notify_all();
        (self.release_gone(&mut told), count)
    }

    /// Tests the units in quarantine, but for those whose code is at fault, and takes those back
    /// that pass; how many.
    pub(crate) fn readmit(&self) -> usize {
        let mut state = self.lock();
        let suspects = core::mem::take(&mut state.quarantined);
        drop(state);
        let mut back = 0;
        for (mut seat, cause) in suspects {
            if !cause.is_final() && seat.passes() {
                self.say(&Event::Readmitted { unit: seat.name() });
                back += 1;
                self.lock().idle.push(seat);
            } else {
                self.lock().quarantined.push((seat, cause));
            }
        }
        drop(self.hand_on(self.lock()));
        back
    }

    /// Takes a unit out before the engine begins.
    pub(crate) fn quarantine_at_start(&self, seat: Seat<J>) {
        let event = Event::Quarantined { unit: seat.name(), cause: Cause::SelfTest };
        let mut state = self.lock();
        state.stats.quarantines += 1;
        state.quarantined.push((seat, Cause::SelfTest));
        drop(state);
        self.say(&event);
    }
}
