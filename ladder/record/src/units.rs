//! Quantities with their unit in the type, and the units of records.
//!
//! Each newtype wraps an `f64`, adds and subtracts with its own kind only, scales by plain numbers,
//! and divides by its own kind to a plain ratio. `Display` keeps three significant digits (another
//! number with `{:.N}`) and scales by thousands; full precision is in [`Cycles::get`] and friends.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, Div, Mul, Sub};

use serde::{Deserialize, Serialize};

/// A count of core clock cycles.
///
/// ```
/// use tollgate_record::{Cycles, PerSecond};
///
/// let sign = Cycles::new(204_000.0);
/// let clock = PerSecond::new(4.0e9);
/// assert_eq!(sign.to_string(), "204k cycles");
/// assert_eq!(sign.at(clock).to_string(), "51.0 µs");
/// assert_eq!(sign.at(clock).per_second(1.0).to_string(), "19.6k/s");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Cycles(f64);

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Nanos(f64);

/// A rate: operations per second, or the cycles per second of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PerSecond(f64);

const NANOS_PER_SECOND: f64 = 1e9;

macro_rules! quantity {
    ($name:ident, $prefixes:expr, $unit:literal) => {
        impl $name {
            /// Returns the quantity of this many units.
            #[must_use]
            pub const fn new(value: f64) -> Self {
                Self(value)
            }

            /// Returns the bare number of units.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;

            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Div<f64> for $name {
            type Output = Self;

            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl Div for $name {
            type Output = f64;

            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
                Self(terms.map(|term| term.0).sum())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(f, self.0, &$prefixes, $unit)
            }
        }
    };
}

quantity!(Cycles, ["", "k", "M", "G", "T"], " cycles");
quantity!(Nanos, [" ns", " µs", " ms", " s"], "");
quantity!(PerSecond, ["", "k", "M", "G", "T"], "/s");

impl Cycles {
    /// Returns the time of these cycles at `clock` (cycles per second).
    #[must_use]
    pub fn at(self, clock: PerSecond) -> Nanos {
        Nanos(self.0 / clock.0 * NANOS_PER_SECOND)
    }
}

impl Nanos {
    /// Returns the rate of one worker that finishes `operations` (8 for a batch of eight) in this
    /// time.
    #[must_use]
    pub fn per_second(self, operations: f64) -> PerSecond {
        PerSecond(operations / self.0 * NANOS_PER_SECOND)
    }
}

impl PerSecond {
    /// Returns the time that one worker needs for an operation at this rate.
    #[must_use]
    pub fn nanos_each(self) -> Nanos {
        Nanos(NANOS_PER_SECOND / self.0)
    }
}

/// Writes a value with its prefix and unit, padded to width and alignment; `f.pad` would treat the
/// precision as a maximum length.
fn write(f: &mut fmt::Formatter<'_>, value: f64, prefixes: &[&str], unit: &str) -> fmt::Result {
    let (number, prefix) = scaled(value, f.precision(), prefixes);
    let text = format!("{number}{prefix}{unit}");
    let width = f.width().unwrap_or(0);
    match f.align() {
        Some(fmt::Alignment::Right) => write!(f, "{text:>width$}"),
        Some(fmt::Alignment::Center) => write!(f, "{text:^width$}"),
        Some(fmt::Alignment::Left) | None => write!(f, "{text:<width$}"),
    }
}

/// Returns `value` with `digits` significant digits (three by default), scaled by a power of a
/// thousand, and that power's prefix: 204 600 is ("205", "k").
fn scaled<'a>(value: f64, digits: Option<usize>, prefixes: &[&'a str]) -> (String, &'a str) {
    let digits = digits.unwrap_or(3).max(1);
    let last = prefixes.len() - 1;
    let mut scaled = value;
    let mut power = 0;
    loop {
        let text = significant(scaled, digits);
        // Compare the rounded number: 999.7 with three digits is 1.00k.
        let rounded = text.parse::<f64>().map_or(0.0, f64::abs);
        if rounded < 1000.0 || power == last || !rounded.is_finite() {
            return (text, prefixes[power]);
        }
        scaled /= 1000.0;
        power += 1;
    }
}

