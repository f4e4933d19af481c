//! What limits: each limit is a function from counts to cycles, the bound is the largest.

use core::fmt;

use serde::{Deserialize, Serialize};
use tollgate_record::Cycles;

use crate::form::{Count, Form};
use crate::machine::Machine;

/// A resource that binds. A machine file calls it by what is counted: its rate and its uses have
/// the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// A multiplier that starts nothing while it works.
    #[serde(rename = "blocking_multiplies")]
    BlockingMultiplier,
    /// Instructions of any kind that start.
    #[serde(rename = "issue_slots")]
    Issue,
    /// Multiplies that others wait for, where nothing else is there to do: added to the largest of
    /// the other limits, not hidden behind it.
    #[serde(rename = "multiply_latencies")]
    Latency,
    /// Rows of MUL with ADD and ADC: the carry chain and the multiplier together.
    #[serde(rename = "mul_adc")]
    MulRow,
    /// A pipelined multiplier.
    #[serde(rename = "multiplies")]
    Multiplier,
    /// The multiplier, MULX alone.
    #[serde(rename = "mulx")]
    Mulx,
    /// Rows of MULX with ADCX and ADOX: two carry chains and the multiplier together.
    #[serde(rename = "mulx_adcx_adox")]
    MulxRow,
    /// Rows of VPMULUDQ with VPADDQ, on 256-bit registers: the vector units together.
    #[serde(rename = "vpmuludq_vpaddq_ymm")]
    PmuludqRow,
    /// Loads, stores and moves between register files.
    #[serde(rename = "port_operations")]
    Ports,
    /// The vector multipliers, VPMADD52 on 512-bit registers.
    #[serde(rename = "vpmadd52_zmm")]
    Vpmadd52,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 10] = [
        Self::BlockingMultiplier,
        Self::Issue,
        Self::Latency,
        Self::MulRow,
        Self::Multiplier,
        Self::Mulx,
        Self::MulxRow,
        Self::PmuludqRow,
        Self::Ports,
        Self::Vpmadd52,
    ];

    /// The name in tables and records; at most 8 characters where it binds a [`Form`].
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::BlockingMultiplier => "blocking multiplier",
            Self::Issue => "issue",
            Self::Latency => "latency",
            Self::MulRow => "mul row",
            Self::Multiplier => "multiplier",
            Self::Mulx => "mulx",
            Self::MulxRow => "mulx row",
            Self::PmuludqRow => "vmul row",
            Self::Ports => "ports",
            Self::Vpmadd52 => "vpmadd52",
        }
    }

    /// The name in a machine file.
    #[must_use]
    pub const fn counted(self) -> &'static str {
        match self {
            Self::BlockingMultiplier => "blocking_multiplies",
            Self::Issue => "issue_slots",
            Self::Latency => "multiply_latencies",
            Self::MulRow => "mul_adc",
            Self::Multiplier => "multiplies",
            Self::Mulx => "mulx",
            Self::MulxRow => "mulx_adcx_adox",
            Self::PmuludqRow => "vpmuludq_vpaddq_ymm",
            Self::Ports => "port_operations",
            Self::Vpmadd52 => "vpmadd52_zmm",
        }
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

impl Machine {
    /// What each limit alone asks for. `None` if the rate of one of them is unknown: a bound that
    /// leaves a limit out would still be one, but its name would be a guess.
    #[must_use]
    pub fn limits(&self, demand: &Demand) -> Option<Vec<Bound>> {
        let alone = |&(limit, amount): &(Limit, f64)| {
            let cycles = self.rates.get(&limit)?.cycles(amount)?;
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
    use crate::sourced::Rate;

    fn machine(rates: impl IntoIterator<Item = (Limit, Rate)>) -> Machine {
        Machine::with_rates("a test", rates)
    }

    fn rate(value: f64) -> Rate {
        Rate::per_cycle(value, "a test").unwrap()
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
            (Limit::Latency, Rate::cycles_each(7.0, "a test").unwrap()),
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
