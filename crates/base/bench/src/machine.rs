//! This machine as records know it.

use tollgate_cpu::{clock, features};
use tollgate_record::Machine;

use crate::estimate::median_estimate;

/// Windows of the core clock's estimate; about 3 ms in all.
const CLOCK_WINDOWS: usize = 51;

/// The fingerprint of this machine, the clock of this core under load included (about 3 ms).
#[must_use]
pub fn this_machine() -> Machine {
    let told = tollgate_cpu::machine::Machine::this();
    let words = |features: &[features::Feature]| {
        features.iter().map(|feature| feature.word().to_owned()).collect()
    };
    Machine {
        cpu: told.model_name.or(told.vendor).unwrap_or_else(|| "unknown".to_owned()),
        features: words(&features::in_use()),
        vetoed: words(features::vetoed()),
        logical_cores: told.logical_cores,
        kernel: told.kernel,
        virtualised: told.virtualised,
        core_clock_hz: clock::core_hz(CLOCK_WINDOWS)
            .map(|hz| median_estimate(&hz).expect("windows, each of some length")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = this_machine();
        assert!(machine.features.is_disjoint(&machine.vetoed));
        assert!(machine.logical_cores.is_some());
        assert_eq!(machine.core_clock_hz.is_some(), cfg!(target_arch = "x86_64"));
        assert!(!machine.slug().is_empty());
    }
}
