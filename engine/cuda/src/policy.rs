//! Decides which batches go to the device.

use core::time::Duration;
use std::time::Instant;

/// Limits of an [`Offload`](crate::Offload) unit.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Cores that could run the operations instead. The unit takes full batches if these cores
    /// would need at least as long. With 0, only `batch_time_max` counts. At most as many threads
    /// check the results of a batch.
    pub cores: usize,
    /// Maximum time of a batch on the device. Sizes of keys that take longer stay on the processor.
    pub batch_time_max: Duration,
    /// Time after which a batch counts as lost. The device is then not used again, and another unit
    /// runs the batch.
    pub timeout: Duration,
    /// Time without a batch on the device after which it gets the next one even if that does not
    /// pay: it may have been slow only once.
    pub retry: Duration,
}

impl Default for Policy {
    /// All cores of this process; batches of at most 50 ms; a timeout of one second; a retry
    /// after ten seconds.
    fn default() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, core::num::NonZero::get),
            batch_time_max: Duration::from_millis(50),
            timeout: Duration::from_secs(1),
            retry: Duration::from_secs(10),
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
    /// The end of the last batch on the device.
    pub(crate) tried: Instant,
}

impl Costs {
    /// Returns `true` if the device ends a batch of this many operations no later than `cores`
    /// cores.
    pub(crate) fn pays(&self, operations: usize, cores: usize, policy: &Policy) -> bool {
        let nanos = |count: usize, time: Duration| (count as u128).saturating_mul(time.as_nanos());
        self.batch <= policy.batch_time_max
            && nanos(operations, self.operation) >= nanos(cores, self.batch)
    }

    /// Returns `true` if the device had no batch for so long that it is tried again.
    pub(crate) fn are_old(&self, policy: &Policy) -> bool {
        self.tried.elapsed() >= policy.retry
    }

    /// Takes the time of another batch into account. After a long pause, it alone counts.
    pub(crate) fn note_batch(&mut self, time: Duration, policy: &Policy) {
        self.batch = if self.are_old(policy) { time } else { (self.batch * 3 + time) / 4 };
        self.tried = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn small_batches_and_slow_devices_stay_on_the_processor() {
        let retry = Duration::from_secs(120); // longer than this test
        let policy = Policy { cores: 16, batch_time_max: 10 * MS, timeout: 100 * MS, retry };
        let mut costs = Costs { batch: 3 * MS, operation: MS / 2, tried: Instant::now() };
        // 16 cores do 96 operations in 3 ms.
        assert!(!costs.pays(95, 16, &policy) && costs.pays(96, 16, &policy));
        costs.note_batch(35 * MS, &policy); // 11 ms
        assert!(!costs.pays(4000, 16, &policy), "above batch_time_max");
        costs.note_batch(3 * MS, &policy); // 9 ms
        assert!(costs.pays(4000, 16, &policy) && costs.pays(1, 0, &policy));
        // One slow batch is not remembered for ever.
        costs.note_batch(500 * MS, &policy);
        assert!(!costs.pays(4000, 16, &policy));
        costs.tried = Instant::now().checked_sub(retry).unwrap();
        assert!(costs.are_old(&policy));
        costs.note_batch(3 * MS, &policy);
        assert_eq!(costs.batch, 3 * MS);
        assert!(!costs.are_old(&policy));
    }
}
