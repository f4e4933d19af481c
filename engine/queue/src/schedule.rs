//! Places and the line: who is next. A data structure without threads and clocks.
//!
//! Start-time fair queueing, of flows that are a caller and a key. A request's tag is one more than
//! the last tag of its flow, and at least that of the batch that was led last; the least tag leads,
//! ties by arrival, and those next in line of its class ride along.
//!
//! So tags of one flow differ, and none that comes is below that of the last leader. Let k be by
//! how much a request's tag is above that leader's: as many of its own flow are before it, in line,
//! or ridden along before their turn. Of each other flow at most k + 1 requests have a tag up to
//! there, whenever they come. Each batch is led by the least tag: so a request waits for at most
//! (f - 1)(k + 1) + k batches that begin after it came, f the flows at work meanwhile.

use core::hash::{BuildHasher as _, BuildHasherDefault};
use core::task::Waker;
use std::hash::DefaultHasher;
use std::time::Instant;

use crate::error::Error;
use crate::job::{Class, Job, Request};
use crate::unit::{Unit, width};

/// How a request ended.
pub(crate) type End<J> = Result<(), Error<<J as Job>::Refusal>>;

/// A request that ended, and how.
pub(crate) type Taken<J> = (Box<Request<J>>, End<J>);

/// What is called when a request ended.
pub(crate) type Callback<J> =
    Box<dyn FnOnce(Result<&J, Error<<J as Job>::Refusal>>) + Send + 'static>;

/// A place and its request.
pub(crate) type Admitted<J> = (usize, Box<Request<J>>);

/// Where a place's request is.
pub(crate) enum Phase<E> {
    /// With its caller, who fills it or reads its result; or nowhere.
    Out,
    Queued,
    Running,
    Done(E),
}

/// Who wants to know that a request ended.
pub(crate) enum Owner<J: Job> {
    /// Nobody now: its ticket is held and may ask.
    Nobody,
    /// A thread, asleep; `called` if it was woken to lead.
    Thread {
        called: bool,
    },
    Task(Waker),
    Callback(Callback<J>),
    /// Nobody ever: its ticket is gone.
    Gone,
}

struct Place<J: Job> {
    phase: Phase<End<J>>,
    owner: Owner<J>,
    /// Unless it is out or running.
    request: Option<Box<Request<J>>>,
    class: Class,
    tag: u64,
    arrival: u64,
    since: Instant,
    caller: usize,
}

/// Places of one caller; its number is used again when it is gone and they are free.
#[derive(Default)]
struct Caller {
    places: usize,
    is_gone: bool,
}

/// The requests of a call, and their places. Its room is made once.
pub(crate) struct Batch<J: Job> {
    pub(crate) places: Vec<usize>,
    /// Of the requests, by place.
    numbers: Vec<u64>,
    pub(crate) requests: Vec<Box<Request<J>>>,
}

impl<J: Job> Batch<J> {
    pub(crate) fn with_room(room: usize) -> Self {
        let (places, numbers) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { places, numbers, requests: Vec::with_capacity(room) }
    }

    /// Puts each request back to its place; whether one stood elsewhere. What came in the place of
    /// one that is missing is no answer: it faults, and is not done again.
    pub(crate) fn put_in_order(&mut self) -> bool {
        let Self { numbers, requests, .. } = self;
        let found = requests.iter().map(|request| request.number);
        let exchanged = !found.eq(numbers.iter().copied());
        if exchanged {
            for (home, number) in numbers.iter().enumerate() {
                if let Some(at) = requests.iter().position(|request| request.number == *number) {
                    requests.swap(home, at);
                }
            }
            for (request, number) in requests.iter_mut().zip(&*numbers) {
                if request.number != *number {
                    request.wipe();
                    request.is_retry = true;
                }
            }
        }
        numbers.clear();
        exchanged
    }
}

/// All places of an engine.
pub(crate) struct Schedule<J: Job> {
    places: Vec<Place<J>>,
    free: Vec<usize>,
    /// By tag, then by arrival.
    queue: Vec<usize>,
    /// Last tags of flows, by hash: flows that collide are one.
    tags: Box<[u64]>,
    hasher: BuildHasherDefault<DefaultHasher>,
    /// The tag of the batch that was led last.
    now: u64,
    arrivals: u64,
    callers: Vec<Caller>,
    callers_gone: Vec<usize>,
    places_per_caller_max: usize,
}

