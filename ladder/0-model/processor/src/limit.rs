//! Limits, and how often a piece of work uses each limit.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::form::{Count, Form};

/// Defines [`Limit`]. Each limit has a key in a machine file and a name in tables.
macro_rules! limits {
    ($($(#[$doc:meta])* $limit:ident = $key:literal, $word:literal;)*) => {
        /// A resource that can be the bottleneck. A machine file uses one key for the resource's
        /// rate and for its uses. The key names the unit that is counted.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum Limit {
            $($(#[$doc])* #[serde(rename = $key)] $limit,)*
        }

        impl Limit {
            /// Every limit.
            pub const ALL: [Self; [$($key),*].len()] = [$(Self::$limit),*];

            /// Returns the name in tables and records; at most 8 characters for a limit of a
            /// kernel.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$limit => $word),* }
            }

            /// Returns the key in a machine file.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$limit => $key),* }
            }
        }
    };
}

limits! {
    /// Integer additions and comparisons, on units that execute nothing else.
    Additions = "additions", "additions";
    /// A multiplier that is not pipelined.
    BlockingMultiplier = "blocking_multiplies", "blocking multiplier";
    /// Fused multiply-adds and additions of 64-bit floating-point numbers.
    Fp64 = "fp64_operations", "fp64";
    /// Instructions of any kind that issue.
    Issue = "issue_slots", "issue";
    /// Latencies of multiplies that do not overlap with other work. They are added to the largest
    /// of the other limits.
    Latency = "multiply_latencies", "latency";
    /// Loads of 64-bit words from the first-level cache.
    Loads = "loads", "loads";
    /// Loads of 512-bit registers from the first-level cache.
    LoadsZmm = "loads_zmm", "vloads";
    /// Rows of MUL with ADD and ADC: the carry chain and the multiplier together.
    MulRow = "mul_adc", "mul row";
    /// A pipelined multiplier.
    Multiplier = "multiplies", "multiplier";
    /// MULX alone: the multiplier.
    Mulx = "mulx", "mulx";
    /// A chain of dependent MULX: the digits of a reduction.
    MulxChain = "mulx_latencies", "chain";
    /// Rows of MULX with ADCX and ADOX: two carry chains and the multiplier together.
    MulxRow = "mulx_adcx_adox", "mulx row";
    /// Rows of VPMULUDQ with VPADDQ, on 256-bit registers: the vector units together.
    PmuludqRow = "vpmuludq_vpaddq_ymm", "vmul row";
    /// Rows of VPMULUDQ with VPADDQ, on 512-bit registers: the vector units together.
    PmuludqRowZmm = "vpmuludq_vpaddq_zmm", "vmul row";
    /// Loads, stores and moves between register files.
    Ports = "port_operations", "ports";
    /// All loads, including those of values that do not fit the registers. Its rate is that of
    /// [`LoadsZmm`](Self::LoadsZmm).
    Residency = "spilled_zmm", "register";
    /// Operations on 512-bit registers of any kind except loads and stores: the vector units
    /// together.
    VectorZmm = "vector_zmm", "vector";
    /// VPMADD52 on 512-bit registers: the vector multipliers.
    Vpmadd52 = "vpmadd52_zmm", "vpmadd52";
    /// VPMADD52 on 256-bit registers: the vector multipliers.
    Vpmadd52Ymm = "vpmadd52_ymm", "vpmadd52";
    /// A chain of dependent VPMADD52: the digits of a reduction.
    Vpmadd52Chain = "vpmadd52_latencies", "vchain";
}

impl Limit {
    /// Returns the limit of this key in a machine file.
    #[must_use]
    pub fn from_key(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.key() == name)
    }

    /// Returns the limit whose rate applies. For spilled registers it is the limit of loads, and
    /// for any other limit the limit itself.
    #[must_use]
    pub const fn rate_limit(self) -> Self {
        match self {
            Self::Residency => Self::LoadsZmm,
            own => own,
        }
    }

    /// Returns whether the rate of this limit is a latency: the cycles of each operation, if one
    /// operation starts after another.
    pub const fn is_in_cycles(self) -> bool {
        matches!(
            self,
            Self::BlockingMultiplier | Self::Latency | Self::MulxChain | Self::Vpmadd52Chain
        )
    }

    /// Returns whether this limit is a multiplier. A bound needs the rate of at least one
    /// multiplier.
    pub const fn is_multiplier(self) -> bool {
        matches!(
            self,
            Self::BlockingMultiplier
                | Self::Fp64
                | Self::MulRow
                | Self::Multiplier
                | Self::Mulx
                | Self::PmuludqRow
                | Self::PmuludqRowZmm
                | Self::Vpmadd52
                | Self::Vpmadd52Ymm
        )
    }

    /// Returns the limits that apply to a form.
    const fn new(form: Form) -> &'static [Self] {
        match form {
            Form::Blocks52 | Form::Madd52 | Form::Karatsuba52 => &[Self::Vpmadd52],
            Form::NarrowMadd52 => &[Self::Vpmadd52Ymm],
            Form::Halves52 => &[Self::PmuludqRow],
            Form::WideHalves52 => &[Self::PmuludqRowZmm],
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
    /// Returns these amounts; amounts of zero are dropped.
    pub fn new(amounts: impl IntoIterator<Item = (Limit, f64)>) -> Self {
        Self(amounts.into_iter().filter(|(_, amount)| *amount > 0.0).collect())
    }

    /// Returns this demand divided by a number of pieces.
    #[must_use]
    pub fn over(mut self, pieces: f64) -> Self {
        self.0.iter_mut().for_each(|(_, amount)| *amount /= pieces);
        self
    }

    /// Returns this demand, repeated `times` times.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.0.iter_mut().for_each(|(_, amount)| *amount *= f64::from(times));
        Self::new(self.0)
    }

    /// Returns the sum of two demands.
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

    /// Returns the amounts; none is zero.
    pub fn amounts(&self) -> &[(Limit, f64)] {
        &self.0
    }

    /// Returns the demand of `count` multiply instructions of a form.
    #[must_use]
    pub fn multiplies(form: Form, count: Count) -> Self {
        Self::new(Limit::new(form).iter().map(|limit| (*limit, count.get())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_their_column() {
        for limit in Form::ALL.into_iter().flat_map(Limit::new) {
            assert!(limit.word().len() <= 8, "{limit}");
        }
    }
}
