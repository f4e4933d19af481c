//! The fingerprint of this machine for records.

use tollgate_calibrate::clock;
use tollgate_calibrate::machine::Machine as Facts;
use tollgate_cpu::features;
use tollgate_record::Machine;

use crate::estimate::median_estimate;

/// The number of windows for the measurement of the clock, about 50 µs each.
const CLOCK_WINDOWS: usize = 41;

/// Reads the facts of this machine and measures its core clock.
pub fn this_machine() -> Machine {
    let facts = Facts::this();
    let words = |list: &[tollgate_cpu::Feature]| list.iter().map(|f| f.word().to_owned()).collect();
    Machine {
        cpu: facts.processor.unwrap_or_else(|| "unknown processor".to_owned()),
        features: words(&features::in_use()),
        vetoed: words(features::vetoed()),
        logical_cores: facts.logical_cores,
        kernel: facts.kernel,
        virtualised: facts.virtualised,
        core_clock_hz: clock::core_hz(CLOCK_WINDOWS).and_then(|hz| median_estimate(&hz)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_this_machines() {
        let machine = this_machine();
        assert!(!machine.cpu.is_empty());
        assert!(machine.features.is_disjoint(&machine.vetoed));
        assert!(machine.logical_cores.is_none_or(|cores| cores > 0));
    }
}
