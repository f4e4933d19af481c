//! What limits: each limit is a function from counts to cycles, the bound is the largest.

use core::fmt;

use tollgate_record::Cycles;

use crate::form::{Count, Form};
use crate::machine::Machine;

/// A resource that binds, by the name that tables print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Rows of MUL with ADD and ADC: the carry chain and the multiplier together.
    MulRow,
    /// The multiplier, MULX alone.
    Mulx,
    /// Rows of MULX with ADCX and ADOX: two carry chains and the multiplier together.
    MulxRow,
    /// The vector multipliers, VPMADD52 on 512-bit registers.
    Vpmadd52,
}

impl Limit {
    /// The name in tables and records, at most 8 characters.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::MulRow => "mul row",
            Self::Mulx => "mulx",
            Self::MulxRow => "mulx row",
            Self::Vpmadd52 => "vpmadd52",
        }
    }

    /// The limits that a form meets.
    const fn of(form: Form) -> &'static [Self] {
        match form {
            Form::Blocks52 | Form::Madd52 => &[Self::Vpmadd52],
            Form::Mul | Form::Mul52 => &[Self::MulRow],
            Form::Mulx => &[Self::MulxRow, Self::Mulx],
        }
    }

    /// Cycles that this limit alone asks for; `None` where the machine's rate is unknown.
    fn cycles(self, count: Count, machine: &Machine) -> Option<Cycles> {
        let rates = &machine.rates;
        let rate = match self {
            Self::MulRow => &rates.mul_adc_per_cycle,
            Self::Mulx => &rates.mulx_per_cycle,
            Self::MulxRow => &rates.mulx_adcx_adox_per_cycle,
            Self::Vpmadd52 => &rates.vpmadd52_zmm_per_cycle,
        };
        Some(Cycles::new(count.get() / rate.value()?))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
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

impl Machine {
    /// The fewest cycles in which this machine can finish `count` multiply instructions of `form`:
    /// the largest of its limits. `None` if one of them is unknown: a bound that leaves a limit out
    /// would still be one, but its name would be a guess.
    #[must_use]
    pub fn bound(&self, form: Form, count: Count) -> Option<Bound> {
        let mut most: Option<Bound> = None;
        for &limit in Limit::of(form) {
            let cycles = limit.cycles(count, self)?;
            if most.is_none_or(|bound| cycles > bound.cycles) {
                most = Some(Bound { cycles, limit });
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::machine::{Rate, Rates};

    fn machine(mulx: Rate, row: Rate) -> Machine {
        Machine {
            name: "a test".into(),
            rates: Rates {
                vpmadd52_zmm_per_cycle: Rate::unknown(),
                mulx_per_cycle: mulx,
                mulx_adcx_adox_per_cycle: row,
                mul_adc_per_cycle: Rate::unknown(),
            },
        }
    }

    fn rate(value: f64) -> Rate {
        Rate::known(value, "a test").unwrap()
    }

    #[test]
    fn the_largest_limit_binds_and_keeps_its_name() {
        let rows = machine(rate(1.5), rate(0.75)).bound(Form::Mulx, Count(600));
        assert_eq!(rows.unwrap(), Bound { cycles: Cycles::new(800.0), limit: Limit::MulxRow });
        let multiplier = machine(rate(0.5), rate(0.75)).bound(Form::Mulx, Count(600));
        assert_eq!(multiplier.unwrap(), Bound { cycles: Cycles::new(1200.0), limit: Limit::Mulx });
    }

    #[test]
    fn an_unknown_rate_gives_no_bound() {
        let machine = machine(rate(1.5), Rate::unknown());
        for form in [Form::Blocks52, Form::Madd52, Form::Mul, Form::Mul52, Form::Mulx] {
            assert_eq!(machine.bound(form, Count(600)), None);
        }
    }

    #[test]
    fn names_fit_their_column() {
        for limit in [Limit::MulRow, Limit::Mulx, Limit::MulxRow, Limit::Vpmadd52] {
            assert!(limit.word().len() <= 8, "{limit}");
        }
    }
}
