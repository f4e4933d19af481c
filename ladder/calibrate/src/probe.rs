//! Calibration probes: rates and latencies of instructions on this core.
//!
//! Each probe repeats a short pattern of instructions and divides their number by core
//! cycles ([`crate::clock`]). The results go into a machine file: figures of *this*
//! core, for comparison with manuals.

use core::time::Duration;
use std::collections::BTreeMap;

/// The subject of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// VPMADD52 on 512-bit registers per cycle: 12 low and 12 high halves in turn, on 24
    /// accumulators, register operands only.
    Vpmadd52Zmm,
    /// VPMADD52 on 256-bit registers per cycle: 12 accumulators, register operands only.
    Vpmadd52Ymm,
    /// Instructions per cycle of VPMADD52 and additions in turn, 12 of each, on 512-bit registers.
    VectorZmm,
    /// Products of a row of vectors per cycle: VPMULUDQ on 256-bit registers, each added by VPADDQ
    /// to one of 12 accumulators, register operands only.
    VpmuludqVpaddqYmm,
    /// The same products per cycle on 512-bit registers.
    VpmuludqVpaddqZmm,
    /// MULX with register operands per cycle, 16 independent ones in a row.
    Mulx,
    /// Products of a row as in Montgomery multiplication: MULX from memory, its halves added by
    /// ADCX and by ADOX to nine accumulators, eight products per row.
    MulxAdcxAdox,
    /// Loads of 64 bits from the L1 cache per cycle.
    Loads,
    /// Loads of 512 bits from the L1 cache per cycle.
    LoadsZmm,
    /// A chain from MULX to a MULX of its low half, in links per cycle.
    MulxChain,
    /// A chain from VPMADD52 on 512-bit registers to a VPMADD52 that adds to its result, in links
    /// per cycle.
    Vpmadd52Chain,
    /// Products of the same row as [`Probe::MulxAdcxAdox`], for a core without ADX. Each product
    /// takes a MUL from memory and two ADD/ADC pairs.
    MulAdc,
}

/// A probe, and the function that returns the rate of one batch of windows.
type Run = (Probe, fn() -> Option<f64>);

/// Runs all probes in turn for at least 0.4 s. Continues for up to 2 s if a best rate is not
/// reached twice. Returns the best rate that two batches of windows of each probe reached. There is
/// none if the instruction is missing or disabled, or if cycles cannot be measured.
#[must_use]
pub fn measure() -> BTreeMap<Probe, f64> {
    let mut best = PROBES.map(|_| Best::default());
    for round in 0..ROUNDS_MAX {
        if round > 0 {
            std::thread::sleep(PAUSE);
        }
        for (best, (_, run)) in best.iter_mut().zip(PROBES) {
            best.take(run());
        }
        if round + 1 >= ROUNDS_MIN && best.iter().all(Best::is_settled) {
            break;
        }
    }
    let probes = PROBES.into_iter().zip(best);
    probes.filter_map(|((probe, _), best)| Some((probe, best.second?))).collect()
}

/// Rounds of all probes, and the pause between two rounds. Other load on the same core (another
/// hyperthread, another virtual machine) slows down mixed multiplications and additions by a
/// quarter, for 0.1 s to 1 s, and MULX alone not at all. Therefore the batches of one probe are far
/// apart, and more rounds follow until each rate is settled.
const ROUNDS_MIN: usize = 6;
const ROUNDS_MAX: usize = 24;
const PAUSE: Duration = Duration::from_millis(60);

/// The two best rates so far. The result is the second best: other load only lowers a rate, but a
/// changing clock can make one batch look too fast.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    first: Option<f64>,
    second: Option<f64>,
}

impl Best {
    fn take(&mut self, rate: Option<f64>) {
        let Some(rate) = rate else { return };
        let below = self.first.map(|first| first.min(rate));
        self.second = below.map(|below| self.second.map_or(below, |second| second.max(below)));
        self.first = Some(self.first.map_or(rate, |first| first.max(rate)));
    }

    /// Returns `true` if the two rates are within 1 %, or if the probe cannot run.
    fn is_settled(&self) -> bool {
        self.first.is_none_or(|first| self.second.is_some_and(|second| second > 0.99 * first))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
use x86_64::PROBES;

/// Other architectures have no probes, since cycles cannot be measured there.
#[cfg(not(target_arch = "x86_64"))]
const PROBES: [Run; 0] = [];

#[cfg(test)]
mod tests {
    use tollgate_cpu::{HaveAdxBmi2, HaveAvx2, HaveAvx512, HaveAvxIfma, HaveIfma};

    use super::*;

    #[test]
    fn a_rate_is_settled_if_another_is_close() {
        let mut best = Best::default();
        assert!(best.is_settled()); // an instruction that is missing
        for (rate, second, settled) in [
            (0.770, None, false),
            (0.773, Some(0.770), true), // other load
            (0.950, Some(0.773), false),
            (0.940, Some(0.940), false),
            (1.100, Some(0.950), false), // a changed clock
            (0.700, Some(0.950), false),
        ] {
            best.take(Some(rate));
            assert_eq!((best.second, best.is_settled()), (second, settled), "after {rate}");
        }
        best.take(None);
        assert_eq!(best.second, Some(0.950));
    }

    #[test]
    fn every_available_probe_gives_a_plausible_rate() {
        if tollgate_cpu::memcheck::running_on_valgrind() {
            return; // cycles cannot be measured there
        }
        let rates = measure();
        for (probe, is_there) in [
            (Probe::Vpmadd52Zmm, HaveIfma::check().is_some()),
            (Probe::Vpmadd52Ymm, HaveAvxIfma::check().is_some()),
            (Probe::VectorZmm, HaveIfma::check().is_some()),
            (Probe::VpmuludqVpaddqYmm, HaveAvx2::check().is_some()),
            (Probe::VpmuludqVpaddqZmm, HaveAvx512::check().is_some()),
            (Probe::Mulx, HaveAdxBmi2::check().is_some()),
            (Probe::MulxAdcxAdox, HaveAdxBmi2::check().is_some()),
            (Probe::MulAdc, cfg!(target_arch = "x86_64")),
        ] {
            assert_eq!(rates.contains_key(&probe), is_there, "{probe:?}");
        }
        assert!(rates.values().all(|rate| (0.01..12.0).contains(rate)), "{rates:?}");
    }
}
