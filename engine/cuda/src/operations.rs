//! Batches of private operations on a device: copies operands, launches the kernels, and reads the
//! results that passed their check.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use tollgate_cpu::memcheck;
use tollgate_rsa::PrivateKey;

use crate::device::{Batch, Device, Failure, Kernel, Mark, Memory, Numbers};
use crate::keys::Keys;
use crate::layout::{JOB_BYTES, PASSED, Size, is_below, key_record};
use crate::secret::Secret;

/// A device with its keys, blinding pairs and memory.
pub struct Operations {
    device: Box<dyn Device>,
    of_size: [Option<OfSize>; Size::ALL.len()],
    /// Operations in a batch, at most.
    width_max: usize,
    /// Numbers of all exponentiations; `None` if the faster ones are chosen by measurement.
    numbers: Option<Numbers>,
}

/// An operation: c becomes c^d mod n in place.
#[derive(Debug)]
pub struct Operation<'a> {
    /// The key.
    pub key: &'a Arc<PrivateKey>,
    /// A number below n, big-endian, of the key's size. Unchanged unless the operation passes.
    pub number: &'a mut [u8],
    /// `true` if `number` holds a result that passed its check on the device.
    pub passed: bool,
}

/// The times of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Operations in the batch.
    pub operations: usize,
    /// Copying operands to the device.
    pub load: Duration,
    /// Running the kernels.
    pub execute: Duration,
    /// Copying results to the host.
    pub store: Duration,
    /// Everything else: preparing the batch, noticing its end and handing out results.
    pub notify: Duration,
    /// CPU time of the thread that ran the batch.
    pub cpu: Duration,
}

/// The memory of one size of key.
struct OfSize {
    size: Size,
    keys: Keys,
    memories: [Memory; 8],
    /// The numbers that were chosen, and the times of each that was measured.
    numbers: Numbers,
    times: Vec<(Numbers, Duration)>,
}

/// A size of key that is ready for batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The maximum number of operations in a batch.
    pub width: usize,
    /// The numbers of its exponentiations.
    pub numbers: Numbers,
    /// Times of the exponentiations of an operation in a full batch, for each kind of numbers that
    /// was measured. Empty if there was no choice.
    pub times: Vec<(Numbers, Duration)>,
}

/// Places in the argument of a kernel; that of the pairs is 1.
const KEYS: usize = 0;
const JOBS: usize = 2;
const INPUT: usize = 3;
const BASE: usize = 4;
const HALVES: usize = 5;
const OUTPUT: usize = 6;
const STATUS: usize = 7;

/// Exponents of [`Kernel::Power`].
const PRIVATE: u32 = 0;
const INVERSE: u32 = 1;

impl core::fmt::Debug for Operations {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Operations").field("device", &self.device.name()).finish_non_exhaustive()
    }
}

impl Operations {
    /// Uses a device, with at most `width_max` operations in a batch. Exponentiations use the
    /// numbers that are faster on the device, which is measured at the first use of each size of
    /// key.
    #[must_use]
    pub fn new(device: Box<dyn Device>, width_max: usize) -> Self {
        Self { device, of_size: Default::default(), width_max: width_max.max(1), numbers: None }
    }

    /// Uses a device with these numbers. Sizes of keys for which it does not have them use words.
    #[must_use]
    pub fn with_numbers(device: Box<dyn Device>, width_max: usize, numbers: Numbers) -> Self {
        let mut operations = Self::new(device, width_max);
        operations.choose(numbers);
        operations
    }

    /// Uses these numbers for the sizes of keys that are not prepared yet, as
    /// [`with_numbers`](Self::with_numbers).
    pub fn choose(&mut self, numbers: Numbers) {
        self.numbers = Some(numbers);
    }

    /// Returns the device's name.
    #[must_use]
    pub fn device_name(&self) -> &str {
        self.device.name()
    }

    /// Returns the maximum number of operations in a batch. It may grow at the first use of a size:
    /// see [`prepare`](Self::prepare).
    #[must_use]
    pub fn width(&self, size: Size) -> usize {
        let of_size = self.of_size[size.index()].as_ref();
        let numbers = of_size.map_or(Numbers::Words, |of_size| of_size.numbers);
        self.device.fill(size, numbers).unwrap_or(1).clamp(1, self.width_max)
    }

    /// Allocates the memory for a size of key and chooses the numbers. The first [`run`](Self::run)
    /// does it too.
    ///
    /// # Errors
    ///
    /// The device failed, and must not be used again.
    pub fn prepare(&mut self, size: Size) -> Result<Prepared, Failure> {
        let slot = &mut self.of_size[size.index()];
        let of_size = match slot {
            Some(of_size) => of_size,
            None => {
                let device = &mut *self.device;
                slot.insert(OfSize::new(device, size, self.width_max, self.numbers)?)
            }
        };
        let (numbers, times) = (of_size.numbers, of_size.times.clone());
        Ok(Prepared { width: self.width(size), numbers, times })
    }

