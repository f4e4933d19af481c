//! A GPU beside the lanes: its unit, what it has done, and lines for the operator.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use tollgate_cuda::{Device, Event, Gpu, Numbers, Offload, Policy, Size};
use tollgate_queue::Cause;

use crate::error::{Error, Say};

/// The setting that errors of a GPU name.
const SETTING: &str = "unit = \"gpu\"";

/// A device and the limits of its unit.
pub(crate) struct Offloading {
    pub(crate) device: Box<dyn Device>,
    pub(crate) policy: Policy,
}

/// Opens the first GPU, for a signer with this number of workers. Its driver serves this process
/// only.
pub(crate) fn open(workers: usize) -> Result<Offloading, Error> {
    let device = Gpu::open().map_err(|why| Error::setting(SETTING, why.to_string()))?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // Only the workers could run the operations instead.
    let policy = Policy { cores: workers.min(cores), ..Policy::default() };
    Ok(Offloading { device: Box::new(device), policy })
}

impl Offloading {
    /// Returns the number of operations in the queue that keep the device busy: one batch runs
    /// while the next one comes.
    pub(crate) fn in_flight(&self) -> usize {
        let fill = |size| Numbers::ALL.map(|numbers| self.device.fill(size, numbers));
        2 * Size::ALL.into_iter().flat_map(fill).flatten().max().unwrap_or_default()
    }

    /// Makes the unit, and the counters that it updates.
    pub(crate) fn unit(
        self,
        say: &Say,
    ) -> Result<(Offload, Arc<GpuCounters>), tollgate_rsa::Error> {
        let counters = Arc::new(GpuCounters::new(self.device.name()));
        let (counted, say) = (Arc::clone(&counters), Arc::clone(say));
        let listener = move |event| counted.note(&event, &say);
        Ok((Offload::new(self.device, usize::MAX, self.policy, listener)?, counters))
    }
}

/// The work of a GPU.
#[derive(Default)]
pub(crate) struct GpuCounters {
    device: String,
    /// The work of the self test at the start does not count.
    has_started: AtomicBool,
    /// The failure of the device in the self test at the start.
    failed_at_start: OnceLock<String>,
    is_in_use: AtomicBool,
    batches: AtomicU64,
    operations: AtomicU64,
    failures: AtomicU64,
    wrong_results: AtomicU64,
}

/// Counts of a GPU since the signer's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuCounts {
    /// Batches may go to the GPU. It is out of use after a failure or a wrong result.
    pub is_in_use: bool,
    /// Batches that ran on the GPU.
    pub batches: u64,
    /// Operations in these batches.
    pub operations: u64,
    /// Failures of the GPU; after the first one it is not used again.
    pub failures: u64,
    /// Results that failed the check on the GPU or that on the processor. None has left the signer.
    pub wrong_results: u64,
}

impl GpuCounters {
    fn new(device: &str) -> Self {
        Self { device: device.to_owned(), is_in_use: AtomicBool::new(true), ..Self::default() }
    }

    pub(crate) fn read(&self) -> GpuCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        GpuCounts {
            is_in_use: self.is_in_use.load(Ordering::Relaxed),
            batches: read(&self.batches),
            operations: read(&self.operations),
            failures: read(&self.failures),
            wrong_results: read(&self.wrong_results),
        }
    }

    /// Returns an error if the queue has quarantined the GPU at its start.
    pub(crate) fn starts(&self, say: &Say) -> Result<(), Error> {
        if !self.is_in_use.load(Ordering::Relaxed) {
            let device = &self.device;
            let wrong = || {
                format!("{device} failed its self test: test its memory, or set `unit = \"lanes\"`")
            };
            let why = self.failed_at_start.get().cloned().unwrap_or_else(wrong);
            return Err(Error::setting(SETTING, why));
        }
        self.has_started.store(true, Ordering::Relaxed);
        say(&format!("large batches of RSA operations may go to {}", self.device));
        Ok(())
    }

    /// Counts an event of the unit. Each failure and wrong result has a line: after it, the queue
    /// quarantines the unit, so there are few.
    fn note(&self, event: &Event, say: &Say) {
        if !self.has_started.load(Ordering::Relaxed) {
            if let Event::Failed(failure) = event {
                self.failed_at_start.get_or_init(|| failure.to_string());
            }
            return;
        }
        let add = |to: &AtomicU64, count: usize| to.fetch_add(count as u64, Ordering::Relaxed);
        match event {
            Event::Done(done) => {
                add(&self.batches, 1);
                add(&self.operations, done.operations);
            }
            Event::Failed(failure) => {
                add(&self.failures, 1);
                say(&failure.to_string());
            }
            Event::Wrong(count) => {
                add(&self.wrong_results, *count);
                let device = &self.device;
                say(&format!(
                    "{device} gave wrong results ({count}), which have not left the signer: test \
                     its memory, then restart this program"
                ));
            }
        }
    }

    /// Takes an event of the queue into account. Returns `true` if it is about the unit of the GPU,
    /// which has this name, and needs no other line.
    pub(crate) fn note_queue(&self, own: &str, event: &tollgate_queue::Event, say: &Say) -> bool {
        use tollgate_queue::Event::{Quarantined, Readmitted};
        let (Quarantined { unit, .. } | Readmitted { unit }) = event else { return false };
        if unit != own {
            return false;
        }
        self.is_in_use.store(matches!(event, Readmitted { .. }), Ordering::Relaxed);
        if !self.has_started.load(Ordering::Relaxed) {
            return true;
        }
        // The advice of the queue is about a processor.
        let is_check = matches!(event, Quarantined { cause: Cause::Check | Cause::SelfTest, .. });
        if is_check {
            let device = &self.device;
            say(&format!(
                "an operation on {device} failed: the processor does its work from now on"
            ));
        }
        is_check
    }
}
