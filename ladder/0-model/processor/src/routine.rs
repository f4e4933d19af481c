//! How a described processor makes a Montgomery product: digits, rows, and what they take.

use core::num::NonZeroU32;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limit::{Demand, Limit};
use crate::sourced::{BadNumber, Uses};

/// A way to a Montgomery product on a described processor: for n digits n rows, each with 2n
/// products of two digits, half of them to reduce.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routine {
    /// The largest modulus that it holds for; without it every size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_max: Option<u32>,
    /// What the whole rests on, in words, to stand beside the figure.
    pub assumption: String,
    /// What a number is cut into.
    pub digit: Digits,
    /// What the products and rows take; a limit that is not there is not looked at, nor is one of
    /// which the use is unknown.
    pub uses: BTreeMap<Limit, Uses>,
}

/// The digits of a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "DigitsWire", into = "DigitsWire")]
pub struct Digits {
    /// Bits of each.
    pub bits: NonZeroU32,
    /// Why so many.
    pub source: String,
}

/// The most bits of a digit: no multiplier is wider.
const DIGIT_MAX: u32 = 128;

impl Digits {
    /// Of so many bits, and why.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if there are none or more than a multiplier has, or the source is empty.
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
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DigitsWire {
    bits: u32,
    source: String,
}

impl From<Digits> for DigitsWire {
    fn from(digits: Digits) -> Self {
        Self { bits: digits.bits.get(), source: digits.source }
    }
}

impl TryFrom<DigitsWire> for Digits {
    type Error = BadNumber;

    fn try_from(wire: DigitsWire) -> Result<Self, BadNumber> {
        Self::new(wire.bits, &wire.source)
    }
}

impl Routine {
    /// What a product of `bits` bits takes. `None` if the routine does not hold for the size.
    #[must_use]
    pub fn product(&self, bits: u32) -> Option<Demand> {
        if self.bits_max.is_some_and(|most| bits > most) {
            return None;
        }
        let digits = f64::from(bits.div_ceil(self.digit.bits.get()));
        Some(self.demand(2.0 * digits * digits, digits))
    }

    /// What one product of two digits takes, rows left aside.
    #[must_use]
    pub fn per_product(&self) -> Demand {
        self.demand(1.0, 0.0)
    }

    fn demand(&self, products: f64, rows: f64) -> Demand {
        let counted = |(limit, uses): (&Limit, &Uses)| Some((*limit, uses.count(products, rows)?));
        Demand::new(self.uses.iter().filter_map(counted))
    }
}
