//! The uses of one resource by a product.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{BadNumber, Mark, Source, short, zero_or_more};

/// The uses of one resource by a Montgomery product, with their source. The uses may be "unknown".
///
/// In a file: `{ per_product = 2, per_row = 1, mark = "derived", source = "counted" }`, where
/// either number defaults to zero; or `{ unknown = true }`. `does` may name the operations for a
/// drawing: `does = ["xma.lu", "xma.hu"]`.
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
    /// Creates the uses of each product of two digits and of each row.
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

    /// Creates unknown uses.
    #[must_use]
    pub const fn unknown() -> Self {
        Self(None)
    }

    /// Returns the uses of `products` products of two digits in `rows` rows, if they are known.
    pub fn count(&self, products: f64, rows: f64) -> Option<f64> {
        let used = self.0.as_ref()?;
        Some(used.per_product * products + used.per_row * rows)
    }

    /// Returns the operations of a product in order; empty if the file does not name them.
    pub fn does(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |used| &used.does)
    }

    /// Returns the source.
    pub fn source(&self) -> Option<&str> {
        self.0.as_ref().map(|used| used.source.words.as_str())
    }

    /// Returns the mark of the source.
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

/// The spelling of a use in a file, which omits what is `None`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsesWire {
    per_product: Option<f64>,
    per_row: Option<f64>,
    unknown: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    does: Vec<String>,
    mark: Option<Mark>,
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
