//! The rate of a core for one kind of operation.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{BadNumber, Mark, Source, positive, short};

/// The rate of a core for one kind of operation alone, with its source. The rate may be "unknown",
/// with or without a lower limit.
///
/// In a file: `{ per_cycle = 2, mark = "stated", source = "vendor's guide, table 7" }`;
/// `{ cycles_each = 6, mark = ..., source = ... }` if each operation delays the next; `{ unknown =
/// true }`; or `{ unknown = true, at_least = 2, mark = ..., source = ... }`, a lower limit in
/// operations per cycle, or for a latency in cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RateWire", into = "RateWire")]
pub struct Rate(Paced);

#[derive(Clone, Debug, PartialEq)]
enum Paced {
    Unknown(Option<(f64, Source)>),
    PerCycle(f64, Source),
    CyclesEach(f64, Source),
}

impl Rate {
    /// Creates a rate of `value` operations per cycle.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn per_cycle(value: f64, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Paced::PerCycle(positive(value)?, Source::new(mark, source)?)))
    }

    /// Creates a rate of `value` cycles for each operation, one after another.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn cycles_each(value: f64, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Paced::CyclesEach(positive(value)?, Source::new(mark, source)?)))
    }

    /// Creates an unknown rate.
    #[must_use]
    pub const fn unknown() -> Self {
        Self(Paced::Unknown(None))
    }

    /// Creates an unknown rate with a lower limit. The limit is in operations per cycle, or in
    /// cycles if the rate is a latency.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn at_least(value: f64, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Paced::Unknown(Some((positive(value)?, Source::new(mark, source)?)))))
    }

    /// Returns this rate with another value in the same unit. An unknown rate has no unit: the new
    /// rate is in cycles for each operation if `is_latency` is set, and otherwise in operations per
    /// cycle.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn changed(
        &self,
        value: f64,
        is_latency: bool,
        mark: Mark,
        source: &str,
    ) -> Result<Self, BadNumber> {
        match self.0 {
            Paced::CyclesEach(..) => Self::cycles_each(value, mark, source),
            Paced::Unknown(_) if is_latency => Self::cycles_each(value, mark, source),
            Paced::PerCycle(..) | Paced::Unknown(_) => Self::per_cycle(value, mark, source),
        }
    }

    /// Returns the cycles of `count` operations, if the rate is known.
    pub fn cycles(&self, count: f64) -> Option<f64> {
        match &self.0 {
            Paced::Unknown(_) => None,
            Paced::PerCycle(rate, _) => Some(count / rate),
            Paced::CyclesEach(cycles, _) => Some(count * cycles),
        }
    }

    /// Returns the lower limit of an unknown rate.
    pub fn least(&self) -> Option<f64> {
        match &self.0 {
            Paced::Unknown(Some((least, _))) => Some(*least),
            _ => None,
        }
    }

    /// Returns the value in its own unit, if it is known.
    pub fn value(&self) -> Option<f64> {
        match &self.0 {
            Paced::Unknown(_) => None,
            Paced::PerCycle(value, _) | Paced::CyclesEach(value, _) => Some(*value),
        }
    }

    /// Returns the source.
    pub fn source(&self) -> Option<&str> {
        self.sourced().map(|source| source.words.as_str())
    }

    /// Returns the mark of the source.
    pub fn mark(&self) -> Option<Mark> {
        self.sourced().map(|source| source.mark)
    }

    fn sourced(&self) -> Option<&Source> {
        match &self.0 {
            Paced::Unknown(least) => least.as_ref().map(|(_, source)| source),
            Paced::PerCycle(_, source) | Paced::CyclesEach(_, source) => Some(source),
        }
    }
}

/// The number and the source: `2 per cycle, stated: vendor's guide, table 7`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Paced::Unknown(None) => f.write_str("unknown"),
            Paced::Unknown(Some((least, source))) => {
                write!(f, "unknown, at least {}, {source}", short(*least))
            }
            Paced::PerCycle(rate, source) => write!(f, "{} per cycle, {source}", short(*rate)),
            Paced::CyclesEach(cycles, source) => {
                write!(f, "{} cycles each, {source}", short(*cycles))
            }
        }
    }
}

/// The spelling of a rate in a file, which omits what is `None`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateWire {
    per_cycle: Option<f64>,
    cycles_each: Option<f64>,
    unknown: Option<bool>,
    at_least: Option<f64>,
    mark: Option<Mark>,
    source: Option<String>,
}

impl From<Rate> for RateWire {
    fn from(rate: Rate) -> Self {
        let sourced = rate.sourced();
        let mut wire = Self {
            mark: sourced.map(|source| source.mark),
            source: sourced.map(|source| source.words.clone()),
            ..Self::default()
        };
        match rate.0 {
            Paced::Unknown(least) => {
                wire.unknown = Some(true);
                wire.at_least = least.map(|(least, _)| least);
            }
            Paced::PerCycle(rate, _) => wire.per_cycle = Some(rate),
            Paced::CyclesEach(cycles, _) => wire.cycles_each = Some(cycles),
        }
        wire
    }
}

impl TryFrom<RateWire> for Rate {
    type Error = BadNumber;

    fn try_from(wire: RateWire) -> Result<Self, BadNumber> {
        let (mark, source) = (wire.mark.unwrap_or_default(), wire.source.as_deref());
        let words = source.unwrap_or_default();
        match (wire.per_cycle, wire.cycles_each, wire.unknown, wire.at_least) {
            (Some(rate), None, None, None) => Self::per_cycle(rate, mark, words),
            (None, Some(cycles), None, None) => Self::cycles_each(cycles, mark, words),
            (None, None, Some(true), Some(least)) => Self::at_least(least, mark, words),
            (None, None, Some(true), None) if source.is_none() && wire.mark.is_none() => {
                Ok(Self::unknown())
            }
            _ => Err(BadNumber::NotARate),
        }
    }
}
