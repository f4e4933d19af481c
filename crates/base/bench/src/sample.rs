//! One sample: a piece of work on three clocks.

use core::time::Duration;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use tollgate_cpu::clock;

use crate::{Contender, Wrong};

/// What a piece of work took, in total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Nanoseconds on the wall.
    pub nanos: f64,
    /// Nanoseconds that this thread was on a processor. Work that it gave to other threads is not
    /// in it.
    pub cpu_nanos: f64,
    /// Core cycles; `None` where they cannot be told.
    pub cycles: Option<f64>,
    /// How far the core clock moved between the two readings around the work, relative; 0 is not
    /// at all. `None` together with `cycles`.
    pub clock_drift: Option<f64>,
}

impl Sample {
    /// The sample of one of `operations` equal operations.
    #[must_use]
    pub fn per(self, operations: f64) -> Self {
        Self {
            nanos: self.nanos / operations,
            cpu_nanos: self.cpu_nanos / operations,
            cycles: self.cycles.map(|cycles| cycles / operations),
            clock_drift: self.clock_drift,
        }
    }
}

/// What tells time: the machine's clocks, or a counted clock in a test.
pub trait Meter {
    /// Time since some fixed moment.
    fn now(&mut self) -> Duration;

    /// Runs `work` once and says what it took.
    fn sample(&mut self, work: &mut dyn FnMut()) -> Sample;
}

/// The machine's own clocks: wall, thread CPU time, and core cycles by a chain of additions before
/// and behind the work ([`tollgate_cpu::clock`]).
#[derive(Debug)]
pub struct CoreMeter {
    start: Instant,
}

impl CoreMeter {
    /// A meter that starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for CoreMeter {
    fn default() -> Self {
        Self::new()
    }
}

impl Meter for CoreMeter {
    fn now(&mut self) -> Duration {
        self.start.elapsed()
    }

    fn sample(&mut self, work: &mut dyn FnMut()) -> Sample {
        // Inside the chains, so that their cycles do not count as the work's.
        let (cpu, elapsed) = clock::time(|| {
            let before = thread_cpu_nanos();
            work();
            thread_cpu_nanos() - before
        });
        Sample {
            nanos: elapsed.wall.as_secs_f64() * 1e9,
            cpu_nanos: cpu,
            cycles: elapsed.core.map(|core| core.cycles),
            clock_drift: elapsed.core.map(|core| core.drift),
        }
    }
}

/// CPU time of this thread so far.
fn thread_cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let time = Duration::try_from(time).expect("a thread's CPU time is not negative");
    time.as_secs_f64() * 1e9
}

/// Runs of `contender` that together last about `target`, found by doubling; at least 1. The runs
/// made meanwhile also warm it up.
///
/// # Errors
///
/// A result is wrong.
pub fn calibrate(
    contender: &mut Contender<'_>,
    target: Duration,
    meter: &mut dyn Meter,
) -> Result<u64, Wrong> {
    /// However short a run seems to be, no sample has more of them.
    const RUNS_MAX: u64 = 1 << 30;
    let target = target.as_secs_f64() * 1e9;
    let mut runs: u64 = 1;
    loop {
        let sample = take(contender, runs, meter)?;
        if sample.nanos >= target / 4.0 || runs >= RUNS_MAX {
            // Long enough to foresee the rest; never more than the last step times the factor left.
            return Ok(rounded(as_f64(runs) * target / sample.nanos.max(1.0)).clamp(1, RUNS_MAX));
        }
        runs *= 2;
    }
}

/// One sample of `runs` runs, in total.
///
/// # Errors
///
/// A result is wrong.
pub fn take(
    contender: &mut Contender<'_>,
    runs: u64,
    meter: &mut dyn Meter,
) -> Result<Sample, Wrong> {
    let mut outcome = Ok(());
    let sample = meter.sample(&mut || outcome = contender.repeat(runs));
    outcome.map(|()| sample)
}

/// A count as a number.
#[allow(clippy::cast_precision_loss, reason = "counts of runs and samples are far below 2^53")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// The nearest count; 0 for what is negative or no number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use core::cell::Cell;

    use super::*;
    use crate::interleave::tests::Counted;

    #[test]
    fn calibration_finds_the_runs_that_fill_a_sample() {
        // One run is 1000 ns by the counted clock, the target 2 ms.
        for (run_nanos, runs) in [(1_000, 2_000), (3_000_000, 1), (700, 2857), (2_000_000, 1)] {
            let clock = Cell::new(0);
            let mut contender = Contender::new("x", 1, || {
                clock.set(clock.get() + run_nanos);
                Ok(())
            });
            let mut meter = Counted { clock: &clock };
            let found = calibrate(&mut contender, Duration::from_millis(2), &mut meter);
            assert_eq!(found, Ok(runs), "{run_nanos} ns");
        }
    }

    #[test]
    fn calibration_ends_when_the_clock_stands_still() {
        let clock = Cell::new(0);
        let mut runs = 0u64;
        let mut contender = Contender::new("x", 1, || {
            runs += 1;
            if runs > 100 { Err(Wrong::new("enough")) } else { Ok(()) }
        });
        let mut meter = Counted { clock: &clock };
        let found = calibrate(&mut contender, Duration::ZERO, &mut meter);
        assert_eq!(found, Ok(1));
        let found = calibrate(&mut contender, Duration::from_secs(1), &mut meter);
        assert_eq!(found, Err(Wrong::new("enough")));
    }

    #[test]
    fn a_sample_per_operation_divides_the_amounts_only() {
        let sample =
            Sample { nanos: 80.0, cpu_nanos: 40.0, cycles: Some(320.0), clock_drift: Some(0.01) };
        let each =
            Sample { nanos: 10.0, cpu_nanos: 5.0, cycles: Some(40.0), clock_drift: Some(0.01) };
        assert_eq!(sample.per(8.0), each);
    }

    #[test]
    fn the_machines_clocks_run() {
        let mut meter = CoreMeter::new();
        let first = meter.now();
        let mut ran = 0;
        let slept = meter.sample(&mut || {
            ran += 1;
            std::thread::sleep(Duration::from_millis(20));
        });
        assert_eq!(ran, 1);
        // Sleeping takes time on the wall and none on the processor: what a sleep cannot shorten.
        assert!(slept.nanos >= 20e6, "{slept:?}");
        assert!(slept.cpu_nanos < slept.nanos, "{slept:?}");
        assert_eq!(slept.cycles.is_some(), cfg!(target_arch = "x86_64"));
        assert!(meter.now() >= first + Duration::from_millis(20));
    }
}
