//! One sample: some runs of a contender between two readings of the core clock.

use core::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tollgate_calibrate::{clock, sibling};

use crate::contender::{Contender, Wrong};

/// Cost of one operation, averaged over a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Core cycles; `None` if they cannot be measured.
    pub cycles: Option<f64>,
    /// Wall time in nanoseconds.
    pub nanos: f64,
    /// CPU time of the thread in nanoseconds.
    pub cpu_nanos: f64,
    /// Relative change of the core clock during the sample.
    pub drift: f64,
    /// The gauge of the core's sibling thread, in ticks: the higher of the readings before and
    /// after the sample. `None` if there is no gauge.
    pub gauge: Option<f64>,
}

/// One run of this many is made before each sample, unmeasured.
const WARM_UP: u32 = 16;

/// Takes samples; tests use one that counts instead of timing.
pub(crate) trait Sampler {
    /// Runs the contender `runs` times.
    fn sample(&mut self, contender: &mut Contender<'_>, runs: u32) -> Result<Sample, Wrong>;
    /// Returns the time since the sampler was created.
    fn now(&self) -> Duration;
}

/// The sampler of this machine.
pub(crate) struct Timed(std::time::Instant);

impl Timed {
    pub(crate) fn new() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Sampler for Timed {
    fn sample(&mut self, contender: &mut Contender<'_>, runs: u32) -> Result<Sample, Wrong> {
        let operations = f64::from(runs) * f64::from(contender.operations_per_run);
        let before = sibling::gauge();
        // Some cores change their clock for wide vector code, and start it slowly. The runs before
        // the reading of the clock bring the core into the state of this contender's code.
        (0..runs.div_ceil(WARM_UP)).try_for_each(|_| (contender.run)())?;
        let ((result, cpu), elapsed) = clock::time(|| {
            let before = thread_cpu();
            let result = (0..runs).try_for_each(|_| (contender.run)());
            (result, thread_cpu().saturating_sub(before))
        });
        result?;
        let gauge = sibling::gauge().max(before);
        let per_operation = |time: Duration| time.as_secs_f64() * 1e9 / operations;
        Ok(Sample {
            cycles: elapsed.core.map(|core| core.cycles / operations),
            nanos: per_operation(elapsed.wall),
            cpu_nanos: per_operation(cpu),
            drift: elapsed.core.map_or(0.0, |core| core.drift),
            gauge: gauge.and_then(|ticks| u32::try_from(ticks).ok()).map(f64::from),
        })
    }

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Returns the CPU time of this thread so far.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_given_number_of_runs_and_one_before() {
        let mut count = 0u32;
        let mut contender = Contender::new("count", 8, || {
            count += 1;
            Ok(())
        });
        let sample = Timed::new().sample(&mut contender, 7).expect("right");
        assert!(sample.nanos > 0.0 && sample.cpu_nanos >= 0.0 && sample.drift >= 0.0);
        drop(contender);
        assert_eq!(count, 1 + 7, "and one before the sample");
    }
}
