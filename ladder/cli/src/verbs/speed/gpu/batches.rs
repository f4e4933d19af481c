//! Batches on a device, one after the other and two at a time, with a check of each result.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tollgate_cuda::{Done, Meter, Operation, Operations, Prepared, Size};
use tollgate_rsa::PrivateKey;

use super::cores::Cores;
use crate::cells::float;
use crate::error::CliError;
use crate::interrupt;
use crate::keys::Key;

/// A batch that takes longer counts as lost.
const LIMIT: Duration = Duration::from_secs(30);

/// Batches run back to back for about this time; then their results are checked. The device's
/// counter of energy moves in steps, so a short time has no exact energy.
const STRETCH: Duration = Duration::from_secs(1);

/// The results of a stretch have at most this number of bytes.
const STRETCH_BYTES_MAX: usize = 256 << 20;

/// Batches of one size of key.
#[derive(Clone, Debug, Default)]
pub(super) struct Batches {
    /// Batches that ran one after the other.
    pub(super) times: Vec<Done>,
    /// Batches while another one was prepared or ran.
    pub(super) overlapped: Vec<Done>,
    /// Operations per second of all overlapped batches, one for each stretch.
    pub(super) per_s: Vec<f64>,
    /// The numbers of the exponentiations.
    pub(super) prepared: Option<Prepared>,
    /// Results that were compared, all right, with those of the first batch, which has no time.
    pub(super) compared: u64,
    /// One for each stretch of overlapped batches; empty if the device has no meter.
    pub(super) operations_per_joule: Vec<f64>,
    /// The clock at the end of each such stretch.
    pub(super) clock_mhz: Vec<u32>,
}

/// Returns the time of a whole batch.
pub(super) fn whole(done: &Done) -> Duration {
    done.load + done.execute + done.store + done.notify
}

/// Runs full batches and checks each result: alternately one after the other, and with a thread for
/// each of `operations`. The first batch of each, which copies the key and makes blinding pairs, is
/// compared with the processor's private operations; its times do not count. `None` after Ctrl-C.
pub(super) fn measure(
    operations: &mut [Operations],
    meter: Option<&Meter>,
    size: Size,
    seconds: Duration,
    mut progress: impl FnMut(f64),
) -> Result<Option<Batches>, CliError> {
    let key = Key::built_in(u32::try_from(size.bits())?)?.ours;
    let cores = Cores::new(Arc::clone(&key))?;
    let prepared = operations[0].prepare(size).map_err(CliError::about("--unit gpu"))?;
    // All use the same numbers, so that batches have one width.
    for other in &mut operations[1..] {
        other.choose(prepared.numbers);
        other.prepare(size).map_err(CliError::about("--unit gpu"))?;
    }
    let found = Batches { prepared: Some(prepared), ..Batches::default() };
    let mut run = Run { operations, meter, size, key, cores, found };
    let mut last = Duration::ZERO;
    for unit in 0..run.operations.len() {
        last = whole(&run.first(unit)?);
    }
    let begin = Instant::now();
    loop {
        let left = seconds.saturating_sub(begin.elapsed()) / 2;
        let count = batches(STRETCH.min(left), last, run.batch_bytes());
        run.stretch(count, 1)?;
        run.stretch(count.max(run.operations.len()), run.operations.len())?;
        if interrupt::asked() {
            return Ok(None);
        }
        progress(begin.elapsed().as_secs_f64() / seconds.as_secs_f64());
        if begin.elapsed() >= seconds {
            return Ok(Some(run.found));
        }
        last = run.found.times.last().map_or(last, whole);
    }
}

/// Returns the number of batches of a stretch, at least one.
fn batches(stretch: Duration, batch: Duration, bytes: usize) -> usize {
    let by_time = stretch.as_nanos() / batch.as_nanos().max(1);
    let by_bytes = STRETCH_BYTES_MAX / bytes;
    usize::try_from(by_time).unwrap_or(usize::MAX).min(by_bytes).max(1)
}

struct Run<'a> {
    operations: &'a mut [Operations],
    meter: Option<&'a Meter>,
    size: Size,
    key: Arc<PrivateKey>,
    cores: Cores,
    found: Batches,
}