    /// Runs operations with keys of this size, at most [`width`](Self::width), and returns their
    /// times. An operation that did not pass keeps its number.
    ///
    /// # Errors
    ///
    /// The device failed, or did not end within `limit`. No number has changed. The device must not
    /// be used again.
    ///
    /// # Panics
    ///
    /// If a key has another size, or there are too many operations.
    pub fn run(
        &mut self,
        size: Size,
        operations: &mut [Operation<'_>],
        limit: Duration,
    ) -> Result<Done, Failure> {
        let (begin, cpu) = (Instant::now(), thread_cpu_time());
        let Prepared { width, numbers, .. } = self.prepare(size)?;
        assert!((1..=width).contains(&operations.len()), "1 to {width} operations");
        let device = &mut *self.device;
        let of_size = self.of_size[size.index()].as_mut().expect("it was prepared");
        device.mark(Mark::Begin)?;
        let pairs = of_size.load(device, operations)?;
        device.mark(Mark::Loaded)?;
        let batch = of_size.batch(operations.len(), PRIVATE);
        for kernel in [Kernel::Blind, power(numbers), Kernel::Finish] {
            device.launch(kernel, size, &batch)?;
        }
        device.mark(Mark::Executed)?;
        let mut numbers = Secret::zeros(size.bytes() * operations.len());
        let mut statuses = vec![0; 4 * operations.len()];
        device.read(of_size.memories[OUTPUT], 0, &mut numbers, limit)?;
        device.read(of_size.memories[STATUS], 0, &mut statuses, limit)?;
        device.mark(Mark::Stored)?;
        of_size.clear(device)?;
        // Waits for the clearing too, so no batch ends with secrets on the device.
        device.read(of_size.memories[STATUS], 0, &mut [0; 4], limit)?;
        let load = device.between(Mark::Begin, Mark::Loaded)?;
        let execute = device.between(Mark::Loaded, Mark::Executed)?;
        let store = device.between(Mark::Executed, Mark::Stored)?;
        // Nothing can fail from here on.
        let results = numbers.chunks_exact_mut(size.bytes()).zip(statuses.as_chunks().0);
        for ((operation, pair), (number, status)) in operations.iter_mut().zip(pairs).zip(results) {
            let status = memcheck::declassified(u32::from_le_bytes(*status).into());
            operation.passed = status == PASSED.into();
            of_size.keys.give_pair(pair, operation.passed);
            if operation.passed {
                number.reverse();
                operation.number.copy_from_slice(number);
            }
        }
        Ok(Done {
            operations: operations.len(),
            load,
            execute,
            store,
            notify: begin.elapsed().saturating_sub(load + execute + store),
            cpu: thread_cpu_time().saturating_sub(cpu),
        })
    }
}

impl Drop for Operations {
    /// Overwrites keys and pairs on the device. A device that failed is not asked again.
    fn drop(&mut self) {
        for of_size in self.of_size.iter().flatten() {
            for memory in of_size.memories {
                if self.device.clear(memory).is_err() {
                    return;
                }
            }
            let waited = self.device.read(of_size.memories[STATUS], 0, &mut [0; 4], WIPE_LIMIT);
            if waited.is_err() {
                return;
            }
        }
    }
}

/// Limit of a measurement at the first use of a size.
const MEASURE_LIMIT: Duration = Duration::from_secs(60);

/// Limit of the wait for the last clearing.
const WIPE_LIMIT: Duration = Duration::from_secs(1);

impl OfSize {
    fn new(
        device: &mut dyn Device,
        size: Size,
        width_max: usize,
        wanted: Option<Numbers>,
    ) -> Result<Self, Failure> {
        let all = Numbers::ALL.into_iter();
        let fills = all.filter_map(|numbers| Some((numbers, device.fill(size, numbers)?)));
        let mut fills: Vec<(Numbers, usize)> = fills.collect();
        if let Some(wanted) = wanted {
            let at = fills.iter().position(|(numbers, _)| *numbers == wanted);
            fills = vec![fills[at.unwrap_or_default()]];
        }
        let width = fills.iter().map(|(_, fill)| *fill).max().unwrap_or(1).clamp(1, width_max);
        let mut memories = [Memory(0); 8];
        let bytes = [
            size.key_bytes(),
            size.pair_bytes(),
            JOB_BYTES,
            size.bytes(),
            size.bytes(),
            size.bytes(),
            size.bytes(),
            4,
        ];
        for (memory, bytes) in memories.iter_mut().zip(bytes) {
            *memory = device.allocate(width * bytes)?;
        }
        let keys = Keys::new(width);
        let mut prepared = Self { size, keys, memories, numbers: fills[0].0, times: Vec::new() };
        if fills.len() > 1 {
            prepared.times = fills.iter().map(|(numbers, _)| (*numbers, Duration::MAX)).collect();
            // In turn, since the clock of an idle device rises slowly, and the first launch of a
            // kernel may load it.
            for (i, (numbers, fill)) in fills.into_iter().enumerate().cycle().take(6) {
                let time = prepared.measure(device, numbers, fill.min(width))?;
                prepared.times[i].1 = time.min(prepared.times[i].1);
            }
            let fastest = prepared.times.iter().min_by_key(|(_, time)| *time);
            prepared.numbers = fastest.expect("two were measured").0;
        }
        Ok(prepared)
    }

