//! An NVIDIA GPU as a [`Device`].

use core::fmt;
use core::time::Duration;
use std::path::Path;
use std::thread;
use std::time::Instant;

use tollgate_cpu::process::fork_generation;

use crate::device::{Batch, Device, Failure, Kernel, Mark, Memory, Numbers};
use crate::driver::{Address, Driver, DriverState, Handle, OneAtATime, Pinned};
use crate::layout::{JOB_BYTES, Size};

/// The first GPU of this machine, with its kernels, one stream and pinned memory.
pub struct Gpu(OneAtATime<Inner>);

/// Properties of a device, by its driver.
struct Properties {
    name: String,
    multiprocessors: usize,
    capability: (i32, i32),
    /// Has at least half as many units for doubles as for single floats.
    has_doubles: bool,
}

struct Inner {
    driver: Driver,
    name: String,
    /// The fork generation of the process that opened the driver, which no child may use.
    process: u64,
    device: i32,
    multiprocessors: usize,
    context: Handle,
    stream: Handle,
    /// Events of [`Mark`], and one to wait for.
    marks: [Handle; 4],
    end: Handle,
    /// Functions by kernel, then by size; `None` if the device does not run the kernel for the
    /// size.
    functions: [[Option<Handle>; 4]; 5],
    memories: Vec<(Address, usize)>,
    to_device: Option<Pinned>,
    /// Bytes of `to_device` that copies may still read.
    used: usize,
    from_device: Option<Pinned>,
    /// The first failure. The device may still use its memory, and is not used again.
    failure: Option<Failure>,
}

/// No GPU can be used; the message names the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A call of the driver failed.
    Failed(Failure),
    /// The driver knows no GPU.
    NoDevice(String),
    /// There is no driver.
    NoDriver(String),
    /// The GPU has an architecture before 8.0.
    OldDevice(String),
    /// The driver has another version than 13.0 or later.
    OldDriver(i32),
}

impl core::error::Error for OpenError {}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::NoDevice(why) => write!(
                f,
                "NVIDIA's driver finds no GPU ({why}): run nvidia-smi; the administrator must give \
                 this process access to /dev/nvidia*"
            ),
            Self::NoDriver(why) => write!(
                f,
                "no NVIDIA driver on this machine ({why}): on a machine with a GPU, the \
                 administrator must install NVIDIA's driver, version 580 or later"
            ),
            Self::OldDevice(name) => write!(
                f,
                "{name} is too old: use a GPU with compute capability 8.0 or later, such as an A100"
            ),
            Self::OldDriver(version) => write!(
                f,
                "NVIDIA's driver supports CUDA {}.{} only: the administrator must install version \
                 580 or later, for CUDA 13.0",
                version / 1000,
                version % 1000 / 10
            ),
        }
    }
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The driver's library.
const LIBRARY: &str = "libcuda.so.1";
/// The version of CUDA that the kernels were compiled with.
const CUDA_VERSION: i32 = 13_000;
/// Attributes of devices.
const MULTIPROCESSOR_COUNT: i32 = 16;
const SINGLE_TO_DOUBLE_RATIO: i32 = 87;
const CAPABILITY_MAJOR: i32 = 75;
const CAPABILITY_MINOR: i32 = 76;
/// Threads of a block, as in `device/kernels.cu`.
const THREADS: u32 = 128;
/// Warps that keep a quarter of a multiprocessor busy.
const WARPS: usize = 2;
const KERNELS: [Kernel; 5] =
    [Kernel::Blind, Kernel::Power, Kernel::Power52, Kernel::Finish, Kernel::MakePair];

/// The argument of each kernel: `Batch` of `device/layout.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Argument {
    memories: [Address; 8],
    count: u32,
    exponent: u32,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("name", &self.0.0.name).finish_non_exhaustive()
    }
}

impl Gpu {
    /// Opens the driver and the first GPU, and loads the kernels.
    ///
    /// # Errors
    ///
    /// There is no driver or no suitable GPU; the message says what is missing.
    pub fn open() -> Result<Self, OpenError> {
        Self::open_with(Path::new(LIBRARY))
    }