impl Run<'_> {
    fn width(&self) -> usize {
        self.operations[0].width(self.size)
    }

    fn batch_bytes(&self) -> usize {
        self.width() * self.size.bytes()
    }

    /// Runs a batch and compares it with the processor's private operations.
    fn first(&mut self, unit: usize) -> Result<Done, CliError> {
        let mut numbers = self.cores.numbers(self.found.compared, self.width());
        let mut expected = numbers.clone();
        self.cores.private(&mut expected)?;
        let done = batch(&mut self.operations[unit], self.size, &self.key, &mut numbers)?;
        let bytes = self.size.bytes();
        let pairs = numbers.chunks_exact(bytes).zip(expected.chunks_exact(bytes));
        let wrong = pairs.filter(|(result, right)| result != right).map(|_| 1).sum();
        self.compared(done.operations, wrong)?;
        Ok(done)
    }

    /// Runs batches back to back, in this number of threads, and then checks their results.
    fn stretch(&mut self, batches: usize, threads: usize) -> Result<(), CliError> {
        // No number comes twice.
        let first = self.found.compared;
        let mut numbers = self.cores.numbers(first, batches * self.width());
        let (bytes, energy) = (self.batch_bytes(), self.meter.and_then(Meter::energy_mj));
        let begin = Instant::now();
        let rest = Mutex::new(numbers.chunks_exact_mut(bytes));
        let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = |operations: &mut Operations| {
            let mut times = Vec::new();
            while let Some(numbers) = next().filter(|_| !interrupt::asked()) {
                times.push(batch(operations, self.size, &self.key, numbers)?);
            }
            Ok::<_, CliError>(times)
        };
        let times = thread::scope(|scope| {
            let spawned = self.operations[..threads].iter_mut();
            let threads: Vec<_> =
                spawned.map(|operations| scope.spawn(|| work(operations))).collect();
            let times = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            times.collect::<Result<Vec<_>, _>>()
        });
        let times = times?.concat();
        let seconds = begin.elapsed().as_secs_f64();
        let operations: usize = times.iter().map(|done| done.operations).sum();
        if threads == 1 {
            self.found.times.extend(times);
        } else {
            self.found.overlapped.extend(times);
            self.found.per_s.push(float(operations as u64) / seconds);
            self.found.clock_mhz.extend(self.meter.and_then(Meter::clock_mhz));
            let after = self.meter.and_then(Meter::energy_mj);
            if let Some((before, after)) =
                energy.zip(after).filter(|(before, after)| after > before)
            {
                let joules = float(after - before) / 1e3;
                self.found.operations_per_joule.push(float(operations as u64) / joules);
            }
        }
        if interrupt::asked() {
            return Ok(());
        }
        let wrong = self.cores.wrong(first, &mut numbers)?;
        self.compared(operations, wrong)
    }

    fn compared(&mut self, operations: usize, wrong: u64) -> Result<(), CliError> {
        self.found.compared += operations as u64;
        let (bits, compared) = (self.size.bits(), self.found.compared);
        if wrong > 0 {
            bail!(
                "--unit gpu: RSA-{bits}: {wrong} of {compared} results are wrong: do not use the \
                 GPU, and test its memory"
            );
        }
        Ok(())
    }
}

