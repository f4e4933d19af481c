//! Energy of the processor's packages, from the counters of RAPL (Running Average Power Limit).
//!
//! Linux has them in `/sys/class/powercap/intel-rapl:N`, also for AMD, on real machines but seldom
//! on virtual ones; only root may read them by default. A counter covers a whole package: all its
//! cores, its caches, and what they do for any program.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The folder of the counters.
const COUNTERS: &str = "/sys/class/powercap";

/// The longest time between two readings. A counter of 2^32 units of 61 uJ begins again after 262
/// kJ, which a package with 400 W uses in 655 s; twice would not be noticed.
const LONGEST: Duration = Duration::from_secs(600);

/// The counters of all packages of this machine.
#[derive(Debug)]
pub(crate) struct Packages(Vec<Package>);

#[derive(Debug)]
struct Package {
    counter: PathBuf,
    /// The highest value of the counter, in microjoules; 0 follows.
    highest_uj: u64,
}

/// The counters at one time, in microjoules.
#[derive(Debug)]
pub(crate) struct EnergyReading {
    at: Instant,
    packages_uj: Vec<u64>,
}

impl Packages {
    /// Returns the counters of this machine; `None` if it has none, or this process may not read
    /// them.
    pub(crate) fn of_machine() -> Option<Self> {
        Self::below(Path::new(COUNTERS))
    }

    fn below(folder: &Path) -> Option<Self> {
        let mut packages = Vec::new();
        for entry in fs::read_dir(folder).ok()? {
            let zone = entry.ok()?;
            // parts of packages are `intel-rapl:0:1`, and the same packages `intel-rapl-mmio:0`
            let number = zone.file_name().to_str()?.strip_prefix("intel-rapl:").map(str::to_owned);
            let is_whole = number.is_some_and(|number| !number.contains(':'));
            let named = fs::read_to_string(zone.path().join("name")).unwrap_or_default();
            if is_whole && named.starts_with("package") {
                let highest_uj = number_in(&zone.path().join("max_energy_range_uj"))?;
                packages.push(Package { counter: zone.path().join("energy_uj"), highest_uj });
            }
        }
        let packages = Self(packages);
        packages.read().filter(|reading| !reading.packages_uj.is_empty()).map(|_| packages)
    }

    /// Reads all counters; `None` if one cannot be read.
    pub(crate) fn read(&self) -> Option<EnergyReading> {
        let counters = self.0.iter().map(|package| number_in(&package.counter));
        Some(EnergyReading { at: Instant::now(), packages_uj: counters.collect::<Option<_>>()? })
    }

    /// Returns the mean power of all packages between two readings in watts; `None` without two
    /// readings, or if a counter could have begun again more than once.
    pub(crate) fn watts(&self, readings: &[EnergyReading]) -> Option<f64> {
        let [before, after] = readings else { return None };
        let time = after.at.checked_duration_since(before.at)?;
        if time.is_zero() || time > LONGEST {
            return None;
        }
        let used = |((package, &before), &after): ((&Package, &u64), &u64)| match after {
            after if after >= before => Some(after - before),
            after => package.highest_uj.checked_sub(before)?.checked_add(after)?.checked_add(1),
        };
        let of_packages = self.0.iter().zip(&before.packages_uj).zip(&after.packages_uj);
        let used_uj = of_packages.map(used).sum::<Option<u64>>()?;
        #[allow(clippy::cast_precision_loss, reason = "10 min of a machine are below 2^52 uJ")]
        let joules = used_uj as f64 / 1e6;
        Some(joules / time.as_secs_f64())
    }
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder like that of the kernel.
    struct Zones(PathBuf);

    impl Zones {
        fn new(name: &str) -> Self {
            let name = format!("tollgate-energy-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn write(&self, zone: &str, name: &str, energy_uj: &str) {
            let folder = self.0.join(zone);
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in
                [("name", name), ("energy_uj", energy_uj), ("max_energy_range_uj", "9999999")]
            {
                fs::write(folder.join(file), format!("{text}\n")).unwrap();
            }
        }
    }

    impl Drop for Zones {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn packages_are_summed_and_a_counter_that_began_again_is_continued() {
        let zones = Zones::new("sum");
        zones.write("intel-rapl:0", "package-0", "9000000");
        zones.write("intel-rapl:1", "package-1", "1000000");
        // none of these counts: a part of a package, the whole machine, the same package again
        let beside = [
            ("intel-rapl:0:0", "core"),
            ("intel-rapl:2", "psys"),
            ("intel-rapl-mmio:0", "package-0"),
        ];
        beside.iter().for_each(|(zone, name)| zones.write(zone, name, "0"));
        fs::create_dir_all(zones.0.join("dtpm")).unwrap();
        let packages = Packages::below(&zones.0).unwrap();
        let before = packages.read().unwrap();
        zones.write("intel-rapl:0", "package-0", "2000000"); // 3 J, over the end of the counter
        zones.write("intel-rapl:1", "package-1", "1500000"); // 0.5 J
        beside.iter().for_each(|(zone, name)| zones.write(zone, name, "5000000"));
        let mut after = packages.read().unwrap();
        after.at = before.at + Duration::from_millis(500);
        let both = [before, after];
        let watts = packages.watts(&both).unwrap();
        assert!((watts - 7.0).abs() < 1e-9, "{watts}");
        assert!(packages.watts(&both[..1]).is_none());
        let [before, mut after] = both;
        after.at = before.at + LONGEST + Duration::from_secs(1);
        assert!(packages.watts(&[before, after]).is_none(), "it may have begun again twice");
    }

    #[test]
    fn a_machine_without_readable_counters_has_no_energy() {
        let zones = Zones::new("none");
        assert!(Packages::below(&zones.0).is_none(), "no folder");
        zones.write("intel-rapl:0:0", "core", "1");
        assert!(Packages::below(&zones.0).is_none(), "no package");
        zones.write("intel-rapl:0", "package-0", "no number");
        assert!(Packages::below(&zones.0).is_none());
        zones.write("intel-rapl:0", "package-0", "1");
        let packages = Packages::below(&zones.0).unwrap();
        fs::remove_file(zones.0.join("intel-rapl:0/energy_uj")).unwrap();
        assert!(packages.read().is_none());
    }
}
