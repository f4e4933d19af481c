//! A described processor: rates, each with its source, and how it makes a product.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limit::Limit;
use crate::routine::Routine;
use crate::sourced::Rate;

/// A processor core as the model sees it: a machine of a paper, or a calibrated host. Plain data;
/// read from and written as TOML.
///
/// ```
/// use tollgate_processor::Machine;
///
/// let machine = Machine::from_toml(r#"
///     name = "an example"
///     [rates]
///     multiplies = { per_cycle = 1, source = "a guide, table 7" }
///     [[routines]]
///     assumption = "nothing but its multiplies counts"
///     digit = { bits = 64, source = "a guide, table 6" }
///     [routines.uses]
///     multiplies = { per_product = 2, per_row = 1, source = "two halves, and one for m_i" }
/// "#)?;
/// let product = machine.product(1024).expect("its rate is known");
/// assert_eq!(product.bound.cycles.get(), 1040.0); // 4n^2 + n, n = 16
/// assert_eq!(Machine::from_toml(&machine.to_toml())?, machine);
/// # Ok::<(), tollgate_processor::BadMachine>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What it is called.
    pub name: String,
    /// What it finishes per core cycle. A rate that is not there is not known either.
    pub rates: BTreeMap<Limit, Rate>,
    /// How it makes a Montgomery product, beside the kernels of this project, which run where their
    /// rates are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routines: Vec<Routine>,
}

impl Machine {
    /// A machine with rates and no routine of its own: a calibrated host.
    pub fn with_rates(name: &str, rates: impl IntoIterator<Item = (Limit, Rate)>) -> Self {
        Self { name: name.to_owned(), rates: rates.into_iter().collect(), routines: Vec::new() }
    }

    /// Reads a machine file.
    ///
    /// # Errors
    ///
    /// [`BadMachine`] with the line, if a field is missing, unknown, or not what it should be.
    pub fn from_toml(text: &str) -> Result<Self, BadMachine> {
        toml::from_str(text).map_err(|error| BadMachine::new(text, &error))
    }

    /// The machine file.
    ///
    /// # Panics
    ///
    /// Never: names, numbers and words can be written.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a machine is names, numbers and words")
    }

    /// Every rate that is known, under its name and with its source.
    pub fn sources(&self) -> impl Iterator<Item = String> {
        let known = self.rates.iter().filter(|(_, rate)| rate.source().is_some());
        known.map(|(limit, rate)| format!("{} = {rate}", limit.counted()))
    }
}

/// A machine file that does not say what it must. Fixed by whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMachine {
    line: Option<usize>,
    why: String,
}

impl BadMachine {
    fn new(text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| before.matches('\n').count() + 1);
        // toml's own Display draws the line of the file over several lines.
        Self { line, why: error.message().lines().collect::<Vec<_>>().join("; ") }
    }
}

impl fmt::Display for BadMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("machine file: ")?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        // A field's name comes from the file: it must not reach a terminal as a command.
        self.why.chars().try_for_each(|c| {
            if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
        })
    }
}

impl core::error::Error for BadMachine {}
