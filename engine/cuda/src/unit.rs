//! The unit of a device for the queue: large batches go to the device, the others to the lanes of
//! the processor.

use core::fmt;
use core::num::NonZero;
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tollgate_queue::{Class, Lanes, PrivateJob, Request, SelfTestFailed, Unit};
use tollgate_rsa::{Error, PrivateKey, PublicRequest, Rejected, Workspace, public_batch};
use zeroize::Zeroizing;

use crate::device::{Device, Failure};
use crate::layout::{Size, is_below};
use crate::operations::{Done, Operation, Operations};
use crate::policy::{Costs, Policy};

/// A unit with a device and the lanes of a processor.
///
/// A queue needs a second unit, such as [`Lanes`], which repeats the requests of a device that
/// fails.
pub struct Offload {
    name: String,
    /// `None` after the device has failed.
    operations: Option<Operations>,
    lanes: Lanes,
    /// For the checks of results, one for each thread that takes part; there is at least one.
    workspaces: Vec<Workspace>,
    policy: Policy,
    /// Times of each size; `None` before its self test.
    costs: [Option<Costs>; Size::ALL.len()],
    listener: Listener,
}

/// An event of an [`Offload`] unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A batch has run on the device.
    Done(Done),
    /// The device has failed and is not used again.
    Failed(Failure),
    /// This many results failed the check on the device or that on the processor.
    Wrong(usize),
}

type Listener = Box<dyn FnMut(Event) + Send>;

/// Public test keys; see `vectors/keys`.
const SELF_TEST_KEYS: [(Size, &str); 4] = [
    (Size::Rsa1024, include_str!("self_test/rsa-1024.pem")),
    (Size::Rsa2048, include_str!("self_test/rsa-2048.pem")),
    (Size::Rsa3072, include_str!("self_test/rsa-3072.pem")),
    (Size::Rsa4096, include_str!("self_test/rsa-4096.pem")),
];

/// Limit of each batch of a self test, in which a device may be slow.
const SELF_TEST_LIMIT: Duration = Duration::from_secs(60);

/// A thread checks at least this number of results, in less than a millisecond.
const CHECKED_MIN: usize = 64;

/// First bytes of the numbers of a self test: below every modulus, whose highest bit is set.
const SELF_TEST_NUMBERS: [u8; 2] = [0x12, 0x7f];

