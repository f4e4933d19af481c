//! What limits: each limit is a function from counts to cycles, the bound is the largest.

use core::fmt;

use serde::{Deserialize, Serialize};
use tollgate_record::Cycles;

use crate::form::{Count, Form};
use crate::machine::Machine;
use crate::sourced::Rate;

/// A resource that binds. A machine file calls it by what is counted: its rate and its uses have
/// the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Integer additions and comparisons, on units that do nothing else.
    Additions,
    /// A multiplier that starts nothing while it works.
    #[serde(rename = "blocking_multiplies")]
    BlockingMultiplier,
    /// Multiplications with addition of floating-point numbers of 64 bits.
    #[serde(rename = "fp64_operations")]
    Fp64,
    /// Instructions of any kind that start.
    #[serde(rename = "issue_slots")]
    Issue,
    /// Multiplies that others wait for, where nothing else is there to do: added to the largest of
    /// the other limits, not hidden behind it.
    #[serde(rename = "multiply_latencies")]
    Latency,
    /// Words of 64 bits that are read from the first cache.
    Loads,
    /// Registers of 512 bits that are read from the first cache.
    LoadsZmm,
    /// Rows of MUL with ADD and ADC: the carry chain and the multiplier together.
    #[serde(rename = "mul_adc")]
    MulRow,
    /// A pipelined multiplier.
    #[serde(rename = "multiplies")]
    Multiplier,
    /// The multiplier, MULX alone.
    #[serde(rename = "mulx")]
    Mulx,
    /// MULX after MULX, each waiting for the one before: the digits of a reduction.
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
    /// Loads of what does not stay in registers because there are too few, and of what is loaded
    /// anyway. Its rate is that of the loads.
    #[serde(rename = "spilled_zmm")]
    Residency,
    /// The vector multipliers, VPMADD52 on 512-bit registers.
    #[serde(rename = "vpmadd52_zmm")]
    Vpmadd52,
    /// VPMADD52 after VPMADD52, each waiting for the one before: the digits of a reduction.
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

    /// The name in tables and records; at most 8 characters where it binds a kernel.
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

    /// The name in a machine file.
    #[must_use]
    pub const fn counted(self) -> &'static str {
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

    /// The limit of this name in a machine file.
    #[must_use]
    pub fn of_counted(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.counted() == name)
    }

    /// Whose rate it is bound by: its own, but that spilled registers come by the loads.
    #[must_use]
    pub const fn rated(self) -> Self {
        match self {
            Self::Residency => Self::LoadsZmm,
            own => own,
        }
    }

    /// Whether its rate is in cycles for each, one after the other.
    #[must_use]
    pub const fn is_in_cycles(self) -> bool {
        matches!(
            self,
            Self::BlockingMultiplier | Self::Latency | Self::MulxChain | Self::Vpmadd52Chain
        )
    }

    /// Whether it multiplies: without the rate of what multiplies there is no bound worth its name.
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

    /// The limits that a form meets.
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

/// How much of each resource a piece of work takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand(Vec<(Limit, f64)>);

impl Demand {
    /// Of so much of each. What takes nothing of a resource does not meet its limit.
    pub fn new(amounts: impl IntoIterator<Item = (Limit, f64)>) -> Self {
        Self(amounts.into_iter().filter(|(_, amount)| *amount > 0.0).collect())
    }

    /// The share of one in so many pieces of work.
    #[must_use]
    pub fn over(mut self, pieces: f64) -> Self {
        self.0.iter_mut().for_each(|(_, amount)| *amount /= pieces);
        self
    }

    /// This work, so many times.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.0.iter_mut().for_each(|(_, amount)| *amount *= f64::from(times));
        Self::new(self.0)
    }

    /// This work and another.
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

    /// How much of each; none is zero.
    #[must_use]
    pub fn amounts(&self) -> &[(Limit, f64)] {
        &self.0
    }

    /// Multiply instructions of a form, in the rows that they come in.
    #[must_use]
    pub fn multiplies(form: Form, count: Count) -> Self {
        Self::new(Limit::of(form).iter().map(|limit| (*limit, count.get())))
    }
}

/// The fewest cycles, and why not fewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Core cycles.
    pub cycles: Cycles,
    /// What binds.
    pub limit: Limit,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, limited by {}", self.cycles, self.limit)
    }
}

impl Bound {
    /// The bound that several limits make together: the largest, plus the latency that nothing
    /// hides. Its name is that of the largest of all, the first of equals.
    #[must_use]
    pub fn of(limits: &[Self]) -> Option<Self> {
        let mut most: Option<Self> = None;
        let (mut hidden, mut exposed) = (Cycles::default(), Cycles::default());
        for alone in limits {
            if most.is_none_or(|most| alone.cycles > most.cycles) {
                most = Some(*alone);
            }
            if alone.limit == Limit::Latency {
                exposed = exposed + alone.cycles;
            } else if alone.cycles > hidden {
                hidden = alone.cycles;
            }
        }
        most.map(|most| Self { cycles: hidden + exposed, ..most })
    }
}

/// A limit that was not looked at, because nobody knows the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// Which.
    pub limit: Limit,
    /// What it asks for at most, where the rate is at least something.
    pub at_most: Option<Cycles>,
}

/// A piece of work on a machine: each limit alone, the bound, and what was left out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// The fewest cycles, and what binds.
    pub bound: Bound,
    /// What each limit alone asks for.
    pub limits: Vec<Bound>,
    /// The limits of which the rate is unknown. The bound holds without them; its name may be
    /// another's where one of them may ask for more.
    pub left_out: Vec<LeftOut>,
}

