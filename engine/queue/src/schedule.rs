//! Slots, and the order of the waiting requests. A data structure without threads and clocks.
//!
//! Start-time fair queueing (SFQ). A flow is a caller and a key. The tag of a request is one more
//! than the last tag of its flow, and at least the tag of the last batch leader. The request with
//! the least tag leads the next batch, in order of arrival among equals; the next waiting requests
//! of its class join the batch.
//!
//! So no two requests of a flow have the same tag, and a new request's tag is the last leader's
//! tag plus some k, which is at least 0. At most k requests of the same flow are ahead of the new
//! request: they wait, or they joined a batch early. Every other flow has at most k + 1 requests
//! with a tag up to the new request's tag, whenever they arrive. The request with the least tag
//! leads each batch. So a request waits for at most (f - 1)(k + 1) + k batches that begin after its
//! arrival, where f is the number of active flows. A polling thread that leads a batch of its own
//! class adds a batch, and changes the order of no other class.

use core::hash::{BuildHasher as _, BuildHasherDefault};
use core::task::Waker;
use std::hash::DefaultHasher;
use std::time::Instant;

use crate::error::Error;
use crate::job::{Class, Job, Request};

/// The result of a request.
pub(crate) type End<J> = Result<(), Error<<J as Job>::Refusal>>;

/// An ended request and its result.
pub(crate) type Taken<J> = (Box<Request<J>>, End<J>);

/// A slot's index and its request.
pub(crate) type Admitted<J> = (usize, Box<Request<J>>);

/// The state of a slot's request.
pub(crate) enum Phase<E> {
    /// Free, or with its caller, who fills it or reads its result.
    Out,
    Queued,
    Running,
    Done(E),
}

/// Receiver of the result.
pub(crate) enum Owner {
    /// No one at the moment; the ticket exists and may ask later.
    None,
    /// A sleeping thread; `called` if it was woken to lead.
    Thread {
        called: bool,
    },
    Task(Waker),
    /// No one: the ticket was dropped.
    Abandoned,
}

struct Slot<J: Job> {
    phase: Phase<End<J>>,
    owner: Owner,
    /// `None` while it is out or running.
    request: Option<Box<Request<J>>>,
    class: Class,
    tag: u64,
    arrival: u64,
    since: Instant,
    caller: usize,
}

/// A caller's use of slots. Its index is reused after the caller is dropped and all its slots are
/// free.
#[derive(Default)]
struct Caller {
    slots: usize,
    is_dropped: bool,
}

/// The requests of a call and their slots. The buffers are allocated once.
pub(crate) struct Batch<J: Job> {
    pub(crate) slots: Vec<usize>,
    /// Serial numbers of the requests, in the order of `slots`.
    numbers: Vec<u64>,
    pub(crate) requests: Vec<Box<Request<J>>>,
}

impl<J: Job> Batch<J> {
    pub(crate) fn with_room(room: usize) -> Self {
        let (slots, numbers) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { slots, numbers, requests: Vec::with_capacity(room) }
    }

    /// Moves each request back to its position and returns `true` if any had been moved. A request
    /// that replaced a missing one is wiped; it faults and is not retried.
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

/// All slots of a queue.
pub(crate) struct Schedule<J: Job> {
    slots: Vec<Slot<J>>,
    free: Vec<usize>,
    /// Waiting slots, by tag, then by arrival.
    waiting: Vec<usize>,
    /// Last tags of flows, by hash; flows that collide count as one.
    tags: Box<[u64]>,
    hasher: BuildHasherDefault<DefaultHasher>,
    /// The tag of the last batch leader.
    now: u64,
    arrivals: u64,
    callers: Vec<Caller>,
    free_callers: Vec<usize>,
    slots_per_caller_max: usize,
}

/// Hash table entries per slot, so that collisions are rare.
const FLOWS_PER_SLOT: usize = 16;

impl<J: Job> Schedule<J> {
    pub(crate) fn new(capacity: usize, slots_per_caller_max: usize) -> Self {
        let slot = |_| Slot {
            phase: Phase::Out,
            owner: Owner::Abandoned,
            request: Some(Box::default()),
            class: Class::default(),
            tag: 0,
            arrival: 0,
            since: Instant::now(),
            caller: 0,
        };
        Self {
            slots: (0..capacity).map(slot).collect(),
            free: (0..capacity).rev().collect(),
            waiting: Vec::with_capacity(capacity),
            tags: vec![0; (capacity * FLOWS_PER_SLOT).next_power_of_two()].into(),
            hasher: BuildHasherDefault::default(),
            now: 0,
            arrivals: 1,
            callers: Vec::new(),
            free_callers: Vec::new(),
            slots_per_caller_max,
        }
    }

