//! Devices that run the kernels: a GPU through its driver, and in tests an emulation.

use core::fmt;
use core::time::Duration;

use crate::layout::Size;

/// A device with the kernels of `device/kernels.cu`. Everything runs in the order of the calls.
/// Only [`read`](Self::read) waits for the device, and only until its limit. After a failure, a
/// device is not used again.
pub trait Device: Send {
    /// Returns the display name, such as `NVIDIA H200`.
    fn name(&self) -> &str;

    /// Returns the number of operations that fill the device, or `None` if it cannot exponentiate
    /// with these numbers, or is known to be slow at it. Every device has [`Numbers::Words`].
    fn fill(&self, size: Size, numbers: Numbers) -> Option<usize>;

    /// Allocates memory and clears it.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn allocate(&mut self, bytes: usize) -> Result<Memory, Failure>;

    /// Copies bytes to the device.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn write(&mut self, to: Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure>;

    /// Waits until everything before has run, and copies bytes from the device.
    ///
    /// # Errors
    ///
    /// The device failed, or did not end within `limit`.
    fn read(
        &mut self,
        from: Memory,
        offset: usize,
        into: &mut [u8],
        limit: Duration,
    ) -> Result<(), Failure>;

    /// Overwrites memory with zeros.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn clear(&mut self, memory: Memory) -> Result<(), Failure>;

    /// Runs a kernel. The places of keys and pairs in the jobs are within their memories.
    ///
    /// # Errors
    ///
    /// The device failed.
    ///
    /// # Panics
    ///
    /// If there is no such kernel for the size, there are no jobs, or a memory is too small for
    /// them.
    fn launch(&mut self, kernel: Kernel, size: Size, batch: &Batch) -> Result<(), Failure>;

    /// Notes when everything before has run.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn mark(&mut self, mark: Mark) -> Result<(), Failure>;

    /// Returns the time between two marks that have passed.
    ///
    /// # Errors
    ///
    /// The device failed.
    fn between(&mut self, from: Mark, to: Mark) -> Result<Duration, Failure>;
}

/// Memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(pub u64);

/// The numbers that an exponentiation computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Words of 32 bits; a group of threads has a number.
    Words,
    /// Limbs of 52 bits in doubles; each thread has a number.
    Doubles,
}

impl Numbers {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Words, Self::Doubles];
}

/// A kernel; `device/private.h` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Multiplies inputs by the first numbers of their blinding pairs.
    Blind,
    /// Exponentiates modulo the primes, with words.
    Power,
    /// Exponentiates modulo the primes, with doubles.
    Power52,
    /// Recombines, unblinds and checks.
    Finish,
    /// Makes blinding pairs.
    MakePair,
}

impl Kernel {
    /// Returns `true` if there is such a kernel for the size.
    #[must_use]
    pub const fn exists(self, size: Size) -> bool {
        !matches!(self, Self::Power52) || size.limbs52().is_some()
    }

    /// Returns the first part of the name in `device/kernels.cu`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blind => "blind",
            Self::Power => "power",
            Self::Power52 => "power52",
            Self::Finish => "finish",
            Self::MakePair => "make_pair",
        }
    }
}

/// The argument of a kernel: `Batch` of `device/layout.h`.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Keys, pairs, jobs, input, base, halves, output and status.
    pub memories: [Memory; 8],
    /// The number of jobs.
    pub count: u32,
    /// The exponent of [`Kernel::Power`]: 0 is the private one, 1 that of an inversion.
    pub exponent: u32,
}

/// The steps of a batch that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing has run.
    Begin,
    /// Operands are on the device.
    Loaded,
    /// The results are in the device's memory.
    Executed,
    /// The results are in the host's memory.
    Stored,
}

/// A device failed. Its batches run on the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A call of the driver failed.
    Call {
        /// The call, such as `cuLaunchKernel`.
        call: &'static str,
        /// The driver's word for the error.
        why: String,
    },
    /// This process was forked from the one that opened the GPU.
    Forked,
    /// The system has no random bytes for blinding.
    Random,
    /// The device did not end in time.
    Timeout(Duration),
}

impl core::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { call, why } => write!(
                f,
                "the GPU failed: {call} returned {why}; look for Xid in the kernel's log, then \
                 restart this program"
            ),
            Self::Forked => f.write_str(
                "this process was forked after its parent opened the GPU: open it after the fork \
                 only",
            ),
            Self::Random => f.write_str("the system has no random bytes: try again later"),
            Self::Timeout(limit) => write!(
                f,
                "the GPU did not end a batch within {} ms: look for Xid in the kernel's log and \
                 for other programs on the GPU, then restart this program",
                limit.as_millis()
            ),
        }
    }
}