impl Weighed {
    /// Over so many numbers that share the work.
    #[must_use]
    pub fn shared_by(mut self, numbers: u32) -> Self {
        let numbers = f64::from(numbers);
        self.bound.cycles = self.bound.cycles / numbers;
        self.limits.iter_mut().for_each(|alone| alone.cycles = alone.cycles / numbers);
        for left in &mut self.left_out {
            left.at_most = left.at_most.map(|most| most / numbers);
        }
        self
    }

    /// What one limit alone asks for.
    #[must_use]
    pub fn alone(&self, limit: Limit) -> Option<Cycles> {
        self.limits.iter().find(|alone| alone.limit == limit).map(|alone| alone.cycles)
    }
}

impl Machine {
    /// The bound of this work by all limits of which the rate is known. `None` if nothing is known
    /// of what multiplies.
    ///
    /// Of a latency that is unknown, but at least something, the least counts: the bound still is
    /// one. Of a rate that is at least something, nothing counts.
    #[must_use]
    pub fn weigh(&self, demand: &Demand) -> Option<Weighed> {
        let (mut limits, mut left_out) = (Vec::new(), Vec::new());
        for &(limit, amount) in &demand.0 {
            let rate = self.rates.get(&limit.rated());
            let least = rate.and_then(Rate::least);
            let known = rate.and_then(|rate| rate.cycles(amount));
            let known = known.or(least.filter(|_| limit.is_in_cycles()).map(|each| each * amount));
            match known {
                Some(cycles) => limits.push(Bound { cycles: Cycles::new(cycles), limit }),
                None => {
                    let at_most = least.map(|rate| Cycles::new(amount / rate));
                    left_out.push(LeftOut { limit, at_most });
                }
            }
        }
        if !limits.iter().any(|alone| alone.limit.is_multiplier()) {
            return None;
        }
        Some(Weighed { bound: Bound::of(&limits)?, limits, left_out })
    }

    /// What each limit alone asks for. `None` if the rate of one of them is unknown: a bound that
    /// leaves a limit out would still be one, but its name would be a guess.
    #[must_use]
    pub fn limits(&self, demand: &Demand) -> Option<Vec<Bound>> {
        let alone = |&(limit, amount): &(Limit, f64)| {
            let cycles = self.rates.get(&limit.rated())?.cycles(amount)?;
            Some(Bound { cycles: Cycles::new(cycles), limit })
        };
        demand.0.iter().map(alone).collect()
    }

    /// The fewest cycles in which this machine can finish `count` multiply instructions of `form`:
    /// the largest of its limits. `None` if the rate of one of them is unknown.
    #[must_use]
    pub fn bound(&self, form: Form, count: Count) -> Option<Bound> {
        Bound::of(&self.limits(&Demand::multiplies(form, count))?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::sourced::Mark;

    fn machine(rates: impl IntoIterator<Item = (Limit, Rate)>) -> Machine {
        Machine::with_rates("a test", rates)
    }

    fn rate(value: f64) -> Rate {
        Rate::per_cycle(value, Mark::Assumed, "a test").unwrap()
    }

    #[test]
    fn the_largest_limit_binds_and_keeps_its_name() {
        let both = |mulx, row| machine([(Limit::Mulx, rate(mulx)), (Limit::MulxRow, rate(row))]);
        let rows = both(1.5, 0.75).bound(Form::Mulx, Count(600));
        assert_eq!(rows.unwrap(), Bound { cycles: Cycles::new(800.0), limit: Limit::MulxRow });
        let multiplier = both(0.5, 0.75).bound(Form::Mulx, Count(600));
        assert_eq!(multiplier.unwrap(), Bound { cycles: Cycles::new(1200.0), limit: Limit::Mulx });
    }

    #[test]
    fn latency_is_added_to_the_largest_and_binds_where_it_is_larger() {
        let machine = machine([
            (Limit::Latency, Rate::cycles_each(7.0, Mark::Assumed, "a test").unwrap()),
            (Limit::Multiplier, rate(2.0)),
            (Limit::Ports, rate(1.0)),
        ]);
        let bound = |latencies| {
            let amounts =
                [(Limit::Latency, latencies), (Limit::Multiplier, 30.0), (Limit::Ports, 10.0)];
            Bound::of(&machine.limits(&Demand::new(amounts)).unwrap()).unwrap()
        };
        assert_eq!(bound(0.0), Bound { cycles: Cycles::new(15.0), limit: Limit::Multiplier });
        assert_eq!(bound(2.0), Bound { cycles: Cycles::new(29.0), limit: Limit::Multiplier });
        assert_eq!(bound(3.0), Bound { cycles: Cycles::new(36.0), limit: Limit::Latency });
    }

    #[test]
    fn an_unknown_or_absent_rate_gives_no_bound() {
        for machine in [
            machine([(Limit::Mulx, rate(1.5)), (Limit::MulxRow, Rate::unknown())]),
            machine([(Limit::Mulx, rate(1.5))]),
        ] {
            for form in Form::ALL {
                assert_eq!(machine.bound(form, Count(600)), None);
            }
        }
    }

    #[test]
    fn no_work_has_no_limit() {
        assert_eq!(machine([(Limit::Vpmadd52, rate(2.0))]).bound(Form::Madd52, Count(0)), None);
    }

    #[test]
    fn names_fit_their_column() {
        for limit in Form::ALL.into_iter().flat_map(Limit::of) {
            assert!(limit.word().len() <= 8, "{limit}");
        }
    }

    #[test]
    fn a_file_calls_a_limit_as_records_do() {
        for limit in Limit::ALL {
            let text = toml::Value::try_from(limit).unwrap();
            assert_eq!(text.as_str(), Some(limit.counted()));
        }
    }
}
