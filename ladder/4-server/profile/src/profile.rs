//! Samples of a period, counted by part.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;

use crate::parts::part_of;
use crate::script::{Frame, Samples};

/// The CPU time of a period by part, in units of the event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    samples: u64,
    lost: u64,
    total: u64,
    parts: BTreeMap<&'static str, u64>,
    unknown: BTreeMap<String, u64>,
}

/// A function that no rule knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// The function and its file.
    pub place: String,
    /// Its share of the CPU time, in [0, 1].
    pub share: f64,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.1} %", self.place, 100.0 * self.share)
    }
}

impl Profile {
    /// Counts the samples whose time, in nanoseconds of `CLOCK_MONOTONIC`, is in the period.
    #[must_use]
    pub fn new(samples: &Samples, period_ns: Range<u64>) -> Self {
        let mut profile = Self { lost: samples.lost, ..Self::default() };
        for sample in samples.samples.iter().filter(|sample| period_ns.contains(&sample.at_ns)) {
            let weight = sample.period;
            profile.samples += 1;
            profile.total += weight;
            match part_of(&sample.frames) {
                Some(part) => *profile.parts.entry(&part.word).or_default() += weight,
                None => *profile.unknown.entry(place(sample.frames.first())).or_default() += weight,
            }
        }
        profile
    }

    /// Adds the samples of another period.
    pub fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.lost += other.lost;
        self.total += other.total;
        for (place, n) in &other.unknown {
            *self.unknown.entry(place.clone()).or_default() += n;
        }
        other.parts.iter().for_each(|(word, n)| *self.parts.entry(word).or_default() += n);
    }

    /// Returns the number of samples.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the share of the samples that the kernel dropped.
    #[must_use]
    pub fn lost_share(&self) -> f64 {
        share(self.lost, self.lost + self.samples)
    }

    /// Returns the CPU time of all samples, in units of the event: nanoseconds or cycles.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the share of a part, in [0, 1].
    #[must_use]
    pub fn share(&self, word: &str) -> f64 {
        share(self.parts.get(word).copied().unwrap_or_default(), self.total)
    }

    /// Returns the share of the functions that no rule knows, in [0, 1].
    #[must_use]
    pub fn unknown_share(&self) -> f64 {
        share(self.unknown.values().sum(), self.total)
    }

    /// Returns the functions that no rule knows, the largest share first.
    #[must_use]
    pub fn unknown(&self) -> Vec<Unknown> {
        let of = |(place, n): (&String, &u64)| Unknown {
            place: place.clone(),
            share: share(*n, self.total),
        };
        let mut all: Vec<Unknown> = self.unknown.iter().map(of).collect();
        all.sort_by(|a, b| b.share.total_cmp(&a.share));
        all
    }
}

#[allow(clippy::cast_precision_loss, reason = "units of a period: below 2^52")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn place(frame: Option<&Frame>) -> String {
    frame.map_or_else(
        || "no stack".to_owned(),
        |frame| format!("{} of {}", frame.symbol, frame.file),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
1 1.000000000: 10 cpu-clock:
\t1 RSA_sign (/usr/lib/libcrypto.so.3)
\t2 main (/usr/sbin/nginx)
1 1.100000000: 10 cpu-clock:
\tffffffff815a07be tcp_sendmsg ([kernel.kallsyms])
\t2 main (/usr/sbin/nginx)
1 1.200000000: 20 cpu-clock:
\t1 x (/opt/strange.so)
1 2.000000000: 99 cpu-clock:
\t2 main (/usr/sbin/nginx)
";

    #[test]
    fn parts_of_a_period_add_up() {
        let samples = Samples::of_script(TEXT).unwrap();
        let mut profile = Profile::new(&samples, 1_000_000_000..2_000_000_000);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        profile.add(&profile.clone());
        assert_eq!((profile.samples(), profile.total()), (6, 80));
        assert!(near(profile.share("rsa"), 0.25) && near(profile.share("kernel-tcp"), 0.25));
        assert!(near(profile.unknown_share(), 0.5));
        assert_eq!(profile.unknown()[0].to_string(), "x of strange.so 50.0 %");
    }
}
