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

/// A slot and its request.
pub(crate) type Admitted<J> = (usize, Box<Request<J>>);

/// Where a slot's request is.
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

struct Slot<J: Job> {
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
    slots: usize,
    is_gone: bool,
}

/// The requests of a call, and their slots. Its room is made once.
pub(crate) struct Batch<J: Job> {
    pub(crate) slots: Vec<usize>,
    /// Of the requests, by slot.
    numbers: Vec<u64>,
    pub(crate) requests: Vec<Box<Request<J>>>,
}

impl<J: Job> Batch<J> {
    pub(crate) fn with_room(room: usize) -> Self {
        let (slots, numbers) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { slots, numbers, requests: Vec::with_capacity(room) }
    }

    /// Puts each request back to its slot; whether one stood elsewhere. What came in the slot of
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

/// All slots of a queue.
pub(crate) struct Schedule<J: Job> {
    slots: Vec<Slot<J>>,
    free: Vec<usize>,
    /// By tag, then by arrival.
    waiting: Vec<usize>,
    /// Last tags of flows, by hash: flows that collide are one.
    tags: Box<[u64]>,
    hasher: BuildHasherDefault<DefaultHasher>,
    /// The tag of the batch that was led last.
    now: u64,
    arrivals: u64,
    callers: Vec<Caller>,
    callers_gone: Vec<usize>,
    slots_per_caller_max: usize,
}

/// Slots for the tags of flows, per slot: collisions are rare.
const FLOWS_PER_SLOT: usize = 16;

impl<J: Job> Schedule<J> {
    pub(crate) fn new(capacity: usize, slots_per_caller_max: usize) -> Self {
        let slot = |_| Slot {
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
            slots: (0..capacity).map(slot).collect(),
            free: (0..capacity).rev().collect(),
            waiting: Vec::with_capacity(capacity),
            tags: vec![0; (capacity * FLOWS_PER_SLOT).next_power_of_two()].into(),
            hasher: BuildHasherDefault::default(),
            now: 0,
            arrivals: 1,
            callers: Vec::new(),
            callers_gone: Vec::new(),
            slots_per_caller_max,
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
        if self.callers[caller].is_gone && self.callers[caller].slots == 0 {
            self.callers_gone.push(caller);
        }
    }

    /// A free slot and its request, to be filled.
    pub(crate) fn admit(&mut self, caller: usize) -> Result<Admitted<J>, Error<J::Refusal>> {
        let slots_per_caller_max = self.slots_per_caller_max;
        if self.callers[caller].slots >= slots_per_caller_max {
            return Err(Error::CallerFull { slots_per_caller_max });
        }
        let full = Error::Full { capacity: self.slots.len() };
        let index = self.free.pop().ok_or(full)?;
        self.callers[caller].slots += 1;
        let slot = &mut self.slots[index];
        (slot.caller, slot.owner) = (caller, Owner::Nobody);
        Ok((index, slot.request.take().expect("a free slot has its request")))
    }

    /// Takes a wiped request back; the slot is free.
    pub(crate) fn release(&mut self, index: usize, request: Box<Request<J>>) {
        let slot = &mut self.slots[index];
        slot.request = Some(request);
        (slot.phase, slot.owner) = (Phase::Out, Owner::Gone);
        let caller = slot.caller;
        self.free.push(index);
        self.callers[caller].slots -= 1;
        self.forget_if_idle(caller);
    }

    /// Puts a filled request in line.
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

    /// Puts a request back to where it was in line.
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

    /// Moves the next in line and its company into the batch; false if nobody is in line.
    pub(crate) fn next_batch(&mut self, unit: &dyn Unit<J>, batch: &mut Batch<J>) -> bool {
        let Some(&first) = self.waiting.first() else {
            return false;
        };
        let Self { slots, waiting, .. } = self;
        let class = slots[first].class;
        let width = width(unit, class).clamp(1, batch.slots.capacity());
        self.now = slots[first].tag;
        waiting.retain(|&index| {
            let slot = &mut slots[index];
            if slot.class != class || batch.slots.len() == width {
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

    /// The request ended: whoever is notifications has the slot.
    pub(crate) fn finish(&mut self, index: usize, request: Box<Request<J>>, end: End<J>) {
        let slot = &mut self.slots[index];
        (slot.request, slot.phase) = (Some(request), Phase::Done(end));
    }

    /// Ends what is first in line without a result; its slot.
    pub(crate) fn fail_first(&mut self, why: Error<J::Refusal>) -> Option<usize> {
        let index = self.waiting.first().copied()?;
        self.waiting.remove(0);
        self.slots[index].phase = Phase::Done(Err(why));
        Some(index)
    }

    /// Takes a request that ended: its owner reads it, or nobody does. `None` if it has not ended.
    pub(crate) fn claim(&mut self, index: usize) -> Option<Taken<J>> {
        let slot = &mut self.slots[index];
        let Phase::Done(_) = slot.phase else {
            return None;
        };
        let Phase::Done(end) = core::mem::replace(&mut slot.phase, Phase::Out) else {
            unreachable!("it was done a line ago");
        };
        Some((slot.request.take().expect("an ended slot has its request"), end))
    }

    /// The ticket is gone. What waits in line leaves it, what ended is taken, and both come back
    /// to be wiped and released; what runs goes on and belongs to nobody.
    pub(crate) fn abandon(&mut self, index: usize) -> Option<Box<Request<J>>> {
        match self.slots[index].phase {
            Phase::Queued => {
                self.waiting.retain(|&other| other != index);
                self.slots[index].phase = Phase::Out;
                self.slots[index].request.take()
            }
            Phase::Done(_) => self.claim(index).map(|(request, _)| request),
            Phase::Running | Phase::Out => {
                self.slots[index].owner = Owner::Gone;
                None
            }
        }
    }

    /// The thread that leads next: the first in line that sleeps and was not called yet.
    pub(crate) fn next_sleeping_thread(&mut self) -> Option<usize> {
        let Self { slots, waiting, .. } = self;
        waiting.iter().copied().find(|&index| match &mut slots[index].owner {
            Owner::Thread { called } => !core::mem::replace(called, true),
            _ => false,
        })
    }

    /// The tasks in line that wait to be woken; they wait no more.
    pub(crate) fn take_tasks(&mut self, tasks: &mut Vec<Waker>) {
        for &index in &self.waiting {
            let owner = &mut self.slots[index].owner;
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
        match core::mem::replace(&mut self.slots[index].owner, Owner::Gone) {
            Owner::Callback(callback) => Some(callback),
            _ => None,
        }
    }

    pub(crate) fn owner(&mut self, index: usize) -> &mut Owner<J> {
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

    /// Who is first in line.
    pub(crate) fn next(&self) -> Option<(usize, Class)> {
        self.waiting.first().map(|&index| (index, self.slots[index].class))
    }

    pub(crate) fn next_class(&self) -> Option<Class> {
        self.next().map(|(_, class)| class)
    }

    /// How many are in line.
    pub(crate) fn depth(&self) -> usize {
        self.waiting.len()
    }

    /// How many slots are not free.
    pub(crate) fn slots_in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests;