    /// Opens the first GPU through another library with the driver's functions.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(library: &Path) -> Result<Self, OpenError> {
        let driver = Driver::open(library).map_err(OpenError::NoDriver)?;
        let no_device = |failure| match failure {
            Failure::Call { why, .. } => OpenError::NoDevice(why),
            other => OpenError::Failed(other),
        };
        driver.init().map_err(no_device)?;
        let version = driver.version()?;
        if version < CUDA_VERSION {
            return Err(OpenError::OldDriver(version));
        }
        if driver.device_count().map_err(no_device)? == 0 {
            return Err(OpenError::NoDevice("it counts none".to_owned()));
        }
        let device = driver.device(0)?;
        let name = driver.device_name(device)?;
        let attribute = |attribute| driver.attribute(attribute, device);
        let capability = (attribute(CAPABILITY_MAJOR)?, attribute(CAPABILITY_MINOR)?);
        if capability < (8, 0) {
            return Err(OpenError::OldDevice(name));
        }
        let multiprocessors = usize::try_from(attribute(MULTIPROCESSOR_COUNT)?).unwrap_or(1).max(1);
        let has_doubles = attribute(SINGLE_TO_DOUBLE_RATIO)? <= 2;
        let context = driver.retain_context(device)?;
        let properties = Properties { name, multiprocessors, capability, has_doubles };
        Ok(Self(OneAtATime(Inner::new(driver, (device, context), properties)?)))
    }

    fn entered(&mut self) -> Result<&mut Inner, Failure> {
        let inner = &mut self.0.0;
        if inner.process != fork_generation() {
            return Err(Failure::Forked);
        }
        if let Some(failure) = &inner.failure {
            return Err(failure.clone());
        }
        inner.driver.enter(inner.context)?;
        Ok(inner)
    }

    /// Runs `f`. After a failure, nothing runs and memory is never freed; copies to the device,
    /// which contain keys, are overwritten, unless they are those of a parent process.
    fn with<T>(&mut self, f: impl FnOnce(&mut Inner) -> Result<T, Failure>) -> Result<T, Failure> {
        let result = self.entered().and_then(f);
        let inner = &mut self.0.0;
        if let Err(failure) = &result
            && inner.failure.is_none()
            && *failure != Failure::Forked
        {
            inner.failure = Some(failure.clone());
            if let Some(memory) = &mut inner.to_device {
                memory.wipe(inner.used);
            }
        }
        result
    }
}

/// Returns the compiled kernels for a compute capability: machine code, or PTX, which the driver
/// compiles in seconds and keeps in its cache.
fn image(capability: (i32, i32)) -> Vec<u8> {
    let packed: &[u8] = if capability == (9, 0) {
        include_bytes!("../prebuilt/kernels.sm_90.cubin.z")
    } else {
        include_bytes!("../prebuilt/kernels.ptx.z")
    };
    let mut image = miniz_oxide::inflate::decompress_to_vec_zlib(packed)
        .expect("a test unpacks the files of this crate");
    image.push(0);
    image
}

impl Inner {
    fn new(
        driver: Driver,
        (device, context): (i32, Handle),
        properties: Properties,
    ) -> Result<Self, Failure> {
        let Properties { name, multiprocessors, capability, has_doubles } = properties;
        driver.enter(context)?;
        let module = driver.load_module(&image(capability))?;
        let stream = driver.stream()?;
        let end = driver.event()?;
        let mut marks = [end; 4];
        for mark in &mut marks {
            *mark = driver.event()?;
        }
        let mut functions = [[None; 4]; 5];
        for kernel in KERNELS.into_iter().filter(|kernel| has_doubles || *kernel != Kernel::Power52)
        {
            for size in Size::ALL.into_iter().filter(|size| kernel.exists(*size)) {
                let name = format!("{}_{}", kernel.name(), size.bits());
                let function = driver.function(module, &name)?;
                let bytes = shared_bytes(kernel, size);
                if bytes > 0 {
                    match driver.allow_shared_memory(function, bytes) {
                        // Words are enough on a device with less shared memory.
                        Err(_) if kernel == Kernel::Power52 => continue,
                        allowed => allowed?,
                    }
                }
                functions[kernel as usize][size.index()] = Some(function);
            }
        }
        Ok(Self {
            driver,
            name,
            process: fork_generation(),
            device,
            multiprocessors,
            context,
            stream,
            marks,
            end,
            functions,
            memories: Vec::new(),
            to_device: None,
            used: 0,
            from_device: None,
            failure: None,
        })
    }

