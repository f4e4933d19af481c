//! The conditions of a measurement.

use std::collections::BTreeMap;
use std::fs;

/// The conditions of a measurement, read at its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Load average over the last minute before this measurement.
    pub load_average: Option<f64>,
    /// The kernel's frequency governor; `None` if the kernel has no governor, as on many virtual
    /// machines.
    pub governor: Option<String>,
}

/// A higher load average shows that other programs run.
const BUSY: f64 = 0.5;

impl Conditions {
    /// Reads the conditions of this machine.
    pub fn now() -> Self {
        let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
        Self {
            load_average: loads.split(' ').next().and_then(|load| load.parse().ok()),
            governor: fs::read_to_string(governor).ok().map(|text| text.trim().to_owned()),
        }
    }

    /// Returns the conditions as a part of a record.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let load = self.load_average.map(|load| ("load_average".to_owned(), format!("{load:.2}")));
        let governor = self.governor.clone().map(|name| ("governor".to_owned(), name));
        load.into_iter().chain(governor).collect()
    }

    /// Returns a warning with its remedy, if the figures cannot be trusted.
    pub fn warning(&self) -> Option<String> {
        let load = self.load_average.filter(|&load| load > BUSY)?;
        Some(format!(
            "the load average was {load:.2} at the start: something else ran here; wait until it \
             is below {BUSY}, and run again"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_reported() {
        let with = |load| Conditions { load_average: load, governor: Some("powersave".into()) };
        assert!(with(Some(1.5)).warning().is_some_and(|text| text.contains("1.50")));
        assert_eq!(with(Some(0.2)).warning(), None);
        assert_eq!(with(None).warning(), None);
        let map = with(Some(0.25)).to_map();
        assert_eq!(map["load_average"], "0.25");
        assert_eq!(map["governor"], "powersave");
    }
}
