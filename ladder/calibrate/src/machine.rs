//! Facts of this machine: processor, cores, kernel, hypervisor.

use std::fs;

/// Facts of this machine; `None` if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name, such as `AMD EPYC 9B45 128-Core Processor`. Hypervisors often remove
    /// the model number. The name then contains the numbers from CPUID, as in
    /// `AMD EPYC (family 26 model 2)`.
    pub processor: Option<String>,
    /// `true` if a hypervisor reports itself.
    pub virtualised: Option<bool>,
    /// Logical cores of the machine, including those that this process may not use.
    pub logical_cores: Option<u32>,
    /// Release of the operating system's kernel.
    pub kernel: Option<String>,
}

impl Machine {
    /// Reads the facts from `/proc`. Except on Linux, only the number of cores is known.
    #[must_use]
    pub fn this() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        let mut machine = Self::from_cpuinfo(&cpuinfo);
        machine.kernel = kernel.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        if machine.logical_cores.is_none() {
            let usable = std::thread::available_parallelism().ok();
            machine.logical_cores = usable.and_then(|cores| u32::try_from(cores.get()).ok());
        }
        machine
    }

    /// Parses the text of `/proc/cpuinfo`.
    fn from_cpuinfo(text: &str) -> Self {
        let values = |key: &'static str| {
            text.lines().filter_map(move |line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == key).then(|| value.trim())
            })
        };
        let first = |key| values(key).next().filter(|value| !value.is_empty());
        let cores = values("processor").count();
        let processor =
            first("model name").map(|name| match (first("cpu family"), first("model")) {
                (Some(family), Some(model)) if !name.contains(|c: char| c.is_ascii_digit()) => {
                    format!("{name} (family {family} model {model})")
                }
                _ => name.to_owned(),
            });
        Self {
            processor,
            // CPUID leaf 1, ecx bit 31, which is 0 without a hypervisor.
            virtualised: first("flags")
                .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            logical_cores: u32::try_from(cores).ok().filter(|cores| *cores > 0),
            kernel: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CORES: &str = "\
processor\t: 0
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
flags\t\t: fpu hypervisor avx512ifma

processor\t: 1
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
flags\t\t: fpu hypervisor avx512ifma
";

    #[test]
    fn reads_cpuinfo() {
        let expected = Machine {
            processor: Some("AMD EPYC (family 26 model 2)".into()),
            virtualised: Some(true),
            logical_cores: Some(2),
            kernel: None,
        };
        assert_eq!(Machine::from_cpuinfo(TWO_CORES), expected);
        let named = TWO_CORES.replace("AMD EPYC", "AMD EPYC 9B45 128-Core Processor");
        let named = Machine::from_cpuinfo(&named).processor;
        assert_eq!(named.as_deref(), Some("AMD EPYC 9B45 128-Core Processor"));
        let bare = TWO_CORES.replace(" hypervisor", "");
        assert_eq!(Machine::from_cpuinfo(&bare).virtualised, Some(false));
    }

    #[test]
    fn missing_facts_are_unknown() {
        assert_eq!(Machine::from_cpuinfo(""), Machine::default());
        // As on ARM, where Linux names neither model nor flags.
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n";
        let expected = Machine { logical_cores: Some(1), ..Machine::default() };
        assert_eq!(Machine::from_cpuinfo(arm), expected);
    }

    #[test]
    fn this_machine_has_cores() {
        assert!(Machine::this().logical_cores.is_some_and(|cores| cores > 0));
    }
}
