//! Who holds a unit: taking the batch that is next in line, running it, telling its owners, and
//! handing the unit on.

use core::panic::AssertUnwindSafe;
use core::task::Waker;
use core::time::Duration;
use std::collections::VecDeque;
use std::panic::catch_unwind;
use std::sync::PoisonError;
use std::time::Instant;

use super::sync::{Condvar, Mutex, MutexGuard, YIELDS_IN_VAIN_MAX, time_since, yield_now};
use crate::arrivals::Arrivals;
use crate::config::Config;
use crate::error::Error;
use crate::event::{Cause, Event};
use crate::job::{Class, Job, Outcome, Request};
use crate::schedule::{Batch, End, Owner, Schedule};
use crate::stats::Stats;
use crate::unit::{Unit, width};

/// What all handles, tickets and workers of an engine share.
pub(crate) struct Shared<J: Job> {
    state: Mutex<State<J>>,
    /// One per place: its sleeping thread.
    bells: Vec<Condvar>,
    /// Workers without work.
    pub(crate) work: Condvar,
    /// Leaders that linger.
    company: Condvar,
    /// Who shuts down.
    pub(crate) drained: Condvar,
    pub(crate) config: Config,
    /// The process that made it. A child has its memory, and none of its threads.
    process: u32,
}

pub(crate) type Guard<'a, J> = MutexGuard<'a, State<J>>;

/// What the lock covers.
pub(crate) struct State<J: Job> {
    pub(crate) schedule: Schedule<J>,
    pub(crate) idle: Vec<Seat<J>>,
    /// Units that somebody runs.
    pub(crate) busy: usize,
    quarantined: Vec<(Seat<J>, Cause)>,
    pub(crate) is_closing: bool,
    /// Ended requests whose callbacks a worker will call.
    pub(crate) finished: VecDeque<usize>,
    /// Callbacks that are being called.
    pub(crate) calling: usize,
    pub(crate) workers: usize,
    /// Workers without work, asleep or about to look again.
    pub(crate) resting: usize,
    /// How many of them were told to lead and have not looked yet.
    pub(crate) summoned: usize,
    pub(crate) stats: Stats,
    /// Leaders that linger.
    lingering: usize,
    arrivals: Arrivals,
    /// Room to wake tasks from.
    tasks: Vec<Waker>,
}

/// A unit and the room for its batch.
pub(crate) struct Seat<J: Job> {
    unit: Box<dyn Unit<J>>,
    batch: Batch<J>,
    /// Of its last batch, unless it had one request.
    company: Option<Company>,
    bells: Vec<usize>,
    tasks: Vec<Waker>,
}

/// A batch of more than one request: those whom it served may come again.
struct Company {
    requests: usize,
    room: usize,
    service: Duration,
}

impl<J: Job> Seat<J> {
    pub(crate) fn new(unit: Box<dyn Unit<J>>, room: usize) -> Self {
        let (bells, tasks) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { unit, batch: Batch::with_room(room), company: None, bells, tasks }
    }

    pub(crate) fn passes(&mut self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.unit.self_test().is_ok())).unwrap_or(false)
    }

    /// How many requests of a class its batch takes.
    fn room(&self, class: Class) -> usize {
        width(&*self.unit, class).clamp(1, self.batch.places.capacity())
    }

    fn name(&self) -> String {
        self.unit.name().to_owned()
    }

    /// Runs the batch; why the unit is to be taken out, if it is.
    fn run(&mut self) -> (Option<Cause>, bool) {
        let requests = &mut self.batch.requests;
        if catch_unwind(AssertUnwindSafe(|| self.unit.run(requests))).is_err() {
            return (Some(Cause::Panic), false);
        }
        let faults = || self.batch.requests.iter().filter(|request| request.is_fault());
        if faults().next().is_none() {
            return (None, false);
        }
        // What failed on two units is itself to blame, if this one passes its test.
        if faults().all(|request| request.is_retry) && self.passes() {
            return (None, true);
        }
        (Some(Cause::Check), false)
    }
}

impl<J: Job> Shared<J> {
    pub(crate) fn new(config: Config, units: Vec<Seat<J>>, room: usize) -> Self {
        let capacity = config.capacity;
        let state = State {
            schedule: Schedule::new(capacity, config.places_per_caller_max),
            busy: 0,
            quarantined: Vec::with_capacity(units.len()),
            is_closing: false,
            finished: VecDeque::with_capacity(capacity),
            calling: 0,
            workers: 0,
            resting: 0,
            summoned: 0,
            stats: Stats::new(room, capacity),
            lingering: 0,
            arrivals: Arrivals::new(config.linger_max()),
            tasks: Vec::with_capacity(capacity),
            idle: units,
        };
        Self {
            state: Mutex::new(state),
            bells: (0..capacity).map(|_| Condvar::new()).collect(),
            work: Condvar::new(),
            company: Condvar::new(),
            drained: Condvar::new(),
            config,
            process: std::process::id(),
        }
    }

    /// Whether this is the process that made the engine; asked before any lock is taken, because a
    /// thread that the child does not have may hold it for ever.
    pub(crate) fn check_process(&self) -> Result<(), Error<J::Refusal>> {
        if self.is_home() { Ok(()) } else { Err(Error::Forked) }
    }

