//! A leader waits for further requests before it runs a batch.

use std::time::Instant;

use super::state::{Guard, Shared, State};
use super::sync::{FRUITLESS_YIELDS_MAX, time_since, yield_now};
use super::ticket::RunBatch;
use super::unit_slot::{LastBatch, UnitSlot};
use crate::job::{Class, Job};

impl<J: Job> Shared<J> {
    /// Waits for the expected requests. First yields the processor to the callers of the last
    /// batch; then lingers if the configuration allows it.
    pub(crate) fn gather<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        unit_slot: &mut UnitSlot<J>,
    ) -> Guard<'a, J> {
        if let Some(last) = unit_slot.last_batch.take() {
            state = self.yield_to(state, &last);
        }
        let Some(class) = state.schedule.next_class() else {
            return state;
        };
        let room = unit_slot.room(class);
        let arrivals = state.arrivals.of(class);
        let awaited = arrivals.awaited(room);
        let linger = arrivals.linger(awaited.saturating_sub(state.schedule.depth_of(class)));
        if linger.is_zero() || state.is_closing {
            return state;
        }
        let begin = Instant::now();
        state.lingering += 1;
        while state.schedule.depth_of(class) < awaited && !state.is_closing {
            let left = linger.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break;
            }
            state = self.sleep(&self.arrived, state, Some(left));
        }
        state.lingering -= 1;
        state.stats.lingered += 1;
        state
    }

    /// Yields the processor until the number of waiting requests is one more than in the last
    /// batch. Stops earlier when yielding brings no more requests, or after 1/16 of the last
    /// service time.
    fn yield_to<'a>(&'a self, mut state: Guard<'a, J>, last: &LastBatch) -> Guard<'a, J> {
        let expected = last.room.min(last.requests + 1);
        let begin = Instant::now();
        let mut fruitless = 0;
        while state.schedule.depth() < expected && fruitless < FRUITLESS_YIELDS_MAX {
            let depth = state.schedule.depth();
            drop(state);
            yield_now();
            state = self.lock();
            if state.schedule.depth() > depth {
                fruitless = 0;
            } else if time_since(begin) > last.service / 16 {
                break;
            } else {
                fruitless += 1;
            }
        }
        state
    }
}

impl<J: Job> State<J> {
    /// Returns `true` if a polling thread should lead the waiting batch of this class now.
    pub(crate) fn is_time_to_lead(&self, class: Class, run_batch: RunBatch) -> bool {
        let (Some(first), Some(unit_slot)) = (self.schedule.next_of(class), self.idle.last())
        else {
            return false;
        };
        let (room, depth) = (unit_slot.room(class), self.schedule.depth_of(class));
        match run_batch {
            RunBatch::Always => true,
            RunBatch::IfFull => depth >= room.max(2),
            RunBatch::IfDue => {
                let arrivals = self.arrivals.of(class);
                let linger = arrivals.linger(arrivals.awaited(room).saturating_sub(depth));
                time_since(self.schedule.since(first)) >= linger
            }
        }
    }
}
