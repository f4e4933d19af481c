//! Architectural registers.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{BadNumber, Mark, Source};

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
    /// `count` registers, and the source.
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

    /// The number of registers.
    #[must_use]
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
