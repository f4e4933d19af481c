//! The machine files of this crate, by name.

use crate::machine::Machine;

/// A machine file of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The file name without its extension.
    pub name: &'static str,
    /// Its contents.
    pub toml: &'static str,
}

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(File { name: $name, toml: include_str!(concat!("../machines/", $name, ".toml")) }),+]
    };
}

/// All machine files, of current processors.
pub const FILES: [File; 8] = files![
    "zen-4",
    "zen-5",
    "ice-lake",
    "sapphire-rapids",
    "neoverse-v1",
    "neoverse-v2",
    "apple-m1",
    "hopper",
];

impl File {
    /// Returns the file of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FILES.into_iter().find(|file| file.name == name)
    }

    /// Returns the machine that the file describes.
    ///
    /// # Panics
    ///
    /// Never: the tests read every file.
    pub fn machine(self) -> Machine {
        Machine::from_toml(self.toml).expect("the machine files of this crate are right")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_valid_and_marks_its_numbers() {
        for file in FILES {
            let machine = file.machine();
            for rate in machine.rates.values() {
                assert_eq!(rate.mark().is_some(), rate.source().is_some(), "{}", file.name);
            }
            // A number without a mark would be reported as unverified.
            let numbers =
                ["per_cycle", "cycles_each", "at_least", "per_product", "per_row", "count"];
            for line in file.toml.lines().filter(|line| !line.starts_with('#')) {
                let has_number = numbers.iter().any(|key| line.contains(&format!("{key} =")));
                assert_eq!(has_number, line.contains("mark ="), "{}: {line}", file.name);
            }
        }
    }

    #[test]
    fn every_machine_has_a_product_of_1024_bits() {
        for file in FILES {
            let product = file.machine().product(1024);
            assert!(product.is_some(), "{}", file.name);
        }
    }

    #[test]
    fn bounds_of_current_machines_are_those_computed_by_hand() {
        let cycles = |name: &str, bits| {
            let product = File::named(name).and_then(|file| file.machine().product(bits));
            product.map_or(0.0, |product| product.bound.cycles.get())
        };
        // 2n^2 + n multiplies, 2 instructions each, 2 per cycle; eight numbers share 4n^2 + 1
        // VPMADD52
        assert_eq!(cycles("neoverse-v2", 1024), f64::from(2 * 2 * 256 + 16) / 2.0);
        assert_eq!(cycles("zen-5", 1024), 1601.0 / 8.0 / 2.0);
        assert_eq!(cycles("sapphire-rapids", 1024), 1601.0 / 8.0 / 2.0);
        // three floating-point operations for each of 2 * 20^2 products, 64 per cycle
        assert_eq!(cycles("hopper", 1024), 800.0 * 3.0 / 64.0);
    }
}
