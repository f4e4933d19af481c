//! A device that a test can also use while a unit has it.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use tollgate_cuda::{Batch, Device, Failure, Kernel, Mark, Memory, Size};

use crate::emulator::Emulator;

#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Emulator>>);

impl Shared {
    pub(crate) fn new(emulator: Emulator) -> Self {
        Self(Arc::new(Mutex::new(emulator)))
    }

    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Emulator) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }
}

impl Device for Shared {
    fn name(&self) -> &str {
        "a shared emulated GPU"
    }

    fn fill(&self, size: Size) -> usize {
        self.with(|device| device.fill(size))
    }

    fn allocate(&mut self, bytes: usize) -> Result<Memory, Failure> {
        self.with(|device| device.allocate(bytes))
    }

    fn write(&mut self, to: Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        self.with(|device| device.write(to, offset, bytes))
    }

    fn read(
        &mut self,
        from: Memory,
        offset: usize,
        into: &mut [u8],
        limit: Duration,
    ) -> Result<(), Failure> {
        self.with(|device| device.read(from, offset, into, limit))
    }

    fn clear(&mut self, memory: Memory) -> Result<(), Failure> {
        self.with(|device| device.clear(memory))
    }

    fn launch(&mut self, kernel: Kernel, size: Size, batch: &Batch) -> Result<(), Failure> {
        self.with(|device| device.launch(kernel, size, batch))
    }

    fn mark(&mut self, mark: Mark) -> Result<(), Failure> {
        self.with(|device| device.mark(mark))
    }

    fn between(&mut self, from: Mark, to: Mark) -> Result<Duration, Failure> {
        self.with(|device| device.between(from, to))
    }
}
