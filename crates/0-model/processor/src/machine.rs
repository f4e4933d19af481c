//! A described processor: rates per cycle, each with its source.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A processor core as the model sees it. Plain data; read from and written as TOML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What it is called.
    pub name: String,
    /// What it finishes per core cycle.
    pub rates: Rates,
}

/// Instructions that a core finishes per cycle when nothing else is in their way. The names are
/// those of the calibration probes, the unit ends each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// VPMADD52 on 512-bit registers.
    pub vpmadd52_zmm_per_cycle: Rate,
    /// MULX alone.
    pub mulx_per_cycle: Rate,
    /// Products of a row: MULX from memory, halves added by ADCX and ADOX.
    pub mulx_adcx_adox_per_cycle: Rate,
    /// Products of a row: MUL from memory, halves added by ADD and ADC.
    pub mul_adc_per_cycle: Rate,
}

/// A rate with its source, or the statement that nobody knows it.
///
/// `{ value = 2.0, source = "vendor optimisation guide, table 7" }` or `{ unknown = true }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Rate(Option<(f64, String)>);

impl Rate {
    /// A rate per cycle, and where it comes from.
    ///
    /// # Errors
    ///
    /// [`BadRate`] if the value is not a positive number, or the source is empty.
    pub fn known(value: f64, source: &str) -> Result<Self, BadRate> {
        if !(value.is_finite() && value > 0.0) {
            return Err(BadRate::Value(value));
        }
        if source.trim().is_empty() {
            return Err(BadRate::NoSource);
        }
        Ok(Self(Some((value, source.to_owned()))))
    }

    /// Nobody knows.
    #[must_use]
    pub const fn unknown() -> Self {
        Self(None)
    }

    /// The rate per cycle, finite and above zero.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.0.as_ref().map(|(value, _)| *value)
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.0.as_ref().map(|(_, source)| source.as_str())
    }
}

/// Why numbers and words are no rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BadRate {
    /// Neither a value nor `unknown = true`, or both.
    Neither,
    /// A value without its source.
    NoSource,
    /// The value is not a positive number.
    Value(f64),
}

impl fmt::Display for BadRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Neither => {
                f.write_str("a rate is { value = ..., source = ... } or { unknown = true }")
            }
            Self::NoSource => f.write_str("a rate needs a source: say where the value comes from"),
            Self::Value(value) => write!(f, "a rate is a positive number per cycle, not {value}"),
        }
    }
}

impl core::error::Error for BadRate {}

/// The spelling in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<bool>,
}

impl From<Rate> for Wire {
    fn from(rate: Rate) -> Self {
        let (value, source) = rate.0.unzip();
        let unknown = value.is_none().then_some(true);
        Self { value, source, unknown }
    }
}

impl TryFrom<Wire> for Rate {
    type Error = BadRate;

    fn try_from(wire: Wire) -> Result<Self, BadRate> {
        match (wire.value, wire.source, wire.unknown) {
            (Some(value), Some(source), None) => Self::known(value, &source),
            (Some(_), None, None) => Err(BadRate::NoSource),
            (None, None, Some(true)) => Ok(Self::unknown()),
            _ => Err(BadRate::Neither),
        }
    }
}

impl Machine {
    /// Reads a machine file.
    ///
    /// # Errors
    ///
    /// [`BadMachine`] with the line, if a field is missing, unknown, or not what it should be.
    pub fn from_toml(text: &str) -> Result<Self, BadMachine> {
        toml::from_str(text).map_err(BadMachine)
    }
}

/// A machine file that does not say what it must. Fixed by whoever wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct BadMachine(toml::de::Error);

impl fmt::Display for BadMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // toml's own Display draws the line of the file over several lines.
        write!(f, "machine file: {}", self.0.message())
    }
}

impl core::error::Error for BadMachine {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const FILE: &str = r#"
        name = "an example"
        [rates]
        vpmadd52_zmm_per_cycle = { value = 2.0, source = "a guide, table 7" }
        mulx_per_cycle = { value = 1.0, source = "a guide, table 7" }
        mulx_adcx_adox_per_cycle = { unknown = true }
        mul_adc_per_cycle = { unknown = true }
    "#;

    #[test]
    fn a_file_comes_back_as_it_was() {
        let machine = Machine::from_toml(FILE).unwrap();
        assert_eq!(machine.rates.vpmadd52_zmm_per_cycle.value(), Some(2.0));
        assert_eq!(machine.rates.mulx_per_cycle.source(), Some("a guide, table 7"));
        assert_eq!(machine.rates.mul_adc_per_cycle, Rate::unknown());
        let text = toml::to_string(&machine).unwrap();
        assert_eq!(Machine::from_toml(&text).unwrap(), machine);
    }

    #[test]
    fn what_is_no_rate_is_refused_in_one_line() {
        let known = r#"{ value = 2.0, source = "a guide, table 7" }"#;
        for (bad, why) in [
            ("{ value = 2.0 }", "source"),
            (r#"{ value = 2.0, source = " " }"#, "source"),
            (r#"{ value = 0.0, source = "x" }"#, "positive"),
            (r#"{ value = -1.0, source = "x" }"#, "positive"),
            (r#"{ value = inf, source = "x" }"#, "positive"),
            (r#"{ value = nan, source = "x" }"#, "positive"),
            (r#"{ value = 2.0, source = "x", unknown = true }"#, "unknown = true"),
            ("{ unknown = false }", "unknown = true"),
            ("{}", "unknown = true"),
            ("{ guess = 2.0 }", "guess"),
            ("2.0", "invalid type"),
        ] {
            let error = Machine::from_toml(&FILE.replace(known, bad)).unwrap_err();
            let message = error.to_string();
            assert!(message.contains(why), "{bad}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
        let surplus = format!("{FILE}\nimul_per_cycle = {{ unknown = true }}");
        assert!(Machine::from_toml(&surplus).is_err());
        assert!(Machine::from_toml("name = \"no rates\"").is_err());
    }
}