/// Slots for the tags of flows, per place: collisions are rare.
const FLOWS_PER_PLACE: usize = 16;

impl<J: Job> Schedule<J> {
    pub(crate) fn new(capacity: usize, places_per_caller_max: usize) -> Self {
        let place = |_| Place {
            phase: Phase::Out,
            owner: Owner::Gone,
            request: Some(Box::default()),
            class: Class::default(),
            tag: 0,
            arrival: 0,
            since: Instant::now(),
            caller: 0,
        };
        Self {
            places: (0..capacity).map(place).collect(),
            free: (0..capacity).rev().collect(),
            queue: Vec::with_capacity(capacity),
            tags: vec![0; (capacity * FLOWS_PER_PLACE).next_power_of_two()].into(),
            hasher: BuildHasherDefault::default(),
            now: 0,
            arrivals: 1,
            callers: Vec::new(),
            callers_gone: Vec::new(),
            places_per_caller_max,
        }
    }

    pub(crate) fn add_caller(&mut self) -> usize {
        if let Some(caller) = self.callers_gone.pop() {
            self.callers[caller] = Caller::default();
            return caller;
        }
        self.callers.push(Caller::default());
        self.callers.len() - 1
    }

    pub(crate) fn remove_caller(&mut self, caller: usize) {
        self.callers[caller].is_gone = true;
        self.forget_if_idle(caller);
    }

    fn forget_if_idle(&mut self, caller: usize) {
        if self.callers[caller].is_gone && self.callers[caller].places == 0 {
            self.callers_gone.push(caller);
        }
    }

    /// A free place and its request, to be filled.
    pub(crate) fn admit(&mut self, caller: usize) -> Result<Admitted<J>, Error<J::Refusal>> {
        let places_per_caller_max = self.places_per_caller_max;
        if self.callers[caller].places >= places_per_caller_max {
            return Err(Error::CallerFull { places_per_caller_max });
        }
        let full = Error::Full { capacity: self.places.len() };
        let index = self.free.pop().ok_or(full)?;
        self.callers[caller].places += 1;
        let place = &mut self.places[index];
        (place.caller, place.owner) = (caller, Owner::Nobody);
        Ok((index, place.request.take().expect("a free place has its request")))
    }

    /// Takes a wiped request back; the place is free.
    pub(crate) fn release(&mut self, index: usize, request: Box<Request<J>>) {
        let place = &mut self.places[index];
        place.request = Some(request);
        (place.phase, place.owner) = (Phase::Out, Owner::Gone);
        let caller = place.caller;
        self.free.push(index);
        self.callers[caller].places -= 1;
        self.forget_if_idle(caller);
    }

    /// Puts a filled request in line.
    pub(crate) fn enqueue(&mut self, index: usize, mut request: Box<Request<J>>, since: Instant) {
        let place = &mut self.places[index];
        let flow = self.hasher.hash_one((place.caller, request.key));
        let mask = self.tags.len() - 1;
        let last = &mut self.tags[usize::try_from(flow).unwrap_or(usize::MAX) & mask];
        *last = self.now.max(*last + 1);
        (place.tag, place.arrival, place.since) = (*last, self.arrivals, since);
        (place.class, request.number) = (request.class, self.arrivals);
        self.arrivals += 1;
        self.insert(index, request);
    }

    /// Puts a request back to where it was in line.
    pub(crate) fn insert(&mut self, index: usize, request: Box<Request<J>>) {
        let place = &mut self.places[index];
        (place.request, place.phase) = (Some(request), Phase::Queued);
        let order = (place.tag, place.arrival);
        let before = |&other: &usize| {
            let other = &self.places[other];
            (other.tag, other.arrival) < order
        };
        self.queue.insert(self.queue.partition_point(before), index);
    }

