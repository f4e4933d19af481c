//! A processor: rates, each with its source, and its routines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_record::BadFile;

use crate::limit::Limit;
use crate::routine::Routine;
use crate::sourced::{BadNumber, Mark, Rate, Registers};

/// A processor core: a machine of a paper, or a calibrated host. Plain data, stored as TOML.
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
/// # Ok::<(), tollgate_record::BadFile>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its rates. A missing rate is unknown.
    pub rates: BTreeMap<Limit, Rate>,
    /// Its architectural registers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registers: BTreeMap<RegisterFile, Registers>,
    /// The names of the units that give a rate, for a drawing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<Limit, Vec<String>>,
    /// The machine's own routines for a Montgomery product. The kernels of this project apply as
    /// well if their rates are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routines: Vec<Routine>,
}

/// A kind of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterFile {
    /// Integers and addresses.
    General,
    /// The widest vectors.
    Vector,
}

impl Machine {
    /// Creates a machine with rates and no routines, such as a calibrated host.
    pub fn with_rates(name: &str, rates: impl IntoIterator<Item = (Limit, Rate)>) -> Self {
        Self {
            name: name.to_owned(),
            rates: rates.into_iter().collect(),
            registers: BTreeMap::new(),
            units: BTreeMap::new(),
            routines: Vec::new(),
        }
    }

    /// Reads a machine file.
    ///
    /// # Errors
    ///
    /// [`BadFile`] with the line, if a field is missing, unknown or invalid.
    pub fn from_toml(text: &str) -> Result<Self, BadFile> {
        toml::from_str(text)
            .map_err(|error| BadFile::at("machine", text, error.span(), error.message()))
    }

    /// Returns this machine as a machine file.
    ///
    /// # Panics
    ///
    /// Never: a machine consists of names, numbers and strings.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a machine is names, numbers and words")
    }

    /// Returns this machine with another value of one rate, in the same unit.
    ///
    /// # Errors
    ///
    /// [`BadNumber`] if the value is not allowed in a machine file.
    pub fn changed(&self, limit: Limit, value: f64) -> Result<Self, BadNumber> {
        let mut machine = self.clone();
        let rate = machine.rates.entry(limit).or_insert_with(Rate::unknown);
        *rate = rate.changed(value, limit.is_in_cycles(), Mark::Assumed, "changed to see")?;
        Ok(machine)
    }

    /// Returns each known rate as text: its key, value and source.
    pub fn sources(&self) -> impl Iterator<Item = String> {
        let known = self.rates.iter().filter(|(_, rate)| rate.value().is_some());
        known.map(|(limit, rate)| format!("{} = {rate}", limit.key()))
    }
}