    /// Returns the time of an operation's exponentiations in a batch. Numbers and keys are zeros:
    /// the time does not depend on values.
    fn measure(
        &self,
        device: &mut dyn Device,
        numbers: Numbers,
        count: usize,
    ) -> Result<Duration, Failure> {
        let batch = self.batch(count, PRIVATE);
        device.mark(Mark::Begin)?;
        device.launch(power(numbers), self.size, &batch)?;
        device.mark(Mark::Executed)?;
        device.read(self.memories[STATUS], 0, &mut [0; 4], MEASURE_LIMIT)?;
        Ok(device.between(Mark::Begin, Mark::Executed)? / batch.count)
    }

    fn batch(&self, count: usize, exponent: u32) -> Batch {
        let count = u32::try_from(count).expect("a batch has fewer operations");
        Batch { memories: self.memories, count, exponent }
    }

    /// Copies new keys, jobs and inputs to the device, and lets it make the pairs that are missing.
    /// Returns the pair of each operation.
    fn load(
        &mut self,
        device: &mut dyn Device,
        operations: &[Operation<'_>],
    ) -> Result<Vec<usize>, Failure> {
        let (size, key_bytes) = (self.size, self.size.key_bytes());
        for place in self.keys.begin() {
            device.write(self.memories[KEYS], place * key_bytes, &vec![0; key_bytes])?;
        }
        let mut jobs = Vec::with_capacity(operations.len());
        let mut fresh = Vec::new();
        let secret = || Secret::with_capacity(operations.len() * size.bytes());
        let (mut inputs, mut randoms) = (secret(), secret());
        // Places first: taking a pair must not see a key of a later operation evicted.
        let mut places = Vec::with_capacity(operations.len());
        for operation in operations {
            let placed = self.keys.place(operation.key);
            if placed.is_new {
                assert_eq!(Size::of_key(operation.key), Some(size), "the key has the batch's size");
                let record = key_record(size, operation.key);
                device.write(self.memories[KEYS], placed.place * key_bytes, &record)?;
            }
            places.push(placed.place);
            inputs.append_reversed(operation.number);
        }
        for (operation, &place) in operations.iter().zip(&places) {
            let (pair, is_new) = self.keys.take_pair(place);
            jobs.push((place, pair));
            if is_new {
                fresh.push((place, pair));
                let random = random_below(&operation.key.public().modulus())?;
                randoms.append_reversed(&random);
            }
        }
        if !fresh.is_empty() {
            self.make_pairs(device, &fresh, &randoms)?;
        }
        device.write(self.memories[JOBS], 0, &job_bytes(&jobs))?;
        device.write(self.memories[INPUT], 0, &inputs)?;
        Ok(jobs.into_iter().map(|(_, pair)| pair).collect())
    }

    /// Makes blinding pairs. A pair that could not be made is zero, and its operation fails.
    fn make_pairs(
        &self,
        device: &mut dyn Device,
        pairs: &[(usize, usize)],
        randoms: &[u8],
    ) -> Result<(), Failure> {
        device.write(self.memories[JOBS], 0, &job_bytes(pairs))?;
        device.write(self.memories[BASE], 0, randoms)?;
        let batch = self.batch(pairs.len(), INVERSE);
        device.launch(power(self.numbers), self.size, &batch)?;
        device.launch(Kernel::MakePair, self.size, &batch)?;
        // The statuses of the operations begin as zero.
        device.clear(self.memories[STATUS])
    }

    /// Overwrites everything but keys and pairs.
    fn clear(&self, device: &mut dyn Device) -> Result<(), Failure> {
        [INPUT, BASE, HALVES, OUTPUT, STATUS]
            .into_iter()
            .try_for_each(|memory| device.clear(self.memories[memory]))
    }
}

/// Returns the kernel that exponentiates with these numbers.
fn power(numbers: Numbers) -> Kernel {
    match numbers {
        Numbers::Words => Kernel::Power,
        Numbers::Doubles => Kernel::Power52,
    }
}

fn job_bytes(jobs: &[(usize, usize)]) -> Vec<u8> {
    let word = |place: usize| u32::try_from(place).expect("few places").to_le_bytes();
    jobs.iter().flat_map(|&(key, pair)| [word(key), word(pair)]).flatten().collect()
}

/// Returns a random number below n, both big-endian.
fn random_below(n: &[u8]) -> Result<Secret, Failure> {
    let mut random = Secret::zeros(n.len());
    loop {
        getrandom::fill(&mut random).map_err(|_| Failure::Random)?;
        // A rejected number says nothing about the accepted one.
        if is_below(&random, n) {
            return Ok(random);
        }
    }
}

fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |x: i64| u64::try_from(x).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}