    pub(crate) fn add_caller(&mut self) -> usize {
        if let Some(caller) = self.free_callers.pop() {
            self.callers[caller] = Caller::default();
            return caller;
        }
        self.callers.push(Caller::default());
        self.callers.len() - 1
    }

    pub(crate) fn remove_caller(&mut self, caller: usize) {
        self.callers[caller].is_dropped = true;
        self.forget_if_idle(caller);
    }

    fn forget_if_idle(&mut self, caller: usize) {
        if self.callers[caller].is_dropped && self.callers[caller].slots == 0 {
            self.free_callers.push(caller);
        }
    }

    /// Takes a free slot and its request, to be filled.
    pub(crate) fn admit(&mut self, caller: usize) -> Result<Admitted<J>, Error<J::Refusal>> {
        let slots_per_caller_max = self.slots_per_caller_max;
        if self.callers[caller].slots >= slots_per_caller_max {
            return Err(Error::CallerFull { slots_per_caller_max });
        }
        let full = Error::Full { capacity: self.slots.len() };
        let index = self.free.pop().ok_or(full)?;
        self.callers[caller].slots += 1;
        let slot = &mut self.slots[index];
        (slot.caller, slot.owner) = (caller, Owner::None);
        Ok((index, slot.request.take().expect("a free slot has its request")))
    }

    /// Frees a slot; its request must be wiped.
    pub(crate) fn release(&mut self, index: usize, request: Box<Request<J>>) {
        let slot = &mut self.slots[index];
        slot.request = Some(request);
        (slot.phase, slot.owner) = (Phase::Out, Owner::Abandoned);
        let caller = slot.caller;
        self.free.push(index);
        self.callers[caller].slots -= 1;
        self.forget_if_idle(caller);
    }

    /// Adds a filled request to the waiting ones.
    pub(crate) fn enqueue(&mut self, index: usize, mut request: Box<Request<J>>, since: Instant) {
        let slot = &mut self.slots[index];
        let flow = self.hasher.hash_one((slot.caller, request.key));
        let mask = self.tags.len() - 1;
        let last = &mut self.tags[usize::try_from(flow).unwrap_or(usize::MAX) & mask];
        *last = self.now.max(*last + 1);
        (slot.tag, slot.arrival, slot.since) = (*last, self.arrivals, since);
        (slot.class, request.number) = (request.class, self.arrivals);
        self.arrivals += 1;
        self.insert(index, request);
    }

    /// Puts a request back at its former position.
    pub(crate) fn insert(&mut self, index: usize, request: Box<Request<J>>) {
        let slot = &mut self.slots[index];
        (slot.request, slot.phase) = (Some(request), Phase::Queued);
        let order = (slot.tag, slot.arrival);
        let before = |&other: &usize| {
            let other = &self.slots[other];
            (other.tag, other.arrival) < order
        };
        self.waiting.insert(self.waiting.partition_point(before), index);
    }

    /// Moves the next request of a class, and those that join it, into the batch: at most `room`
    /// requests. Returns `false` if none waits.
    pub(crate) fn next_batch(&mut self, class: Class, room: usize, batch: &mut Batch<J>) -> bool {
        let Some(first) = self.next_of(class) else {
            return false;
        };
        let Self { slots, waiting, .. } = self;
        self.now = self.now.max(slots[first].tag);
        waiting.retain(|&index| {
            let slot = &mut slots[index];
            if slot.class != class || batch.slots.len() == room {
                return true;
            }
            slot.phase = Phase::Running;
            batch.slots.push(index);
            batch.numbers.push(slot.arrival);
            batch.requests.push(slot.request.take().expect("a queued slot has its request"));
            false
        });
        true
    }