/// Returns `value` rounded to `digits` significant digits; digits before the point are never
/// dropped.
fn significant(value: f64, digits: usize) -> String {
    let before = |text: &str| {
        let whole = text.trim_start_matches('-').split('.').next().unwrap_or("");
        whole.trim_start_matches('0').len()
    };
    let decimals = digits.saturating_sub(before(&format!("{value:.0}")).max(1));
    let text = format!("{value:.decimals$}");
    // Rounding can add a digit before the point: 9.996 with three digits is 10.0, not 10.00.
    let decimals = digits.saturating_sub(before(&text).max(1));
    format!("{value:.decimals$}")
}

/// The unit of a record's estimate, spelled out on disk and in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Core clock cycles.
    Cycles,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanos,
    /// Events per second.
    #[serde(rename = "per_s")]
    PerSecond,
    /// Events per core clock cycle.
    PerCycle,
    /// Bytes.
    Bytes,
    /// A plain count of things.
    Count,
    /// A quotient of two figures of one unit.
    Ratio,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cycles => "cycles",
            Self::Nanos => "ns",
            Self::PerSecond => "per_s",
            Self::PerCycle => "per_cycle",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Ratio => "ratio",
        })
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn display_keeps_three_digits() {
        let shown = |value| PerSecond::new(value).to_string();
        assert_eq!(shown(0.0), "0.00/s");
        assert_eq!(shown(1.067), "1.07/s");
        assert_eq!(shown(9.996), "10.0/s"); // rounding adds a digit
        assert_eq!(shown(723.0), "723/s");
        assert_eq!(shown(999.7), "1.00k/s"); // rounding adds a thousand
        assert_eq!(shown(15_012.0), "15.0k/s");
        assert_eq!(shown(4.0e9), "4.00G/s");
        assert_eq!(shown(1.0e18), "1000000T/s"); // past the last prefix
        assert_eq!(shown(-15_012.0), "-15.0k/s");
        assert_eq!(shown(f64::NAN), "NaN/s");
        assert_eq!(shown(f64::INFINITY), "inf/s");
    }

    #[test]
    fn display_takes_precision_as_digits_and_width_as_width() {
        let sign = Nanos::new(230_456.0);
        assert_eq!(format!("{sign}"), "230 µs");
        assert_eq!(format!("{sign:.5}"), "230.46 µs");
        assert_eq!(format!("{sign:>8}"), "  230 µs");
        assert_eq!(format!("{sign:8}|"), "230 µs  |");
        assert_eq!(Cycles::new(32.0).to_string(), "32.0 cycles");
    }

    #[test]
    fn conversions_agree_with_each_other() {
        let clock = PerSecond::new(4.0e9);
        assert_eq!(Cycles::new(8.0).at(clock), Nanos::new(2.0));
        // A batch of eight in 500 µs is 16 000 operations per second, 62.5 µs each.
        let rate = Nanos::new(500_000.0).per_second(8.0);
        assert_eq!(rate, PerSecond::new(16_000.0));
        assert_eq!(rate.nanos_each(), Nanos::new(62_500.0));
    }

    #[test]
    fn arithmetic_stays_in_its_unit() {
        let parts = [Cycles::new(1.0), Cycles::new(2.5)];
        assert_eq!(parts.into_iter().sum::<Cycles>(), Cycles::new(3.5));
        assert_eq!((parts[1] - parts[0]) * 4.0 + parts[0] / 2.0, Cycles::new(6.5));
        assert_eq!(parts[1] / parts[0], 2.5);
    }

    #[test]
    fn units_on_disk_are_their_words() {
        use Unit::{Bytes, Count, Cycles, Nanos, PerCycle, PerSecond, Ratio};
        for unit in [Cycles, Nanos, PerSecond, PerCycle, Bytes, Count, Ratio] {
            let text = serde_json::to_string(&unit).unwrap();
            assert_eq!(text, format!("\"{unit}\""));
            assert_eq!(serde_json::from_str::<Unit>(&text).unwrap(), unit);
        }
        assert!(serde_json::from_str::<Unit>("\"parsecs\"").is_err());
    }
}
