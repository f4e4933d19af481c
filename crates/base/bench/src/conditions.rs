//! The state of the machine at the start: what else a figure depends on.

use std::collections::BTreeMap;
use std::fs;

use tollgate_cpu::features;

use crate::Warning;

/// The load average above which something else must be running: this program alone has just begun.
const LOAD_AVERAGE_MAX: f64 = 0.5;

/// Conditions for records, and what about them is doubtful.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Name to value, as records carry them: `governor`, `load_average_1min`, `vetoed`. What cannot
    /// be read is not there.
    pub values: BTreeMap<String, String>,
    /// Conditions that make figures doubtful.
    pub warnings: Vec<Warning>,
}

/// Reads the conditions now; before the measurement, or the measurement itself is the load.
#[must_use]
pub fn conditions() -> Conditions {
    let loadavg = fs::read_to_string("/proc/loadavg").ok();
    // On machines with several governors the first core speaks for all.
    let governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok();
    let vetoed: Vec<_> = features::vetoed().iter().map(|feature| feature.word()).collect();
    from_texts(loadavg.as_deref(), governor.as_deref(), &vetoed)
}

fn from_texts(loadavg: Option<&str>, governor: Option<&str>, vetoed: &[&str]) -> Conditions {
    let mut conditions = Conditions::default();
    let mut note = |name: &str, value: String| conditions.values.insert(name.to_owned(), value);
    if let Some(governor) = governor.map(str::trim).filter(|governor| !governor.is_empty()) {
        note("governor", governor.to_owned());
    }
    if !vetoed.is_empty() {
        note("vetoed", vetoed.join(","));
    }
    let load_average = loadavg
        .and_then(|text| text.split_whitespace().next())
        .and_then(|first| first.parse::<f64>().ok())
        .filter(|load| load.is_finite());
    if let Some(load_average) = load_average {
        note("load_average_1min", load_average.to_string());
        if load_average > LOAD_AVERAGE_MAX {
            conditions.warnings.push(Warning::Busy { load_average });
        }
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_warned_about() {
        let busy =
            from_texts(Some("2.33 1.21 0.63 3/120 999\n"), Some("powersave\n"), &["adx", "ifma"]);
        let values: Vec<_> = busy.values.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            values,
            [("governor", "powersave"), ("load_average_1min", "2.33"), ("vetoed", "adx,ifma")]
        );
        assert_eq!(busy.warnings, [Warning::Busy { load_average: 2.33 }]);
    }

    #[test]
    fn a_quiet_one_is_not() {
        let quiet = from_texts(Some("0.50 1.21 0.63 1/120 999\n"), None, &[]);
        assert_eq!(quiet.values.len(), 1);
        assert_eq!(quiet.warnings, []);
        // Unreadable is unknown, not zero.
        assert_eq!(from_texts(Some("garbage"), None, &[]), Conditions::default());
        assert_eq!(from_texts(Some("NaN"), Some(""), &[]), Conditions::default());
    }
}
