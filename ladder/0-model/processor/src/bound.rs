//! The bound of a piece of work on a machine: the largest of its limits, and its name.

use core::fmt;

use tollgate_record::Cycles;

use crate::form::{Count, Form};
use crate::limit::{Demand, Limit};
use crate::machine::Machine;
use crate::sourced::Rate;

/// The minimum number of cycles, and the limit that sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Core cycles.
    pub cycles: Cycles,
    /// The limit that binds.
    pub limit: Limit,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, limited by {}", self.cycles, self.limit)
    }
}

impl Bound {
    /// Returns the bound of several limits together: the largest limit, plus [`Limit::Latency`],
    /// which does not overlap with the other limits. The bound has the name of the largest limit.
    /// If several limits are equally large, the first of them gives the name.
    #[must_use]
    pub fn new(limits: &[Self]) -> Option<Self> {
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

/// A limit whose rate is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnknownLimit {
    /// The limit.
    pub limit: Limit,
    /// The largest number of cycles that this limit may take. It is known if the machine file gives
    /// a lower limit of the rate.
    pub at_most: Option<Cycles>,
}

/// A piece of work on a machine: the bound, each limit alone, and the unknown limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The minimum number of cycles, and the limit that sets it.
    pub bound: Bound,
    /// The cycles of each limit alone.
    pub limits: Vec<Bound>,
    /// The limits whose rate is unknown. The bound is valid without them, but one of them may be
    /// larger than the bound.
    pub unknown: Vec<UnknownLimit>,
}

impl Analysis {
    /// Returns this bound divided by `numbers`, for numbers that are computed together.
    #[must_use]
    pub fn shared_by(mut self, numbers: u32) -> Self {
        let numbers = f64::from(numbers);
        self.bound.cycles = self.bound.cycles / numbers;
        self.limits.iter_mut().for_each(|alone| alone.cycles = alone.cycles / numbers);
        for unknown in &mut self.unknown {
            unknown.at_most = unknown.at_most.map(|most| most / numbers);
        }
        self
    }

    /// Returns the cycles of one limit alone.
    pub fn alone(&self, limit: Limit) -> Option<Cycles> {
        self.limits.iter().find(|alone| alone.limit == limit).map(|alone| alone.cycles)
    }
}

impl Machine {
    /// Returns the bound of this work by all limits with a known rate. `None` if no multiplier has
    /// a known rate.
    ///
    /// If a latency is unknown but has a lower limit, this lower limit counts, so the result
    /// remains a lower bound. Other unknown rates do not count.
    pub fn analyse(&self, demand: &Demand) -> Option<Analysis> {
        let (mut limits, mut unknown) = (Vec::new(), Vec::new());
        for &(limit, amount) in demand.amounts() {
            let rate = self.rates.get(&limit.rate_limit());
            let least = rate.and_then(Rate::least);
            let known = rate.and_then(|rate| rate.cycles(amount));
            let known = known.or(least.filter(|_| limit.is_in_cycles()).map(|each| each * amount));
            match known {
                Some(cycles) => limits.push(Bound { cycles: Cycles::new(cycles), limit }),
                None => {
                    let at_most = least.map(|rate| Cycles::new(amount / rate));
                    unknown.push(UnknownLimit { limit, at_most });
                }
            }
        }
        if !limits.iter().any(|alone| alone.limit.is_multiplier()) {
            return None;
        }
        Some(Analysis { bound: Bound::new(&limits)?, limits, unknown })
    }

    /// Returns the cycles of each limit alone. `None` if the rate of one limit is unknown: a bound
    /// by the other limits would be valid, but its name would be a guess.
    pub fn limits(&self, demand: &Demand) -> Option<Vec<Bound>> {
        let alone = |&(limit, amount): &(Limit, f64)| {
            let cycles = self.rates.get(&limit.rate_limit())?.cycles(amount)?;
            Some(Bound { cycles: Cycles::new(cycles), limit })
        };
        demand.amounts().iter().map(alone).collect()
    }

    /// Returns the minimum number of cycles for `count` multiply instructions of `form`, which is
    /// the largest of the form's limits. `None` if the rate of one of these limits is unknown.
    pub fn bound(&self, form: Form, count: Count) -> Option<Bound> {
        Bound::new(&self.limits(&Demand::multiplies(form, count))?)
    }
}

#[cfg(test)]
mod tests {

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
        let with_mulx =
            |mulx, row| machine([(Limit::Mulx, rate(mulx)), (Limit::MulxRow, rate(row))]);
        let rows = with_mulx(1.5, 0.75).bound(Form::Mulx, Count(600));
        assert_eq!(rows.unwrap(), Bound { cycles: Cycles::new(800.0), limit: Limit::MulxRow });
        let multiplier = with_mulx(0.5, 0.75).bound(Form::Mulx, Count(600));
        assert_eq!(multiplier.unwrap(), Bound { cycles: Cycles::new(1200.0), limit: Limit::Mulx });
    }

    #[test]
    fn latency_is_added_to_the_largest_and_binds_if_it_is_larger() {
        let machine = machine([
            (Limit::Latency, Rate::cycles_each(7.0, Mark::Assumed, "a test").unwrap()),
            (Limit::Multiplier, rate(2.0)),
            (Limit::Ports, rate(1.0)),
        ]);
        let bound = |latencies| {
            let amounts =
                [(Limit::Latency, latencies), (Limit::Multiplier, 30.0), (Limit::Ports, 10.0)];
            Bound::new(&machine.limits(&Demand::new(amounts)).unwrap()).unwrap()
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
    fn no_work_has_no_bound() {
        assert_eq!(machine([(Limit::Vpmadd52, rate(2.0))]).bound(Form::Madd52, Count(0)), None);
    }
}