    pub(crate) fn is_home(&self) -> bool {
        std::process::id() == self.process
    }

    /// Strangers' code never runs under the lock, so that nothing in it is half done.
    pub(crate) fn lock(&self) -> Guard<'_, J> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until rung, or until the time is over.
    pub(crate) fn sleep<'a>(
        &self,
        bell: &Condvar,
        state: Guard<'a, J>,
        left: Option<Duration>,
    ) -> Guard<'a, J> {
        match left {
            None => bell.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(left) => bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        }
    }

    /// Waits for the request of a place, leading while it is in line and a unit is idle. False at
    /// the deadline, which a batch that was begun before it may overrun.
    pub(crate) fn wait(&self, place: usize, deadline: Option<Instant>) -> bool {
        let mut state = self.lock();
        // A stranger's waker, if the ticket was polled before: it goes outside of the lock.
        let _waker = core::mem::replace(state.schedule.owner(place), Owner::Nobody);
        let is_done = loop {
            if state.schedule.is_done(place) {
                break true;
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break false;
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
            state = self.sleep(&self.bells[place], state, left);
            *state.schedule.owner(place) = Owner::Nobody;
        };
        drop(self.hand_on(state));
        is_done
    }

    /// Holds the unit for one batch, whose owners are told before anybody else gets it.
    pub(crate) fn lead<'a>(&'a self, mut state: Guard<'a, J>, mut seat: Seat<J>) -> Guard<'a, J> {
        state.busy += 1;
        state = self.gather(state, &mut seat);
        let Some(class) = state.schedule.next_class() else {
            return self.give_back(state, seat, None);
        };
        state.schedule.next_batch(&*seat.unit, &mut seat.batch);
        let requests = seat.batch.places.len();
        state.arrivals.begin(requests);
        drop(self.hand_on(state)); // more than one batch may be in line
        let begin = Instant::now();
        let (cause, acquits) = seat.run();
        let end = Instant::now();
        seat.company = (requests > 1).then(|| Company {
            requests,
            room: seat.room(class),
            service: end - begin,
        });

        let mut state = self.lock();
        state.stats.fill[seat.batch.places.len()] += 1;
        state.stats.service_ns.record_time(end - begin);
        state.end(&mut seat, cause, end);
        let has_callbacks = !state.finished.is_empty();
        drop(state);
        if has_callbacks {
            self.work.notify_one();
        }
        self.tell(&mut seat);
        if let Some(cause) = cause {
            self.say(&Event::Quarantined { unit: seat.name(), cause });
        }
        let state = self.give_back(self.lock(), seat, cause);
        if acquits {
            drop(state);
            self.readmit();
            return self.lock();
        }
        state
    }

    /// Returns the unit, to the idle ones or to quarantine.
    fn give_back<'a>(
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

    /// Lets company come, where some is to be expected: the processor is yielded to those whom the
    /// last batch served, and a clock is waited on if the caller allows it.
    fn gather<'a>(&'a self, mut state: Guard<'a, J>, seat: &mut Seat<J>) -> Guard<'a, J> {
        if let Some(company) = seat.company.take() {
            state = self.yield_to(state, &company);
        }
        let Some(class) = state.schedule.next_class() else {
            return state;
        };
        let room = seat.room(class);
        let awaited = state.arrivals.awaited(room);
        let missing = awaited.saturating_sub(state.schedule.depth());
        let patience = state.arrivals.patience(missing);
        if patience.is_zero() || state.is_closing {
            return state;
        }
        let begin = Instant::now();
        state.lingering += 1;
        while state.schedule.depth() < awaited && !state.is_closing {
            let left = patience.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break;
            }
            state = self.sleep(&self.company, state, Some(left));
        }
        state.lingering -= 1;
        state.stats.linger_ns.record_time(begin.elapsed());
        state
    }

    /// Yields the processor until as many came as were there, and one more; while that brings
    /// some, and for no more than a share of what an empty lane costs.
    fn yield_to<'a>(&'a self, mut state: Guard<'a, J>, company: &Company) -> Guard<'a, J> {
        let expected = company.room.min(company.requests + 1);
        let begin = Instant::now();
        let mut in_vain = 0;
        while state.schedule.depth() < expected && in_vain < YIELDS_IN_VAIN_MAX {
            let depth = state.schedule.depth();
            drop(state);
            yield_now();
            state = self.lock();
            if state.schedule.depth() > depth {
                in_vain = 0;
            } else if time_since(begin) > company.service / 16 {
                break;
            } else {
                in_vain += 1;
            }
        }
        state
    }

    /// Whether an idle unit is for a thread that waits: it is alone in line, or no worker can come.
    ///
    /// Where many threads lead in turn, the next leader is on the core where it was woken: two
    /// may come to share one core while another has none. Workers stay where they are.
    fn is_for_a_thread(&self, state: &mut State<J>) -> bool {
        !state.idle.is_empty() && (state.schedule.depth() == 1 || !self.summon(state))
    }

    /// Wakes a worker for an idle unit; whether one is on its way to each.
    pub(crate) fn summon(&self, state: &mut State<J>) -> bool {
        if state.summoned < state.resting.min(state.idle.len()) {
            state.summoned += 1;
            self.work.notify_one();
        }
        state.summoned >= state.idle.len()
    }

    /// If a unit is idle and somebody is in line, somebody who will lead is woken: a worker if
    /// several are in line, else a thread that sleeps, else a worker, else every task, since one
    /// alone may never be polled again.
    pub(crate) fn hand_on<'a>(&'a self, mut state: Guard<'a, J>) -> Guard<'a, J> {
        if state.idle.is_empty() || state.schedule.depth() == 0 {
            return state;
        }
        if state.schedule.depth() > 1 && self.summon(&mut state) {
            return state;
        }
        if let Some(place) = state.schedule.call_successor() {
            self.bells[place].notify_one();
        } else if state.workers > 0 {
            self.summon(&mut state);
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
    fn tell(&self, seat: &mut Seat<J>) {
        seat.bells.drain(..).for_each(|place| self.bells[place].notify_one());
        self.wake(&mut seat.tasks);
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
            self.say(&Event::CallbackPanicked);
        }
    }

    /// A listener that panics hears nothing more of this event, and nobody hears of that.
    pub(crate) fn say(&self, event: &Event) {
        if let Some(listener) = &self.config.on_event {
            let _ = catch_unwind(AssertUnwindSafe(|| listener(event)));
        }
    }

    /// Ends everything in line; how much that was. Not for every day: it allocates.
    pub(crate) fn fail_all<'a>(
        &'a self,
        mut state: Guard<'a, J>,
        why: &Error<J::Refusal>,
    ) -> (Guard<'a, J>, usize) {
        let (mut bells, mut tasks, mut count) = (Vec::new(), Vec::new(), 0);
        while let Some(place) = state.schedule.fail_first(why.clone()) {
            state.ended(place, &mut bells, &mut tasks);
            state.stats.failed += 1;
            count += 1;
        }
        drop(state);
        bells.drain(..).for_each(|place: usize| self.bells[place].notify_one());
        self.wake(&mut tasks);
        self.work.notify_all();
        (self.lock(), count)
    }

    /// Tests the units in quarantine, but for those that panicked, and takes those back that pass;
    /// how many.
    pub(crate) fn readmit(&self) -> usize {
        let mut state = self.lock();
        let suspects = core::mem::take(&mut state.quarantined);
        drop(state);
        let mut back = 0;
        for (mut seat, cause) in suspects {
            if cause != Cause::Panic && seat.passes() {
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

impl<J: Job> State<J> {
    /// Units in use.
    pub(crate) fn healthy(&self) -> usize {
        self.idle.len() + self.busy
    }

    /// For a worker: an idle unit, if somebody is in line, or those whom it served may come again.
    pub(crate) fn take_seat(&mut self) -> Option<Seat<J>> {
        let is_awaited = self.schedule.depth() > 0;
        self.idle.pop_if(|seat| is_awaited || seat.company.is_some())
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.schedule.depth() == 0 && self.busy + self.calling == 0 && self.finished.is_empty()
    }

    /// Ends the requests of a batch; what failed its check for the first time is done once more,
    /// if there is another unit.
    fn end(&mut self, seat: &mut Seat<J>, cause: Option<Cause>, now: Instant) {
        let Seat { batch, bells, tasks, .. } = seat;
        for (place, mut request) in batch.places.drain(..).zip(batch.requests.drain(..)) {
            let end: End<J> = match request.take_outcome() {
                _ if cause == Some(Cause::Panic) => Err(Error::UnitPanicked),
                Some(Outcome::Done) => Ok(()),
                Some(Outcome::Refused(why)) => Err(Error::Rejected(why)),
                Some(Outcome::Fault) | None => {
                    self.stats.faults += 1;
                    if !request.is_retry && self.healthy() > 1 {
                        self.stats.retried += 1;
                        request.is_retry = true;
                        self.schedule.insert(place, request);
                        continue;
                    }
                    Err(Error::Fault)
                }
            };
            if end.is_ok() {
                self.stats.done += 1;
            } else {
                self.stats.failed += 1;
            }
            self.stats.response_ns.record_time(now - self.schedule.since(place));
            self.schedule.finish(place, request, end);
            self.ended(place, bells, tasks);
        }
    }

    /// Finds out whom to tell.
    fn ended(&mut self, place: usize, bells: &mut Vec<usize>, tasks: &mut Vec<Waker>) {
        match self.schedule.owner(place) {
            Owner::Nobody => {}
            Owner::Thread { .. } => bells.push(place),
            owner @ Owner::Task(_) => {
                if let Owner::Task(waker) = core::mem::replace(owner, Owner::Nobody) {
                    tasks.push(waker);
                }
            }
            Owner::Callback(_) => self.finished.push_back(place),
            Owner::Gone => {
                if let Some((mut request, _)) = self.schedule.claim(place) {
                    request.wipe();
                    self.schedule.release(place, request);
                }
            }
        }
    }
}
