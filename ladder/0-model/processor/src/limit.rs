//! Limits, and the demand of a piece of work on each of them.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::form::{Count, Form};

/// A resource that can be the bottleneck. A machine file gives its rate and its uses under the same
/// key, which names what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Integer additions and comparisons, on units that do nothing else.
    Additions,
    /// A multiplier that is not pipelined.
    #[serde(rename = "blocking_multiplies")]
    BlockingMultiplier,
    /// Fused multiply-adds and additions of 64-bit floating-point numbers.
    #[serde(rename = "fp64_operations")]
    Fp64,
    /// Instructions of any kind that issue.
    #[serde(rename = "issue_slots")]
    Issue,
    /// Multiplies whose latency nothing hides: added to the largest of the other limits.
    #[serde(rename = "multiply_latencies")]
    Latency,
    /// Loads of 64-bit words from the first-level cache.
    Loads,
    /// Loads of 512-bit registers from the first-level cache.
    LoadsZmm,
    /// Rows of MUL with ADD and ADC: the carry chain and the multiplier together.
    #[serde(rename = "mul_adc")]
    MulRow,
    /// A pipelined multiplier.
    #[serde(rename = "multiplies")]
    Multiplier,
    /// MULX alone: the multiplier.
    #[serde(rename = "mulx")]
    Mulx,
    /// A chain of dependent MULX: the digits of a reduction.
    #[serde(rename = "mulx_latencies")]
    MulxChain,
    /// Rows of MULX with ADCX and ADOX: two carry chains and the multiplier together.
    #[serde(rename = "mulx_adcx_adox")]
    MulxRow,
    /// Rows of VPMULUDQ with VPADDQ, on 256-bit registers: the vector units together.
    #[serde(rename = "vpmuludq_vpaddq_ymm")]
    PmuludqRow,
    /// Loads, stores and moves between register files.
    #[serde(rename = "port_operations")]
    Ports,
    /// All loads, including those of values that do not fit the registers. Its rate is that of
    /// [`LoadsZmm`](Self::LoadsZmm).
    #[serde(rename = "spilled_zmm")]
    Residency,
    /// VPMADD52 on 512-bit registers: the vector multipliers.
    #[serde(rename = "vpmadd52_zmm")]
    Vpmadd52,
    /// A chain of dependent VPMADD52: the digits of a reduction.
    #[serde(rename = "vpmadd52_latencies")]
    Vpmadd52Chain,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 17] = [
        Self::Additions,
        Self::BlockingMultiplier,
        Self::Fp64,
        Self::Issue,
        Self::Latency,
        Self::Loads,
        Self::LoadsZmm,
        Self::MulRow,
        Self::Multiplier,
        Self::Mulx,
        Self::MulxChain,
        Self::MulxRow,
        Self::PmuludqRow,
        Self::Ports,
        Self::Residency,
        Self::Vpmadd52,
        Self::Vpmadd52Chain,
    ];

    /// The name in tables and records; at most 8 characters for a limit of a kernel.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Additions => "additions",
            Self::BlockingMultiplier => "blocking multiplier",
            Self::Fp64 => "fp64",
            Self::Issue => "issue",
            Self::Latency => "latency",
            Self::Loads => "loads",
            Self::LoadsZmm => "vloads",
            Self::MulRow => "mul row",
            Self::Multiplier => "multiplier",
            Self::Mulx => "mulx",
            Self::MulxChain => "chain",
            Self::MulxRow => "mulx row",
            Self::PmuludqRow => "vmul row",
            Self::Ports => "ports",
            Self::Residency => "register",
            Self::Vpmadd52 => "vpmadd52",
            Self::Vpmadd52Chain => "vchain",
        }
    }

    /// The key in a machine file.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Additions => "additions",
            Self::BlockingMultiplier => "blocking_multiplies",
            Self::Fp64 => "fp64_operations",
            Self::Issue => "issue_slots",
            Self::Latency => "multiply_latencies",
            Self::Loads => "loads",
            Self::LoadsZmm => "loads_zmm",
            Self::MulRow => "mul_adc",
            Self::Multiplier => "multiplies",
            Self::Mulx => "mulx",
            Self::MulxChain => "mulx_latencies",
            Self::MulxRow => "mulx_adcx_adox",
            Self::PmuludqRow => "vpmuludq_vpaddq_ymm",
            Self::Ports => "port_operations",
            Self::Residency => "spilled_zmm",
            Self::Vpmadd52 => "vpmadd52_zmm",
            Self::Vpmadd52Chain => "vpmadd52_latencies",
        }
    }

    /// The limit of this key in a machine file.
    #[must_use]
    pub fn from_key(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.key() == name)
    }

    /// The limit whose rate applies: itself, or for spilled registers the loads.
    #[must_use]
    pub const fn rate_limit(self) -> Self {
        match self {
            Self::Residency => Self::LoadsZmm,
            own => own,
        }
    }

    /// Whether its rate is in cycles for each operation, one after another.
    #[must_use]
    pub const fn is_in_cycles(self) -> bool {
        matches!(
            self,
            Self::BlockingMultiplier | Self::Latency | Self::MulxChain | Self::Vpmadd52Chain
        )
    }

    /// Whether it multiplies. There is no bound without the rate of a multiplier.
    #[must_use]
    pub const fn is_multiplier(self) -> bool {
        matches!(
            self,
            Self::BlockingMultiplier
                | Self::Fp64
                | Self::MulRow
                | Self::Multiplier
                | Self::Mulx
                | Self::PmuludqRow
                | Self::Vpmadd52
        )
    }

    /// The limits that apply to a form.
    const fn of(form: Form) -> &'static [Self] {
        match form {
            Form::Blocks52 | Form::Madd52 | Form::Karatsuba52 => &[Self::Vpmadd52],
            Form::Halves52 => &[Self::PmuludqRow],
            Form::Mul | Form::Mul52 => &[Self::MulRow],
            Form::Mulx => &[Self::MulxRow, Self::Mulx],
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The amount of each resource that a piece of work uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand(Vec<(Limit, f64)>);

impl Demand {
    /// These amounts; amounts of zero are dropped.
    pub fn new(amounts: impl IntoIterator<Item = (Limit, f64)>) -> Self {
        Self(amounts.into_iter().filter(|(_, amount)| *amount > 0.0).collect())
    }

    /// This demand divided by a number of pieces.
    #[must_use]
    pub fn over(mut self, pieces: f64) -> Self {
        self.0.iter_mut().for_each(|(_, amount)| *amount /= pieces);
        self
    }

    /// This demand, repeated `times` times.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.0.iter_mut().for_each(|(_, amount)| *amount *= f64::from(times));
        Self::new(self.0)
    }

    /// The sum of two demands.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (limit, amount) in other.0 {
            match self.0.iter_mut().find(|(known, _)| *known == limit) {
                Some((_, sum)) => *sum += amount,
                None => self.0.push((limit, amount)),
            }
        }
        self
    }

    /// The amounts; none is zero.
    #[must_use]
    pub fn amounts(&self) -> &[(Limit, f64)] {
        &self.0
    }

    /// The demand of `count` multiply instructions of a form.
    #[must_use]
    pub fn multiplies(form: Form, count: Count) -> Self {
        Self::new(Limit::of(form).iter().map(|limit| (*limit, count.get())))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn names_fit_their_column() {
        for limit in Form::ALL.into_iter().flat_map(Limit::of) {
            assert!(limit.word().len() <= 8, "{limit}");
        }
    }

    #[test]
    fn the_key_is_the_spelling_in_a_file() {
        for limit in Limit::ALL {
            let text = toml::Value::try_from(limit).unwrap();
            assert_eq!(text.as_str(), Some(limit.key()));
        }
    }
}
