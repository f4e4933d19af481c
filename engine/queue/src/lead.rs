//! Who holds a unit: taking the batch that is next in line, running it, telling its owners, and
//! handing the unit on.

use std::time::Instant;

use super::seat::{Company, Seat, Verdict};
use super::state::{Guard, Shared, State};
use crate::event::Event;
use crate::job::{Job, Request};
use crate::schedule::{Owner, Taken};

impl<J: Job> Shared<J> {
    /// Puts a filled request in line.
    pub(crate) fn enqueue(&self, state: &mut State<J>, place: usize, request: Box<Request<J>>) {
        let (now, depth) = (Instant::now(), state.schedule.depth());
        state.stats.submitted += 1;
        state.stats.queue_depth.record(u64::try_from(depth).unwrap_or(u64::MAX));
        state.arrivals.note(now);
        state.schedule.enqueue(place, request, now);
        if state.lingering > 0 {
            self.company.notify_all();
        }
    }

    /// Waits for the request of a place, leading while it is in line and a unit is idle, and takes
    /// it. `None` at the deadline, which a batch that was begun before it may overrun.
    pub(crate) fn wait(&self, place: usize, deadline: Option<Instant>) -> Option<Taken<J>> {
        let mut state = self.lock();
        // A stranger's waker, if the ticket was polled before: it goes outside of the lock.
        let _waker = core::mem::replace(state.schedule.owner(place), Owner::Nobody);
        let taken = loop {
            if let Some(taken) = state.schedule.claim(place) {
                break Some(taken);
            }
            if deadline.is_some_and(|at| at <= Instant::now()) {
                break None;
            }
            if state.schedule.is_queued(place)
                && self.is_for_a_thread(&mut state)
                && let Some(seat) = state.idle.pop()
            {
                state = self.lead(state, seat);
                continue;
            }
            // Called to lead, and taken along by another: then somebody else is to lead what is
            // left. The lock may be free meanwhile, so look again before sleeping.
            state = self.hand_on(state);
            let may_lead = state.schedule.is_queued(place) && self.is_for_a_thread(&mut state);
            if may_lead || state.schedule.is_done(place) {
                continue;
            }
            *state.schedule.owner(place) = Owner::Thread { called: false };
            self.bells.silence(place);
            drop(state);
            self.bells.sleep(place, deadline);
            state = self.lock();
            *state.schedule.owner(place) = Owner::Nobody;
        };
        drop(self.hand_on(state));
        taken
    }

    /// Holds the unit for one batch, whose owners are told before anybody else gets it.
    pub(crate) fn lead<'a>(&'a self, mut state: Guard<'a, J>, mut seat: Seat<J>) -> Guard<'a, J> {
        state.busy += 1;
        state = self.gather(state, &mut seat);
        self.lead_gathered(state, seat)
    }

    /// The same for who must not wait, and whose company does not come while it works: it is taken
    /// as it is.
    pub(crate) fn lead_at_once<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        seat: Seat<J>,
    ) -> Guard<'a, J> {
        state.busy += 1;
        self.lead_gathered(state, seat)
    }

    fn lead_gathered<'a>(&'a self, mut state: Guard<'a, J>, mut seat: Seat<J>) -> Guard<'a, J> {
        let Some(class) = state.schedule.next_class() else {
            return self.give_back(state, seat, None);
        };
        state.schedule.next_batch(&*seat.unit, &mut seat.batch);
        let requests = seat.batch.places.len();
        state.arrivals.begin(requests);
        drop(self.hand_on(state)); // more than one batch may be in line
        let begin = Instant::now();
        let verdict = seat.run();
        let end = Instant::now();
        seat.company = (requests > 1).then(|| Company {
            requests,
            room: seat.room(class),
            service: end - begin,
        });

        let mut state = self.lock();
        state.stats.fill[seat.batch.places.len()] += 1;
        state.stats.service_ns.record_time(end - begin);
        state.end(&mut seat, verdict.cause(), end);
        let has_callbacks = !state.finished.is_empty();
        drop(state);
        if has_callbacks {
            self.work.notify_one();
        }
        self.tell(&mut seat.told);
        if let Verdict::Condemned(cause) = verdict {
            self.say(&Event::Quarantined { unit: seat.name(), cause });
        }
        let state = self.release_gone(&mut seat.told);
        let state = self.give_back(state, seat, verdict.cause());
        if verdict == Verdict::Acquitted {
            drop(state);
            self.readmit();
            return self.lock();
        }
        state
    }
}
