//! Numbers from outside: each has its source, and unknown is a value.

use core::fmt;

use serde::{Deserialize, Serialize};

mod rate;
mod registers;
mod uses;

pub use rate::Rate;
pub use registers::Registers;
pub use uses::Uses;

/// The smallest and the largest number of a machine file: no core, and no multiprocessor of a card,
/// does more of anything in a cycle, or takes longer for it.
const RANGE: (f64, f64) = (1e-3, 1e3);

/// How much a number is worth: who vouches for it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Nobody checked it against its source. What has no mark has this one.
    #[default]
    Unverified,
    /// Taken to be so, because something must be; the source says why.
    Assumed,
    /// Computed from other numbers, or counted.
    Derived,
    /// Measured by us.
    Measured,
    /// Stated in the public document that the source names.
    Stated,
}

impl Mark {
    /// The word in files and tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Assumed => "assumed",
            Self::Derived => "derived",
            Self::Measured => "measured",
            Self::Stated => "stated",
        }
    }
}

/// Where a number comes from, and what that is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    mark: Mark,
    words: String,
}

impl Source {
    fn new(mark: Mark, words: &str) -> Result<Self, BadNumber> {
        if words.trim().is_empty() {
            return Err(BadNumber::NoSource);
        }
        Ok(Self { mark, words: words.to_owned() })
    }
}

/// `derived: counted in the listing`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.mark.word(), self.words)
    }
}

/// Why numbers and words cannot stand in a machine file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BadNumber {
    /// A digit has no bits, or more than a multiplier is wide.
    Digit(u32),
    /// A rate is neither a number with its unit nor `unknown = true`, or more than one of them.
    NotARate,
    /// A use is neither numbers with their unit nor `unknown = true`, or both.
    NotAUse,
    /// A number without its source.
    NoSource,
    /// The number is not in range.
    Value(f64),
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digit(bits) => write!(f, "a digit has 1 to 128 bits; not {bits}"),
            Self::NotARate => f.write_str(
                "a rate is { per_cycle = ..., mark = ..., source = ... }, { cycles_each = ..., \
                 mark = ..., source = ... }, { unknown = true } or { unknown = true, at_least = \
                 ..., source = ... }",
            ),
            Self::NotAUse => f.write_str(
                "a use is { per_product = ..., per_row = ..., mark = ..., source = ... } or { \
                 unknown = true }",
            ),
            Self::NoSource => f.write_str("it needs a source: say where the number comes from"),
            Self::Value(value) => {
                let (least, most) = RANGE;
                write!(f, "a number here is {least} to {most}, a use may be 0; not {value}")
            }
        }
    }
}

impl core::error::Error for BadNumber {}

fn positive(value: f64) -> Result<f64, BadNumber> {
    let (least, most) = RANGE;
    if (least..=most).contains(&value) { Ok(value) } else { Err(BadNumber::Value(value)) }
}

fn zero_or_more(value: f64) -> Result<f64, BadNumber> {
    if value == 0.0 { Ok(0.0) } else { positive(value) }
}

/// Three decimals at most, where they show it.
fn short(value: f64) -> f64 {
    let rounded = (value * 1e3).round() / 1e3;
    if rounded == 0.0 { value } else { rounded }
}
