//! How a described processor makes a Montgomery product: digits, rows, and what they take.

use core::num::NonZeroU32;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limit::{Demand, Limit};
use crate::sourced::Uses;

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
#[serde(deny_unknown_fields)]
pub struct Digits {
    /// Bits of each.
    pub bits: NonZeroU32,
    /// Why so many.
    pub source: String,
}

impl Routine {
    /// What a product of `bits` bits takes. `None` if the routine does not hold for the size.
    #[must_use]
    pub fn product(&self, bits: u32) -> Option<Demand> {
        if self.bits_max.is_some_and(|most| bits > most) {
            return None;
        }
        let digits = f64::from(bits.div_ceil(self.digit.bits.get()));
        let (products, rows) = (2.0 * digits * digits, digits);
        let amounts = self.uses.iter();
        let amounts =
            amounts.filter_map(|(limit, uses)| Some((*limit, uses.count(products, rows)?)));
        Some(Demand::new(amounts))
    }
}