/// Runs a batch in place.
fn batch(
    operations: &mut Operations,
    size: Size,
    key: &Arc<PrivateKey>,
    numbers: &mut [u8],
) -> Result<Done, CliError> {
    let numbers = numbers.chunks_exact_mut(size.bytes());
    // An operation that does not pass keeps its number, which the comparison finds.
    let mut batch: Vec<_> =
        numbers.map(|number| Operation { key, number, passed: false }).collect();
    operations.run(size, &mut batch, LIMIT).map_err(CliError::about("--unit gpu"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use tollgate_cuda::{Batch, Device, Failure, Gpu, Kernel, Mark, Memory, Numbers};

    use super::*;

    /// An emulated GPU that changes a bit of a result, in one of its batches.
    struct Faulty {
        gpu: Gpu,
        results: usize,
        batch: Option<usize>,
    }

    impl Faulty {
        fn new(name: &str, batch: Option<usize>) -> Box<Self> {
            let name = format!("tollgate-{}-{name}.so", std::process::id());
            let library = std::env::temp_dir().join(name);
            let source = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../engine/cuda/device/emulated_driver.cpp");
            let mut compiler = Command::new("g++");
            compiler.args(["-std=c++17", "-O2", "-shared", "-fPIC", "-o"]).arg(&library);
            let status = compiler.arg(source).status().expect("the emulation needs g++");
            assert!(status.success());
            let gpu = Gpu::open_with(&library);
            std::fs::remove_file(&library).unwrap();
            Box::new(Self { gpu: gpu.unwrap(), results: 0, batch })
        }
    }

    impl Device for Faulty {
        fn name(&self) -> &str {
            self.gpu.name()
        }

        fn fill(&self, _: Size, numbers: Numbers) -> Option<usize> {
            (numbers == Numbers::Words).then_some(9) // two parts for one core
        }

        fn allocate(&mut self, bytes: usize) -> Result<Memory, Failure> {
            self.gpu.allocate(bytes)
        }

        fn write(&mut self, to: Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
            self.gpu.write(to, offset, bytes)
        }

        fn read(
            &mut self,
            from: Memory,
            offset: usize,
            into: &mut [u8],
            limit: Duration,
        ) -> Result<(), Failure> {
            self.gpu.read(from, offset, into, limit)?;
            if into.len() == 9 * Size::Rsa1024.bytes() {
                self.results += 1;
                if self.batch == Some(self.results) {
                    into[200] ^= 4;
                }
            }
            Ok(())
        }

        fn clear(&mut self, memory: Memory) -> Result<(), Failure> {
            self.gpu.clear(memory)
        }

        fn launch(&mut self, kernel: Kernel, size: Size, batch: &Batch) -> Result<(), Failure> {
            self.gpu.launch(kernel, size, batch)
        }

        fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
            self.gpu.mark(mark)
        }

        fn between(&mut self, from: Mark, to: Mark) -> Result<Duration, Failure> {
            self.gpu.between(from, to)
        }
    }

    fn measured(devices: [Box<Faulty>; 2]) -> Result<Option<Batches>, CliError> {
        let mut operations = devices.map(|device| Operations::new(device, usize::MAX));
        measure(&mut operations, None, Size::Rsa1024, Duration::from_millis(300), |_| {})
    }

    #[test]
    fn all_batches_are_compared_and_one_wrong_bit_is_found() {
        let devices = ["right", "right-2"].map(|name| Faulty::new(name, None));
        let found = measured(devices).unwrap().unwrap();
        let batches = found.times.len() + found.overlapped.len() + 2;
        assert_eq!(found.compared, 9 * batches as u64);
        assert!(found.times.iter().chain(&found.overlapped).all(|done| done.operations == 9));
        assert!(found.overlapped.len() >= 2 * found.per_s.len() && found.per_s[0] > 0.0);
        assert!(found.operations_per_joule.is_empty() && found.clock_mhz.is_empty());
        // The first batch of each is compared with private operations, others by the public
        // exponent. The second device has a batch after its first one only while both work.
        for (first, second) in [(Some(1), None), (Some(2), None), (None, Some(1)), (None, Some(2))]
        {
            let name = |at: &str| format!("{first:?}-{second:?}-{at}");
            let devices = [Faulty::new(&name("1"), first), Faulty::new(&name("2"), second)];
            let why = measured(devices).unwrap_err();
            let begins = "--unit gpu: RSA-1024: 1 of ";
            assert!(why.to_string().starts_with(begins), "{why}");
        }
    }

    #[test]
    fn a_stretch_has_a_time_and_a_size() {
        let ms = Duration::from_millis;
        assert_eq!(batches(ms(1000), ms(6), 1 << 20), 166);
        assert_eq!(batches(ms(1000), ms(1), 1 << 20), 256);
        assert_eq!(batches(ms(10), ms(640), 1 << 12), 1);
        assert_eq!(batches(ms(0), ms(0), 1 << 30), 1);
    }
}