    /// Waits until everything before has run.
    fn wait(&mut self, limit: Duration) -> Result<(), Failure> {
        /// Polls take little CPU time, and add little to the milliseconds of a batch.
        const PAUSE: Duration = Duration::from_micros(20);
        let begin = Instant::now();
        self.driver.record(self.end, self.stream)?;
        while !self.driver.has_passed(self.end)? {
            if begin.elapsed() >= limit {
                return Err(Failure::Timeout(limit));
            }
            thread::sleep(PAUSE);
        }
        if let Some(memory) = &mut self.to_device {
            memory.wipe(self.used);
        }
        self.used = 0;
        Ok(())
    }

    /// Returns room in the memory for copies to the device. Waits if it is full.
    fn room(&mut self, bytes: usize) -> Result<usize, Failure> {
        if self.used + bytes > self.to_device.as_ref().map_or(0, Pinned::len) {
            self.wait(QUEUED_LIMIT)?;
        }
        self.used += bytes;
        Ok(self.used - bytes)
    }

    /// Makes pinned memory for copies of this size. It grows only while nothing is queued.
    fn pin(&mut self, bytes: usize) -> Result<(), Failure> {
        if self.to_device.as_ref().is_some_and(|memory| memory.len() >= bytes) {
            return Ok(());
        }
        self.wait(QUEUED_LIMIT)?;
        for memory in [&mut self.to_device, &mut self.from_device] {
            if let Some(old) = memory.take() {
                self.driver.unpin(old)?;
            }
            *memory = Some(self.driver.pin(bytes.next_power_of_two().max(1 << 16))?);
        }
        Ok(())
    }
}

/// Limit of a wait for work that was queued before.
const QUEUED_LIMIT: Duration = Duration::from_secs(1);

impl DriverState for Inner {}

impl Drop for Inner {
    /// Releases the context with all its memory, unless the device may still use it.
    fn drop(&mut self) {
        let is_child = self.process != fork_generation();
        if is_child || self.failure.is_some() || self.driver.enter(self.context).is_err() {
            return;
        }
        if self.wait(QUEUED_LIMIT).is_err() {
            return;
        }
        for memory in [self.to_device.take(), self.from_device.take()].into_iter().flatten() {
            if self.driver.unpin(memory).is_err() {
                return;
            }
        }
        let _ = self.driver.release_context(self.device);
    }
}

/// Returns the bytes of shared memory of a block: numbers of `device/private.h` and
/// `device/power52.h`.
fn shared_bytes(kernel: Kernel, size: Size) -> u32 {
    let of_thread = match (kernel, size, size.limbs52()) {
        (Kernel::Power, ..) => 16 * 4 * size.words(),
        (Kernel::Power52, Size::Rsa1024, Some(limbs)) => 16 * 8 * limbs,
        (Kernel::Power52, Size::Rsa2048, Some(limbs)) => 8 * 8 * limbs,
        (Kernel::Power52, Size::Rsa3072, Some(limbs)) => 5 * 8 * limbs,
        _ => 0,
    };
    THREADS * u32::try_from(of_thread).expect("a few kilobytes")
}

impl Device for Gpu {
    fn name(&self) -> &str {
        &self.0.0.name
    }

