//! Numbers from outside: each has its source, and unknown is a value.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The smallest and the largest number of a machine file; with them no bound overflows.
const RANGE: (f64, f64) = (1e-9, 1e9);

/// How fast a core does one kind of thing when nothing else is in its way, with the source; or the
/// statement that nobody knows it.
///
/// `{ per_cycle = 2, source = "vendor's guide, table 7" }`, or `{ cycles_each = 6, source = ... }`
/// where one keeps the next waiting, or `{ unknown = true }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RateWire", into = "RateWire")]
pub struct Rate(Option<(Pace, String)>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    PerCycle(f64),
    CyclesEach(f64),
}

impl Rate {
    /// So many per cycle, and where that comes from.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn per_cycle(value: f64, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Some((Pace::PerCycle(positive(value)?), named(source)?))))
    }

    /// So many cycles for each, one after the other, and where that comes from.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn cycles_each(value: f64, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Some((Pace::CyclesEach(positive(value)?), named(source)?))))
    }

    /// Nobody knows.
    #[must_use]
    pub const fn unknown() -> Self {
        Self(None)
    }

    /// Cycles for so many, if it is known.
    #[must_use]
    pub fn cycles(&self, count: f64) -> Option<f64> {
        Some(match self.0.as_ref()?.0 {
            Pace::PerCycle(rate) => count / rate,
            Pace::CyclesEach(cycles) => count * cycles,
        })
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.0.as_ref().map(|(_, source)| source.as_str())
    }
}

/// The number and the source: `2 per cycle, vendor's guide, table 7`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("unknown"),
            Some((Pace::PerCycle(rate), source)) => {
                write!(f, "{} per cycle, {source}", short(*rate))
            }
            Some((Pace::CyclesEach(cycles), source)) => {
                write!(f, "{} cycles each, {source}", short(*cycles))
            }
        }
    }
}

/// How many of one kind of thing a Montgomery product takes, with the source; or the statement that
/// nobody knows it.
///
/// `{ per_product = 2, per_row = 1, source = "counted" }`; what is left out of the two is zero. Or
/// `{ unknown = true }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UsesWire", into = "UsesWire")]
pub struct Uses(Option<(f64, f64, String)>);

impl Uses {
    /// So many for each product of two digits, so many more for each row, and where that comes
    /// from.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if a number is below zero or out of range, or the source is empty.
    pub fn new(per_product: f64, per_row: f64, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Some((zero_or_more(per_product)?, zero_or_more(per_row)?, named(source)?))))
    }

    /// Nobody knows.
    #[must_use]
    pub const fn unknown() -> Self {
        Self(None)
    }

    /// How many `products` products of two digits in `rows` rows take, if it is known.
    #[must_use]
    pub fn count(&self, products: f64, rows: f64) -> Option<f64> {
        let (per_product, per_row, _) = self.0.as_ref()?;
        Some(per_product * products + per_row * rows)
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.0.as_ref().map(|(_, _, source)| source.as_str())
    }
}

/// The numbers and the source: `2 per product and 1 per row, counted`.
impl fmt::Display for Uses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("unknown"),
            Some((per_product, per_row, source)) => {
                let (per_product, per_row) = (short(*per_product), short(*per_row));
                write!(f, "{per_product} per product and {per_row} per row, {source}")
            }
        }
    }
}

/// Why numbers and words cannot stand in a machine file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BadNumber {
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
            Self::NotARate => f.write_str(
                "a rate is { per_cycle = ..., source = ... }, { cycles_each = ..., source = ... } \
                 or { unknown = true }",
            ),
            Self::NotAUse => f.write_str(
                "a use is { per_product = ..., per_row = ..., source = ... } or { unknown = true }",
            ),
            Self::NoSource => f.write_str("it needs a source: say where the number comes from"),
            Self::Value(value) => {
                let (least, most) = RANGE;
                write!(f, "a number here is {least:e} to {most:e}, a use may be 0; not {value}")
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

fn named(source: &str) -> Result<String, BadNumber> {
    if source.trim().is_empty() { Err(BadNumber::NoSource) } else { Ok(source.to_owned()) }
}

/// Three decimals at most, where they show it.
fn short(value: f64) -> f64 {
    let rounded = (value * 1e3).round() / 1e3;
    if rounded == 0.0 { value } else { rounded }
}

/// The spelling of a rate in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    per_cycle: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles_each: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<bool>,
}

impl From<Rate> for RateWire {
    fn from(rate: Rate) -> Self {
        let empty = Self { per_cycle: None, cycles_each: None, source: None, unknown: None };
        match rate.0 {
            None => Self { unknown: Some(true), ..empty },
            Some((Pace::PerCycle(rate), source)) => {
                Self { per_cycle: Some(rate), source: Some(source), ..empty }
            }
            Some((Pace::CyclesEach(cycles), source)) => {
                Self { cycles_each: Some(cycles), source: Some(source), ..empty }
            }
        }
    }
}

impl TryFrom<RateWire> for Rate {
    type Error = BadNumber;

    fn try_from(wire: RateWire) -> Result<Self, BadNumber> {
        let source = wire.source.as_deref();
        match (wire.per_cycle, wire.cycles_each, source, wire.unknown) {
            (Some(rate), None, source, None) => Self::per_cycle(rate, source.unwrap_or("")),
            (None, Some(cycles), source, None) => Self::cycles_each(cycles, source.unwrap_or("")),
            (None, None, None, Some(true)) => Ok(Self::unknown()),
            _ => Err(BadNumber::NotARate),
        }
    }
}

/// The spelling of a use in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsesWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    per_product: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_row: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<bool>,
}

impl From<Uses> for UsesWire {
    fn from(uses: Uses) -> Self {
        match uses.0 {
            None => Self { per_product: None, per_row: None, source: None, unknown: Some(true) },
            Some((per_product, per_row, source)) => Self {
                per_product: Some(per_product),
                per_row: Some(per_row),
                source: Some(source),
                unknown: None,
            },
        }
    }
}

impl TryFrom<UsesWire> for Uses {
    type Error = BadNumber;

    fn try_from(wire: UsesWire) -> Result<Self, BadNumber> {
        match (wire.per_product, wire.per_row, wire.source, wire.unknown) {
            (None, None, None, Some(true)) => Ok(Self::unknown()),
            (None, None, ..) | (.., Some(_)) => Err(BadNumber::NotAUse),
            (per_product, per_row, source, None) => Self::new(
                per_product.unwrap_or(0.0),
                per_row.unwrap_or(0.0),
                &source.unwrap_or_default(),
            ),
        }
    }
}