impl fmt::Debug for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offload").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Offload {
    /// Uses a device, for batches of at most `width_max`. The device is used after a self test,
    /// which the queue asks for when it starts.
    ///
    /// # Errors
    ///
    /// `TOLLGATE_CPU_DISABLE` contains an unknown word.
    pub fn new(
        device: Box<dyn Device>,
        width_max: usize,
        policy: Policy,
        listener: impl FnMut(Event) + Send + 'static,
    ) -> Result<Self, Error> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let workspaces = (0..policy.cores.clamp(1, cores)).map(|_| Workspace::new());
        Ok(Self {
            name: format!("offload to {}", device.name()),
            operations: Some(Operations::new(device, width_max)),
            lanes: Lanes::new(0)?,
            workspaces: workspaces.collect::<Result<_, _>>()?,
            policy,
            costs: [None; Size::ALL.len()],
            listener: Box::new(listener),
        })
    }

    /// Returns the size of a request that the device can run.
    fn size_of(request: &Request<PrivateJob>) -> Option<Size> {
        Size::of_key(request.job.asked()?.0)
    }

    fn costs(&self, size: Size) -> Option<Costs> {
        self.costs[size.index()].filter(|_| self.operations.is_some())
    }

    /// Returns `true` if the device should run a batch that this unit has taken. The lanes would
    /// run it on one core.
    fn offloads(&self, size: Size, operations: usize) -> bool {
        let cores = self.policy.cores.min(1);
        self.costs(size).is_some_and(|costs| {
            costs.pays(operations, cores, &self.policy) || costs.are_old(&self.policy)
        })
    }

    /// Runs operations on the device, checks their results again and returns which are right, or
    /// `None` if the device failed.
    fn run_checked(
        &mut self,
        size: Size,
        batch: &mut [Operation<'_>],
        limit: Duration,
    ) -> Option<Vec<bool>> {
        let inputs: Vec<_> = batch.iter().map(|op| Zeroizing::new(op.number.to_vec())).collect();
        let begin = Instant::now();
        match self.operations.as_mut()?.run(size, batch, limit) {
            Ok(done) => {
                if let Some(costs) = &mut self.costs[size.index()] {
                    costs.note_batch(begin.elapsed(), &self.policy);
                }
                (self.listener)(Event::Done(done));
            }
            Err(failure) => {
                self.operations = None;
                (self.listener)(Event::Failed(failure));
                return None;
            }
        }
        let right = are_right(&mut self.workspaces, batch, &inputs);
        let wrong = right.iter().filter(|right| !**right).count();
        if wrong > 0 {
            (self.listener)(Event::Wrong(wrong));
        }
        Some(right)
    }

    /// Runs requests that the device can run.
    fn run_on_device(&mut self, size: Size, group: &mut [Box<Request<PrivateJob>>]) {
        for request in &mut *group {
            let in_range = request.job.encode().map(|()| {
                let operation = request.job.operation();
                operation.is_some_and(|(key, number)| is_below(number, &key.public().modulus()))
            });
            match in_range {
                Ok(true) => {}
                Ok(false) => end(request, Err(Rejected::MessageRange.into())),
                Err(why) => request.refuse(why),
            }
        }
        let mut ready: Vec<_> = group.iter_mut().filter(|request| !request.has_outcome()).collect();
        let key = |request: &&mut Box<Request<PrivateJob>>| {
            Arc::clone(request.job.asked().expect("an RSA job").0)
        };
        let keys: Vec<Arc<PrivateKey>> = ready.iter().map(key).collect();
        let jobs = ready.iter_mut().zip(&keys);
        let mut batch: Vec<_> = jobs
            .map(|(request, key)| {
                let (_, number) = request.job.operation().expect("an RSA job");
                Operation { key, number, passed: false }
            })
            .collect();
        let width = self.operations.as_ref().map_or(1, |operations| operations.width(size));
        let limit = self.policy.timeout;
        let mut right = Vec::with_capacity(batch.len());
        for part in batch.chunks_mut(width) {
            let none = vec![false; part.len()];
            right.extend(self.run_checked(size, part, limit).unwrap_or(none));
        }
        for (request, right) in ready.into_iter().zip(right) {
            if right { end(request, Ok(())) } else { request.fault() }
        }
    }

    /// Compares two results of each size with the processor's, and measures both.
    fn test(&mut self) -> Result<(), &'static str> {
        for (size, pem) in SELF_TEST_KEYS {
            let key = Arc::new(PrivateKey::from_pem(pem).map_err(|_| "a known key")?);
            let (mut operation, mut batch) = Default::default();
            // The second operation is measured: the first one copies the key and makes a pair.
            for first in SELF_TEST_NUMBERS {
                let mut expected = vec![first; key.size()];
                let mut number = expected.clone();
                let begin = Instant::now();
                key.private(&mut self.workspaces[0], &mut expected).map_err(|_| "an operation")?;
                operation = begin.elapsed();
                let mut operations = [Operation { key: &key, number: &mut number, passed: false }];
                let begin = Instant::now();
                let right = self.run_checked(size, &mut operations, SELF_TEST_LIMIT);
                batch = begin.elapsed();
                if right != Some(vec![true]) || number != expected {
                    return Err("an operation on the GPU");
                }
            }
            self.costs[size.index()] = Some(Costs { batch, operation, tried: Instant::now() });
        }
        Ok(())
    }
}

