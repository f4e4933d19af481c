//! The routine of a processor for a Montgomery product: its digits, and the uses of each resource.

use core::num::NonZeroU32;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limit::{Demand, Limit};
use crate::sourced::{BadNumber, Uses};

/// A method for a Montgomery product of numbers of n digits. The method has n rows. Each row has 2n
/// products of two digits, half of them for the reduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routine {
    /// The largest modulus, in bits, for which the method is valid. `None` if it is valid for all.
    pub bits_max: Option<u32>,
    /// Its assumption, printed with the figure.
    pub assumption: String,
    /// The digits of a number.
    pub digit: Digits,
    /// The number of uses of each resource, per product of two digits and per row. A resource does
    /// not limit the result if it is absent, or if its number of uses is unknown.
    pub uses: BTreeMap<Limit, Uses>,
}

/// The digits of a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "DigitsWire")]
pub struct Digits {
    /// Size of a digit in bits.
    pub bits: NonZeroU32,
    /// The reason for this size.
    pub source: String,
}

/// Maximum number of bits of a digit; no multiplier is wider.
const DIGIT_MAX: u32 = 128;

impl Digits {
    /// Creates digits of `bits` bits; `source` is the reason for this size.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if `bits` is not from 1 to 128, or the source is empty.
    pub fn new(bits: u32, source: &str) -> Result<Self, BadNumber> {
        let wrong = BadNumber::Digit(bits);
        let bits = NonZeroU32::new(bits).filter(|bits| bits.get() <= DIGIT_MAX).ok_or(wrong)?;
        if source.trim().is_empty() {
            return Err(BadNumber::NoSource);
        }
        Ok(Self { bits, source: source.to_owned() })
    }
}

/// The spelling of digits in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DigitsWire {
    bits: u32,
    source: String,
}

impl TryFrom<DigitsWire> for Digits {
    type Error = BadNumber;

    fn try_from(wire: DigitsWire) -> Result<Self, BadNumber> {
        Self::new(wire.bits, &wire.source)
    }
}

impl Routine {
    /// Returns the demand of a product of `bits` bits. `None` if the routine is not valid for this
    /// size.
    pub fn product(&self, bits: u32) -> Option<Demand> {
        if self.bits_max.is_some_and(|most| bits > most) {
            return None;
        }
        let digits = f64::from(bits.div_ceil(self.digit.bits.get()));
        Some(self.demand(2.0 * digits * digits, digits))
    }

    /// Returns the demand of one product of two digits, without its row.
    pub fn per_product(&self) -> Demand {
        self.demand(1.0, 0.0)
    }

    fn demand(&self, products: f64, rows: f64) -> Demand {
        let counted = |(limit, uses): (&Limit, &Uses)| Some((*limit, uses.count(products, rows)?));
        Demand::new(self.uses.iter().filter_map(counted))
    }
}