    /// Moves the next in line and its company into the batch; false if nobody is in line.
    pub(crate) fn next_batch(&mut self, unit: &dyn Unit<J>, batch: &mut Batch<J>) -> bool {
        let Some(&first) = self.queue.first() else {
            return false;
        };
        let Self { places, queue, .. } = self;
        let class = places[first].class;
        let width = width(unit, class).clamp(1, batch.places.capacity());
        self.now = places[first].tag;
        queue.retain(|&index| {
            let place = &mut places[index];
            if place.class != class || batch.places.len() == width {
                return true;
            }
            place.phase = Phase::Running;
            batch.places.push(index);
            batch.numbers.push(place.arrival);
            batch.requests.push(place.request.take().expect("a queued place has its request"));
            false
        });
        true
    }

    /// The request ended: whoever is told has the place.
    pub(crate) fn finish(&mut self, index: usize, request: Box<Request<J>>, end: End<J>) {
        let place = &mut self.places[index];
        (place.request, place.phase) = (Some(request), Phase::Done(end));
    }

    /// Ends what is first in line without a result; its place.
    pub(crate) fn fail_first(&mut self, why: Error<J::Refusal>) -> Option<usize> {
        let index = self.queue.first().copied()?;
        self.queue.remove(0);
        self.places[index].phase = Phase::Done(Err(why));
        Some(index)
    }

    /// Takes a request that ended: its owner reads it, or nobody does. `None` if it has not ended.
    pub(crate) fn claim(&mut self, index: usize) -> Option<Taken<J>> {
        let place = &mut self.places[index];
        let Phase::Done(_) = place.phase else {
            return None;
        };
        let Phase::Done(end) = core::mem::replace(&mut place.phase, Phase::Out) else {
            unreachable!("it was done a line ago");
        };
        Some((place.request.take().expect("an ended place has its request"), end))
    }

    /// The ticket is gone. What waits in line leaves it, what ended is taken, and both come back
    /// to be wiped and released; what runs goes on and belongs to nobody.
    pub(crate) fn abandon(&mut self, index: usize) -> Option<Box<Request<J>>> {
        match self.places[index].phase {
            Phase::Queued => {
                self.queue.retain(|&other| other != index);
                self.places[index].phase = Phase::Out;
                self.places[index].request.take()
            }
            Phase::Done(_) => self.claim(index).map(|(request, _)| request),
            Phase::Running | Phase::Out => {
                self.places[index].owner = Owner::Gone;
                None
            }
        }
    }

    /// The thread that leads next: the first in line that sleeps and was not called yet.
    pub(crate) fn call_successor(&mut self) -> Option<usize> {
        let Self { places, queue, .. } = self;
        queue.iter().copied().find(|&index| match &mut places[index].owner {
            Owner::Thread { called } => !core::mem::replace(called, true),
            _ => false,
        })
    }

    /// The tasks in line that wait to be woken; they wait no more.
    pub(crate) fn take_tasks(&mut self, tasks: &mut Vec<Waker>) {
        for &index in &self.queue {
            let owner = &mut self.places[index].owner;
            if matches!(owner, Owner::Task(_)) {
                let Owner::Task(waker) = core::mem::replace(owner, Owner::Nobody) else {
                    unreachable!("it was a task a line ago");
                };
                tasks.push(waker);
            }
        }
    }

    /// The callback of a request that ended.
    pub(crate) fn take_callback(&mut self, index: usize) -> Option<Callback<J>> {
        match core::mem::replace(&mut self.places[index].owner, Owner::Gone) {
            Owner::Callback(callback) => Some(callback),
            _ => None,
        }
    }

    pub(crate) fn owner(&mut self, index: usize) -> &mut Owner<J> {
        &mut self.places[index].owner
    }

    pub(crate) fn is_done(&self, index: usize) -> bool {
        matches!(self.places[index].phase, Phase::Done(_))
    }

    pub(crate) fn is_queued(&self, index: usize) -> bool {
        matches!(self.places[index].phase, Phase::Queued)
    }

    pub(crate) fn since(&self, index: usize) -> Instant {
        self.places[index].since
    }

    /// Who is first in line.
    pub(crate) fn next(&self) -> Option<(usize, Class)> {
        self.queue.first().map(|&index| (index, self.places[index].class))
    }

    pub(crate) fn next_class(&self) -> Option<Class> {
        self.next().map(|(_, class)| class)
    }

    /// How many are in line.
    pub(crate) fn depth(&self) -> usize {
        self.queue.len()
    }

    /// How many places are not free.
    pub(crate) fn places_in_use(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests;