/// Returns which results, raised to e, are their inputs. The processor does so although the device
/// has: memory and copies can fail too. A core needs several times as long as a GPU, so large
/// batches are shared among threads.
fn are_right(
    workspaces: &mut [Workspace],
    batch: &[Operation<'_>],
    inputs: &[Zeroizing<Vec<u8>>],
) -> Vec<bool> {
    let part = batch.len().div_ceil(workspaces.len()).max(CHECKED_MIN);
    if batch.len() <= part {
        return part_is_right(&mut workspaces[0], batch, inputs);
    }
    let parts = || batch.chunks(part).zip(inputs.chunks(part));
    let checked: Vec<Option<Vec<bool>>> = thread::scope(|scope| {
        let each = parts().zip(&mut *workspaces);
        let threads: Vec<_> = each
            .map(|((batch, inputs), workspace)| {
                let check = move || part_is_right(workspace, batch, inputs);
                thread::Builder::new().spawn_scoped(scope, check).ok()
            })
            .collect();
        threads.into_iter().map(|thread| thread?.join().ok()).collect()
    });
    // A part whose thread did not start is checked here.
    let all = checked.into_iter().zip(parts());
    all.flat_map(|(checked, (batch, inputs))| {
        checked.unwrap_or_else(|| part_is_right(&mut workspaces[0], batch, inputs))
    })
    .collect()
}

/// [`are_right`] in this thread.
fn part_is_right(
    workspace: &mut Workspace,
    batch: &[Operation<'_>],
    inputs: &[Zeroizing<Vec<u8>>],
) -> Vec<bool> {
    let powers = batch.iter().map(|operation| Zeroizing::new(operation.number.to_vec()));
    let mut powers: Vec<_> = powers.collect();
    let requests = batch.iter().zip(&mut powers);
    let mut requests: Vec<_> =
        requests.map(|(operation, s)| PublicRequest::new(operation.key.public(), s)).collect();
    public_batch(workspace, &mut requests);
    let pairs = requests.iter_mut().zip(inputs);
    let equal =
        pairs.map(|(request, input)| request.outcome().is_ok() && *request.buffer() == ***input);
    batch.iter().zip(equal).map(|(operation, equal)| operation.passed && equal).collect()
}

/// Ends a request after its operation.
fn end(request: &mut Request<PrivateJob>, outcome: Result<(), Error>) {
    match request.job.decode(outcome) {
        Ok(()) => request.done(),
        Err(Error::Fault) => request.fault(),
        Err(why) => request.refuse(why),
    }
}

impl Unit<PrivateJob> for Offload {
    fn name(&self) -> &str {
        &self.name
    }

    /// The width of the device if full batches pay; otherwise that of the lanes, so that other
    /// units get requests too.
    fn width(&self, class: Class) -> usize {
        let lanes = self.lanes.width(class);
        let size = usize::try_from(class.0).ok().and_then(Size::of_bits);
        let Some((size, operations)) = size.zip(self.operations.as_ref()) else {
            return lanes;
        };
        let (width, policy) = (operations.width(size), &self.policy);
        let pays = |costs: Costs| costs.pays(width, policy.cores, policy);
        if self.costs(size).is_some_and(pays) { width.max(lanes) } else { lanes }
    }

    fn run(&mut self, batch: &mut [Box<Request<PrivateJob>>]) {
        let groups = batch.chunk_by_mut(|a, b| Self::size_of(a) == Self::size_of(b));
        for group in groups {
            match Self::size_of(&group[0]).filter(|size| self.offloads(*size, group.len())) {
                Some(size) => self.run_on_device(size, group),
                None => self.lanes.run(group),
            }
        }
    }

    /// Compares results of every size of key with those of the processor, and measures both. A
    /// device that failed is not tested again.
    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        self.lanes.self_test()?;
        if self.operations.is_none() {
            return Err(SelfTestFailed { what: "a GPU that has failed" });
        }
        self.costs = [None; Size::ALL.len()];
        self.test().map_err(|what| SelfTestFailed { what })
    }
}

#[cfg(test)]
mod tests {
    use tollgate_rsa::{PrivateRequest, private_batch};

    use super::*;

    #[test]
    fn each_wrong_result_is_found_whichever_thread_checks_it() {
        let key = Arc::new(PrivateKey::from_pem(SELF_TEST_KEYS[0].1).unwrap());
        let number = |i: u8| Zeroizing::new([&[1, i][..], &vec![3; key.size() - 2]].concat());
        let inputs: Vec<_> = (0..=200).map(number).collect();
        let mut results = inputs.clone();
        let requests = results.iter_mut().map(|x| PrivateRequest::new(&key, x));
        private_batch(&mut Workspace::new().unwrap(), &mut requests.collect::<Vec<_>>());
        let wrong = [0, 63, 64, 128, 150, 200];
        wrong.iter().for_each(|&at: &usize| results[at][40] ^= 1);
        let numbers = results.iter_mut();
        let operation = |number| Operation { key: &key, number, passed: true };
        let mut batch: Vec<_> = numbers.map(|number| operation(&mut number[..])).collect();
        batch[70].passed = false;
        for count in [1, 3, 4] {
            let mut workspaces: Vec<_> = (0..count).map(|_| Workspace::new().unwrap()).collect();
            let right = are_right(&mut workspaces, &batch, &inputs);
            let found: Vec<_> = (0..=200).filter(|at| !right[*at]).collect();
            assert_eq!(found, [0, 63, 64, 70, 128, 150, 200], "{count} threads");
            assert_eq!(right.len(), 201);
        }
    }
}
