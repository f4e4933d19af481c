//! Real core cycles without performance counters.
//!
//! Virtual machines rarely offer counters, and the time stamp counter does not follow the core's
//! clock. So a chain of [`CHAIN_CYCLES`] dependent one-cycle additions is timed directly before and
//! after the work; its ticks give the current length of a cycle.
//!
//! The chain must be short. Intel's cores lower their clock for dense code on 512-bit registers, by
//! 5 to 10 %, and raise it 2 µs or more after that code has ended. A chain that takes longer would
//! measure the higher clock.
//!
//! ```
//! let (sum, elapsed) = tollgate_calibrate::clock::time(|| (0..1000u64).sum::<u64>());
//! assert_eq!(sum, 499_500);
//! if let Some(core) = elapsed.core {
//!     println!("{:.0} cycles, clock moved by {:.1} %", core.cycles, 100.0 * core.drift);
//! }
//! ```

use core::time::Duration;
use std::time::Instant;

use crate::tsc;

/// Core cycles of the chain: half a microsecond, less than it takes the clock to rise.
pub const CHAIN_CYCLES: u32 = 2_000;

/// Additions of a shorter chain. The difference of both has no fences (about 40 cycles) and no
/// misprediction at the end of the loop.
const SHORT: u32 = 500;

/// Additions per iteration of the chain's loop; its two loop instructions run in parallel.
#[cfg(target_arch = "x86_64")]
const ADDS_PER_TURN: u32 = 50;

/// Duration of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elapsed {
    /// Wall time.
    pub wall: Duration,
    /// Core cycles; `None` if they cannot be measured (no time stamp counter).
    pub core: Option<CoreTime>,
}

/// Core cycles of a piece of work, and their uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreTime {
    /// Core cycles between the two chains. The fences add about 40.
    pub cycles: f64,
    /// Difference of the clock before and after the work, relative to their mean.
    /// A large value means that the clock changed and `cycles` is a rough estimate.
    pub drift: f64,
}

/// Runs `work` between two readings of the core clock. A reading takes about 3 600 cycles.
pub fn time<R>(work: impl FnOnce() -> R) -> (R, Elapsed) {
    let before = chain_ticks();
    let start = Instant::now();
    let first = tsc::ticks();
    let result = work();
    let last = tsc::ticks();
    let wall = start.elapsed();
    let behind = chain_ticks();
    let core = match (before, first, last, behind) {
        (Some(before), Some(first), Some(last), Some(behind)) => {
            Some(core_time(before, last.saturating_sub(first), behind))
        }
        _ => None,
    };
    (result, Elapsed { wall, core })
}

/// Converts the ticks of the work to cycles by the chains' ticks before and after it.
fn core_time(before: u64, ticks: u64, behind: u64) -> CoreTime {
    let chains = exact(before + behind);
    CoreTime {
        cycles: exact(ticks) * 2.0 * f64::from(CHAIN_CYCLES) / chains,
        drift: exact(before.abs_diff(behind)) * 2.0 / chains,
    }
}

/// Measures the clock of this core with one busy thread, in cycles per second. Returns a value for
/// each of `windows` windows of 200,000 additions (about 50 µs), sorted. Returns `None` if cycles
/// cannot be measured. 0 windows count as 1.
#[must_use]
pub fn core_hz(windows: usize) -> Option<Vec<f64>> {
    const WINDOW: u32 = 200_000;
    tsc::ticks()?;
    chain(WINDOW); // also raises the clock
    let mut hz: Vec<f64> = (0..windows.max(1))
        .map(|_| {
            let start = Instant::now();
            chain(WINDOW);
            f64::from(WINDOW) / start.elapsed().as_secs_f64()
        })
        .collect();
    hz.sort_by(f64::total_cmp);
    Some(hz)
}

/// Returns the number of ticks of the time stamp counter for one chain, never 0.
fn chain_ticks() -> Option<u64> {
    let of = |additions| {
        let first = tsc::ticks()?;
        chain(additions);
        Some(tsc::ticks()?.saturating_sub(first))
    };
    of(SHORT)?; // loads the code
    let short = of(SHORT)?;
    Some(of(SHORT + CHAIN_CYCLES)?.saturating_sub(short).max(1))
}

/// Converts ticks to a floating-point number; counts below 2^53 (two weeks at 7 GHz) are exact.
#[allow(clippy::cast_precision_loss, reason = "spans of ticks are far below 2^53")]
pub(crate) fn exact(ticks: u64) -> f64 {
    ticks as f64
}

/// Executes a chain of dependent additions.
#[cfg(target_arch = "x86_64")]
fn chain(additions: u32) {
    const {
        assert!(CHAIN_CYCLES.is_multiple_of(ADDS_PER_TURN) && SHORT.is_multiple_of(ADDS_PER_TURN));
    };
    // SAFETY: additions in a loop on three declared registers, without memory and stack. The addend
    // is a register, because some cores execute additions of small constants in zero cycles.
    unsafe {
        core::arch::asm!(
            "2:",
            ".rept 50",
            "add {sum}, {addend}",
            ".endr",
            "sub {turns:e}, 1",
            "jnz 2b",
            sum = inout(reg) 0u64 => _,
            addend = in(reg) 1u64,
            turns = inout(reg) additions / ADDS_PER_TURN => _,
            options(nomem, nostack),
        );
    }
}

/// Does nothing on other architectures, which have no time stamp counter.
#[cfg(not(target_arch = "x86_64"))]
fn chain(_additions: u32) {}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn ticks_become_cycles_by_the_mean_of_both_chains() {
        // Chains of 2000 cycles took 1000 ticks: a tick is two cycles.
        assert_eq!(core_time(1_000, 300, 1_000), CoreTime { cycles: 600.0, drift: 0.0 });
        // The clock fell by a fifth: 800 and 1000 ticks.
        let slower = core_time(800, 900, 1_000);
        assert_eq!(slower.cycles, 2_000.0);
        assert!((slower.drift - 2.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_chain_measures_itself() {
        // Takes the median of many, because an interrupt spoils the work or a reading of the clock.
        // Real cores give about 10 040. The bounds allow for a changing clock, but not for a wrong
        // count.
        let cycles = |_| time(|| chain(10_000)).1.core.unwrap().cycles;
        let mut cycles: Vec<f64> = (0..201).map(cycles).collect();
        cycles.sort_by(f64::total_cmp);
        let median = cycles[100];
        if tollgate_cpu::memcheck::running_on_valgrind() {
            return; // cycles cannot be measured there
        }
        assert!((5_000.0..20_000.0).contains(&median), "{median} cycles for a chain of 10 000");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_clock_is_plausible() {
        let windows = core_hz(9).unwrap();
        assert_eq!(windows.len(), 9);
        assert!(windows.is_sorted() && windows.iter().all(|hz| hz.is_finite() && *hz > 0.0));
    }
}