    fn fill(&self, size: Size, numbers: Numbers) -> Option<usize> {
        let gpu = &self.0.0;
        match numbers {
            Numbers::Words => Some(gpu.multiprocessors * 4 * WARPS * 32 / (2 * size.lanes())),
            Numbers::Doubles => gpu.functions[Kernel::Power52 as usize][size.index()]
                .map(|_| gpu.multiprocessors * THREADS as usize / 2),
        }
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, Failure> {
        self.with(|gpu| {
            gpu.pin(bytes)?;
            let address = gpu.driver.allocate(bytes)?;
            gpu.driver.clear(address, bytes, gpu.stream)?;
            gpu.memories.push((address, bytes));
            Ok(Memory(gpu.memories.len() as u64 - 1))
        })
    }

    fn write(&mut self, to: Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        self.with(|gpu| {
            let address = gpu.at(to, offset, bytes.len());
            let at = gpu.room(bytes.len())?;
            let at = at..at + bytes.len();
            let memory = gpu.to_device.as_mut().expect("it has room");
            memory.bytes_mut()[at.clone()].copy_from_slice(bytes);
            gpu.driver.load(address, memory, at, gpu.stream)
        })
    }

    fn read(
        &mut self,
        from: Memory,
        offset: usize,
        into: &mut [u8],
        limit: Duration,
    ) -> Result<(), Failure> {
        self.with(|gpu| {
            let address = gpu.at(from, offset, into.len());
            let memory = gpu.from_device.as_mut().expect("it has room");
            gpu.driver.store(memory, address, into.len(), gpu.stream)?;
            gpu.wait(limit)?;
            let memory = gpu.from_device.as_mut().expect("it has room");
            into.copy_from_slice(&memory.bytes()[..into.len()]);
            memory.wipe(into.len());
            Ok(())
        })
    }

    fn clear(&mut self, memory: Memory) -> Result<(), Failure> {
        self.with(|gpu| {
            let (address, bytes) = gpu.place(memory);
            gpu.driver.clear(address, bytes, gpu.stream)
        })
    }

    fn launch(&mut self, kernel: Kernel, size: Size, batch: &Batch) -> Result<(), Failure> {
        self.with(|gpu| {
            let places = batch.memories.map(|memory| gpu.place(memory));
            let of_job =
                [0, 0, JOB_BYTES, size.bytes(), size.bytes(), size.bytes(), size.bytes(), 4];
            let fits = |((_, len), bytes): (&(Address, usize), usize)| {
                *len >= bytes * batch.count as usize
            };
            assert!(batch.count > 0 && places.iter().zip(of_job).all(fits), "memory for all jobs");
            let memories = places.map(|(address, _)| address);
            let argument = Argument { memories, count: batch.count, exponent: batch.exponent };
            // Groups of both halves of an operation together have as many threads as one for N.
            let lanes = if kernel == Kernel::Power52 { 1 } else { size.lanes() };
            let threads = batch.count * 2 * u32::try_from(lanes).expect("at most 8");
            let shared = shared_bytes(kernel, size);
            let function = gpu.functions[kernel as usize][size.index()];
            let function = function.expect("a kernel that exists for the size");
            let blocks = threads.div_ceil(THREADS);
            gpu.driver.launch(function, blocks, THREADS, shared, gpu.stream, &argument)
        })
    }

    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.with(|gpu| gpu.driver.record(gpu.marks[mark as usize], gpu.stream))
    }

    fn between(&mut self, from: Mark, to: Mark) -> Result<Duration, Failure> {
        self.with(|gpu| {
            let [from, to] = [from, to].map(|mark| gpu.marks[mark as usize]);
            let milliseconds = gpu.driver.milliseconds(from, to)?;
            Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1000.0))
        })
    }
}

impl Inner {
    fn place(&self, memory: Memory) -> (Address, usize) {
        let index = usize::try_from(memory.0).unwrap_or(usize::MAX);
        *self.memories.get(index).expect("memory of this device")
    }

    /// Returns an address of a memory that has `bytes` bytes from `offset` on.
    fn at(&self, memory: Memory, offset: usize, bytes: usize) -> Address {
        let (address, len) = self.place(memory);
        assert!(offset <= len && bytes <= len - offset, "within the memory");
        address + offset as u64
    }
}
