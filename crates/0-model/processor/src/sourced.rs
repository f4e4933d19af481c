//! Numbers from outside: each has its source, and unknown is a value.

use core::fmt;

use serde::{Deserialize, Serialize};

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

/// How fast a core does one kind of thing when nothing else is in its way, with the source; or the
/// statement that nobody knows it, and perhaps what it is at least.
///
/// `{ per_cycle = 2, mark = "stated", source = "vendor's guide, table 7" }`, or `{ cycles_each = 6,
/// mark = ..., source = ... }` where one keeps the next waiting, or `{ unknown = true }`, or `{
/// unknown = true, at_least = 2, mark = ..., source = ... }`: at least so many per cycle, or of a
/// latency at least so many cycles.
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
    /// So many per cycle, and where that comes from.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn per_cycle(value: f64, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Paced::PerCycle(positive(value)?, Source::new(mark, source)?)))
    }

    /// So many cycles for each, one after the other, and where that comes from.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn cycles_each(value: f64, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Paced::CyclesEach(positive(value)?, Source::new(mark, source)?)))
    }

    /// Nobody knows.
    #[must_use]
    pub const fn unknown() -> Self {
        Self(Paced::Unknown(None))
    }

    /// Nobody knows, but at least so many per cycle, or of a latency so many cycles.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not a positive number in range, or the source is empty.
    pub fn at_least(value: f64, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        Ok(Self(Paced::Unknown(Some((positive(value)?, Source::new(mark, source)?)))))
    }

    /// This rate with another number, in the same unit; what was unknown is then in cycles each if
    /// it `is_latency`, else per cycle.
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

    /// Cycles for so many, if it is known.
    #[must_use]
    pub fn cycles(&self, count: f64) -> Option<f64> {
        match &self.0 {
            Paced::Unknown(_) => None,
            Paced::PerCycle(rate, _) => Some(count / rate),
            Paced::CyclesEach(cycles, _) => Some(count * cycles),
        }
    }

    /// What an unknown rate is at least.
    #[must_use]
    pub fn least(&self) -> Option<f64> {
        match &self.0 {
            Paced::Unknown(Some((least, _))) => Some(*least),
            _ => None,
        }
    }

    /// The number, whatever its unit, if it is known.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        match &self.0 {
            Paced::Unknown(_) => None,
            Paced::PerCycle(value, _) | Paced::CyclesEach(value, _) => Some(*value),
        }
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.sourced().map(|source| source.words.as_str())
    }

    /// What its source is worth.
    #[must_use]
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

/// Registers of a kind that a program can name, with the source: `{ count = 32, mark = "stated",
/// source = "the manual" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RegistersWire", into = "RegistersWire")]
pub struct Registers {
    count: u32,
    source: Source,
}

impl Registers {
    /// So many, and where that comes from.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if there are none or more than any machine has, or the source is empty.
    pub fn new(count: u32, mark: Mark, source: &str) -> Result<Self, BadNumber> {
        if !(1..=1000).contains(&count) {
            return Err(BadNumber::Value(count.into()));
        }
        Ok(Self { count, source: Source::new(mark, source)? })
    }

    /// How many.
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

/// How many of one kind of thing a Montgomery product takes, with the source; or the statement that
/// nobody knows it.
///
/// `{ per_product = 2, per_row = 1, mark = "derived", source = "counted" }`; what is left out of
/// the two is zero. Or `{ unknown = true }`. `does` may name what it does, for a drawing: `does =
/// ["xma.lu", "xma.hu"]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UsesWire", into = "UsesWire")]
pub struct Uses(Option<Used>);

#[derive(Clone, Debug, PartialEq)]
struct Used {
    per_product: f64,
    per_row: f64,
    does: Vec<String>,
    source: Source,
}

impl Uses {
    /// So many for each product of two digits, so many more for each row, and where that comes
    /// from.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if a number is below zero or out of range, or the source is empty.
    pub fn new(
        per_product: f64,
        per_row: f64,
        mark: Mark,
        source: &str,
    ) -> Result<Self, BadNumber> {
        Ok(Self(Some(Used {
            per_product: zero_or_more(per_product)?,
            per_row: zero_or_more(per_row)?,
            does: Vec::new(),
            source: Source::new(mark, source)?,
        })))
    }

    /// Nobody knows.
    #[must_use]
    pub const fn unknown() -> Self {
        Self(None)
    }

    /// How many `products` products of two digits in `rows` rows take, if it is known.
    #[must_use]
    pub fn count(&self, products: f64, rows: f64) -> Option<f64> {
        let used = self.0.as_ref()?;
        Some(used.per_product * products + used.per_row * rows)
    }

    /// What the uses of a product are, in turn; empty if the file does not say.
    #[must_use]
    pub fn does(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |used| &used.does)
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.0.as_ref().map(|used| used.source.words.as_str())
    }

    /// What its source is worth.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        self.0.as_ref().map(|used| used.source.mark)
    }
}

/// The numbers and the source: `2 per product and 1 per row, derived: counted`.
impl fmt::Display for Uses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("unknown"),
            Some(used) => {
                let (per_product, per_row) = (short(used.per_product), short(used.per_row));
                write!(f, "{per_product} per product and {per_row} per row, {}", used.source)
            }
        }
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

/// The spelling of a rate in a file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    per_cycle: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles_each: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// The spelling of a use in a file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsesWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    per_product: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_row: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    does: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl From<Uses> for UsesWire {
    fn from(uses: Uses) -> Self {
        match uses.0 {
            None => Self { unknown: Some(true), ..Self::default() },
            Some(used) => Self {
                per_product: Some(used.per_product),
                per_row: Some(used.per_row),
                does: used.does,
                mark: Some(used.source.mark),
                source: Some(used.source.words),
                ..Self::default()
            },
        }
    }
}

impl TryFrom<UsesWire> for Uses {
    type Error = BadNumber;

    fn try_from(wire: UsesWire) -> Result<Self, BadNumber> {
        let source = wire.source.as_deref();
        match (wire.per_product, wire.per_row, source, wire.unknown) {
            (None, None, None, Some(true)) if wire.does.is_empty() => Ok(Self::unknown()),
            (None, None, ..) | (.., Some(_)) => Err(BadNumber::NotAUse),
            (per_product, per_row, source, None) => {
                let numbers = (per_product.unwrap_or(0.0), per_row.unwrap_or(0.0));
                let mark = wire.mark.unwrap_or_default();
                let mut uses = Self::new(numbers.0, numbers.1, mark, source.unwrap_or_default())?;
                uses.0.iter_mut().for_each(|used| used.does.clone_from(&wire.does));
                Ok(uses)
            }
        }
    }
}

/// The spelling of registers in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegistersWire {
    count: u32,
    #[serde(default)]
    mark: Mark,
    source: String,
}

impl From<Registers> for RegistersWire {
    fn from(registers: Registers) -> Self {
        let Source { mark, words } = registers.source;
        Self { count: registers.count, mark, source: words }
    }
}

impl TryFrom<RegistersWire> for Registers {
    type Error = BadNumber;

    fn try_from(wire: RegistersWire) -> Result<Self, BadNumber> {
        Self::new(wire.count, wire.mark, &wire.source)
    }
}