    /// Records the result of a request.
    pub(crate) fn finish(&mut self, index: usize, request: Box<Request<J>>, end: End<J>) {
        let slot = &mut self.slots[index];
        (slot.request, slot.phase) = (Some(request), Phase::Done(end));
    }

    /// Ends the first waiting request with an error and returns its slot.
    pub(crate) fn fail_first(&mut self, why: Error<J::Refusal>) -> Option<usize> {
        let index = self.waiting.first().copied()?;
        self.waiting.remove(0);
        self.slots[index].phase = Phase::Done(Err(why));
        Some(index)
    }

    /// Takes an ended request. Returns `None` if it has not ended.
    pub(crate) fn claim(&mut self, index: usize) -> Option<Taken<J>> {
        let slot = &mut self.slots[index];
        match core::mem::replace(&mut slot.phase, Phase::Out) {
            Phase::Done(end) => {
                Some((slot.request.take().expect("an ended slot has its request"), end))
            }
            other => {
                slot.phase = other;
                None
            }
        }
    }

    /// Handles a dropped ticket. A waiting or ended request is returned, to be wiped and released;
    /// a running one goes on without an owner.
    pub(crate) fn abandon(&mut self, index: usize) -> Option<Box<Request<J>>> {
        match self.slots[index].phase {
            Phase::Queued => {
                self.waiting.retain(|&other| other != index);
                self.slots[index].phase = Phase::Out;
                self.slots[index].request.take()
            }
            Phase::Done(_) => self.claim(index).map(|(request, _)| request),
            Phase::Running | Phase::Out => {
                self.slots[index].owner = Owner::Abandoned;
                None
            }
        }
    }

    /// Finds the first waiting request whose thread sleeps and was not called yet, and marks it as
    /// called.
    pub(crate) fn next_sleeping_thread(&mut self) -> Option<usize> {
        let Self { slots, waiting, .. } = self;
        waiting.iter().copied().find(|&index| match &mut slots[index].owner {
            Owner::Thread { called } => !core::mem::replace(called, true),
            _ => false,
        })
    }

    /// Takes the wakers of all waiting tasks.
    pub(crate) fn take_tasks(&mut self, tasks: &mut Vec<Waker>) {
        for &index in &self.waiting {
            let owner = &mut self.slots[index].owner;
            match core::mem::replace(owner, Owner::None) {
                Owner::Task(waker) => tasks.push(waker),
                other => *owner = other,
            }
        }
    }

    pub(crate) fn owner(&mut self, index: usize) -> &mut Owner {
        &mut self.slots[index].owner
    }

    pub(crate) fn is_done(&self, index: usize) -> bool {
        matches!(self.slots[index].phase, Phase::Done(_))
    }

    pub(crate) fn is_queued(&self, index: usize) -> bool {
        matches!(self.slots[index].phase, Phase::Queued)
    }

    pub(crate) fn since(&self, index: usize) -> Instant {
        self.slots[index].since
    }

    pub(crate) fn class(&self, index: usize) -> Class {
        self.slots[index].class
    }

    /// Returns the class of the first waiting request.
    pub(crate) fn next_class(&self) -> Option<Class> {
        self.waiting.first().map(|&index| self.class(index))
    }

    /// Returns the slot of the first waiting request of a class.
    pub(crate) fn next_of(&self, class: Class) -> Option<usize> {
        self.waiting.iter().copied().find(|&index| self.class(index) == class)
    }

    /// Returns the number of waiting requests of a class.
    pub(crate) fn depth_of(&self, class: Class) -> usize {
        self.waiting.iter().filter(|&&index| self.class(index) == class).count()
    }

    /// Returns the number of waiting requests.
    pub(crate) fn depth(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of slots that are not free.
    pub(crate) fn slots_in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests;
