//! Decides which batches go to the device.

use core::time::Duration;

/// Limits of an [`Offload`](crate::Offload) unit.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Cores that could run the operations instead. A batch goes to the device if these cores would
    /// need at least as long. 0 sends every batch to the device.
    pub cores: usize,
    /// Maximum time of a batch on the device. Sizes of keys that take longer stay on the processor.
    pub batch_time_max: Duration,
    /// Time after which a batch counts as lost. The device is then not used again, and another unit
    /// runs the batch.
    pub timeout: Duration,
}

impl Default for Policy {
    /// All cores of this process; batches of at most 50 ms; a timeout of one second.
    fn default() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, core::num::NonZero::get),
            batch_time_max: Duration::from_millis(50),
            timeout: Duration::from_secs(1),
        }
    }
}

/// Measured times of one size of key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// A batch on the device, however many operations it has.
    pub(crate) batch: Duration,
    /// One operation on one core.
    pub(crate) operation: Duration,
}

impl Costs {
    /// Returns `true` if a batch of this many operations should go to the device.
    pub(crate) fn pays(&self, operations: usize, policy: &Policy) -> bool {
        let nanos = |count: usize, time: Duration| (count as u128).saturating_mul(time.as_nanos());
        self.batch <= policy.batch_time_max
            && nanos(operations, self.operation) >= nanos(policy.cores, self.batch)
    }

    /// Takes the time of another batch into account.
    pub(crate) fn note_batch(&mut self, time: Duration) {
        self.batch = (self.batch * 3 + time) / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn small_batches_and_slow_devices_stay_on_the_processor() {
        let policy = Policy { cores: 16, batch_time_max: 10 * MS, timeout: 100 * MS };
        let mut costs = Costs { batch: 3 * MS, operation: MS / 2 };
        // 16 cores do 96 operations in 3 ms.
        assert!(!costs.pays(95, &policy) && costs.pays(96, &policy));
        costs.note_batch(35 * MS); // 11 ms
        assert!(!costs.pays(4000, &policy), "above batch_time_max");
        costs.note_batch(3 * MS); // 9 ms
        assert!(costs.pays(4000, &policy));
        assert!(costs.pays(1, &Policy { cores: 0, ..policy }));
    }
}
