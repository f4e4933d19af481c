//! Numbers with a source; "unknown" is a value.

use core::fmt;

use serde::{Deserialize, Serialize};

mod rate;
mod uses;

pub use rate::Rate;
pub use uses::Uses;

/// The range of numbers in a machine file; it includes every core and GPU multiprocessor.
const RANGE: (f64, f64) = (1e-3, 1e3);

/// The reliability of a number in a machine file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Not checked against its source. The default.
    #[default]
    Unverified,
    /// Assumed, because the model needs a value; the source says why.
    Assumed,
    /// Computed from other numbers, or counted.
    Derived,
    /// Measured by this project.
    Measured,
    /// Stated in the public document that the source names.
    Stated,
}

impl Mark {
    /// Returns the word in files and tables.
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

/// The source of a number, and its mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Source {
    mark: Mark,
    #[serde(rename = "source")]
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

/// The number of architectural registers of a kind, with the source: `{ count = 32, mark =
/// "stated", source = "the manual" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RegistersWire")]
pub struct Registers {
    count: u32,
    #[serde(flatten)]
    source: Source,
}

impl Registers {
    /// Creates a number of registers with its source.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if `count` is not from 1 to 1000, or the source is empty.
    pub fn new(count: u32, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        if !(1..=1000).contains(&count) {
            return Err(BadNumber::Value(count.into()));
        }
        Ok(Self { count, source: Source::new(mark, source)? })
    }

    /// Returns the number of registers.
    pub const fn count(&self) -> u32 {
        self.count
    }
}

/// The number and the source: `32, stated: the manual`.
impl fmt::Display for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.count, self.source)
    }
}

/// The spelling of registers in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegistersWire {
    count: u32,
    #[serde(default)]
    mark: Mark,
    source: String,
}

impl TryFrom<RegistersWire> for Registers {
    type Error = BadNumber;

    fn try_from(wire: RegistersWire) -> Result<Self, BadNumber> {
        Self::new(wire.count, wire.mark, &wire.source)
    }
}

/// The reason why a machine file is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadNumber {
    /// A digit has 0 or more than 128 bits.
    #[error("a digit has 1 to 128 bits, not {0}")]
    Digit(u32),
    /// A rate must have either a number with its unit or `unknown = true`, but not both.
    #[error(
        "a rate is {{ per_cycle = ..., mark = ..., source = ... }}, {{ cycles_each = ..., mark = \
         ..., source = ... }}, {{ unknown = true }} or {{ unknown = true, at_least = ..., source = \
         ... }}"
    )]
    NotARate,
    /// A use must have either numbers with their units or `unknown = true`, but not both.
    #[error(
        "a use is {{ per_product = ..., per_row = ..., mark = ..., source = ... }} or {{ unknown = \
         true }}"
    )]
    NotAUse,
    /// A number has no source.
    #[error("the number has no source: add source = \"...\"")]
    NoSource,
    /// The number is out of range.
    #[error(
        "a number here is from {least} to {most}, or 0 for a use; not {0}",
        least = RANGE.0,
        most = RANGE.1
    )]
    Value(f64),
}

fn positive(value: f64) -> Result<f64, BadNumber> {
    let (least, most) = RANGE;
    if (least..=most).contains(&value) { Ok(value) } else { Err(BadNumber::Value(value)) }
}

fn zero_or_more(value: f64) -> Result<f64, BadNumber> {
    if value == 0.0 { Ok(0.0) } else { positive(value) }
}

/// Rounds to three decimals, unless that gives zero.
fn short(value: f64) -> f64 {
    let rounded = (value * 1e3).round() / 1e3;
    if rounded == 0.0 { value } else { rounded }
}
