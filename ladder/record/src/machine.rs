//! The machine of a figure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// The fingerprint of a machine: enough to decide whether two figures are comparable.
///
/// Unknown values are `None`: a published figure rarely names its kernel release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The processor's name as the processor or a paper states it.
    pub cpu: String,
    /// The CPU features that kernels could use ("adx", "ifma").
    pub features: BTreeSet<String>,
    /// The features that the user disabled.
    pub vetoed: BTreeSet<String>,
    /// Logical cores of the whole machine.
    pub logical_cores: Option<u32>,
    /// Release of the operating system's kernel.
    pub kernel: Option<String>,
    /// `true` on a virtual machine.
    pub virtualised: Option<bool>,
    /// The clock of one busy core, in cycles per second.
    pub core_clock_hz: Option<Estimate>,
}

impl Machine {
    /// Creates a machine with nothing but the processor's name.
    #[must_use]
    pub fn unknown(cpu: &str) -> Self {
        Self {
            cpu: cpu.to_owned(),
            features: BTreeSet::new(),
            vetoed: BTreeSet::new(),
            logical_cores: None,
            kernel: None,
            virtualised: None,
            core_clock_hz: None,
        }
    }

    /// Returns a short name for folders: processor, cores, "vm" if virtualised, and vetoes. Made of
    /// `a-z`, `0-9` and single `-`, never empty, at most 64 bytes.
    ///
    /// ```
    /// use tollgate_record::Machine;
    ///
    /// let machine = Machine {
    ///     logical_cores: Some(2),
    ///     virtualised: Some(true),
    ///     vetoed: ["ifma".to_owned()].into(),
    ///     ..Machine::unknown("AMD EPYC (9B45)")
    /// };
    /// assert_eq!(machine.slug(), "amd-epyc-9b45-2c-vm-no-ifma");
    /// ```
    #[must_use]
    pub fn slug(&self) -> String {
        let cores = self.logical_cores.map(|cores| format!("{cores}c"));
        let vm = (self.virtualised == Some(true)).then(|| "vm".to_owned());
        let vetoes = self.vetoed.iter().map(|word| format!("no-{word}"));
        let tail: Vec<String> = cores.into_iter().chain(vm).chain(vetoes).collect();
        let words = |text: &str| -> Vec<String> {
            text.split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|word| !word.is_empty())
                .map(str::to_ascii_lowercase)
                .collect()
        };
        let mut slug = words(&self.cpu);
        if slug.is_empty() {
            slug.push("unknown".to_owned());
        }
        slug.extend(words(&tail.join("-")));
        let mut slug = slug.join("-");
        slug.truncate(64); // ASCII: any place is between characters
        slug.trim_end_matches('-').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_safe_names_whatever_the_processor_says() {
        for cpu in ["", "///..", "Intel(R) Xeon(R) @ 2.0GHz", "пример", &"x".repeat(500), "a\0b\n"]
        {
            let slug = Machine::unknown(cpu).slug();
            assert!(!slug.is_empty() && slug.len() <= 64);
            assert!(slug.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(
                !slug.starts_with('-') && !slug.ends_with('-') && !slug.contains("--"),
                "{slug}"
            );
        }
    }
}
