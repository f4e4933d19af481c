//! A Montgomery product on a machine: the best way that it has, and its bound.

use tollgate_record::Cycles;

use crate::form::Form;
use crate::limit::{Bound, Demand, LeftOut, Limit, Weighed};
use crate::machine::Machine;
use crate::routine::Routine;
use crate::sourced::Mark;

/// The model's word on one Montgomery product of one pair of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// The fewest cycles of one number, and what binds.
    pub bound: Bound,
    /// What each limit alone asks for.
    pub limits: Vec<Bound>,
    /// Numbers that a call computes side by side.
    pub lanes: u32,
    /// What the figure rests on, in words.
    pub assumption: String,
    /// The rates and uses that it was computed from, each with its source.
    pub from: Vec<String>,
    /// What they are worth: the least of their marks.
    pub mark: Mark,
    /// The limits that were not looked at, because nobody knows the rate.
    pub left_out: Vec<LeftOut>,
}

impl Machine {
    /// A product of `bits` bits, made in the way that takes the fewest cycles for one number: by a
    /// routine of the machine file, or by a kernel of this project. `None` if the machine has no
    /// way of which all rates are known.
    #[must_use]
    pub fn product(&self, bits: u32) -> Option<Product> {
        let routines = self.routines.iter().filter_map(|routine| self.by_routine(routine, bits));
        let forms = Form::ALL.into_iter().filter_map(|form| self.by_form(form, bits));
        routines.chain(forms).min_by(|x, y| {
            let cycles = |product: &Product| product.bound.cycles.get();
            cycles(x).total_cmp(&cycles(y))
        })
    }

    fn by_routine(&self, routine: &Routine, bits: u32) -> Option<Product> {
        let Weighed { bound, limits, left_out } = self.weigh(&routine.product(bits)?)?;
        let mut from = self.rates_behind(&limits);
        from.extend(limits.iter().filter_map(|alone| {
            Some(format!("{} = {}", alone.limit.counted(), routine.uses.get(&alone.limit)?))
        }));
        let digit = &routine.digit;
        from.push(format!("digit = {} bits, {}", digit.bits, digit.source));
        let marks = limits.iter().filter_map(|alone| routine.uses.get(&alone.limit)?.mark());
        let mark = marks.chain(self.marks(&limits)).min().unwrap_or_default();
        let assumption = routine.assumption.clone();
        Some(Product { bound, lanes: 1, assumption, from, mark, limits, left_out })
    }

    fn by_form(&self, form: Form, bits: u32) -> Option<Product> {
        let lanes = f64::from(form.lanes());
        let demand = Demand::multiplies(form, form.product(form.words(bits)));
        let mut limits = self.limits(&demand)?;
        for alone in &mut limits {
            alone.cycles = alone.cycles / lanes;
        }
        let bound = Bound::of(&limits)?;
        let shared = match form.lanes() {
            1 => String::new(),
            lanes => format!("; {lanes} numbers share a call, all lanes full"),
        };
        let assumption = format!(
            "a bound: the {} product of {} words, and nothing but its {} counted{shared}",
            if form == Form::Karatsuba52 { "Karatsuba" } else { "schoolbook" },
            form.words(bits),
            bound.limit,
        );
        Some(Product {
            bound,
            lanes: form.lanes(),
            assumption,
            from: self.rates_behind(&limits),
            mark: self.marks(&limits).min().unwrap_or_default(),
            limits,
            left_out: Vec::new(),
        })
    }

    /// The rates behind limits, each under its name and with its source.
    #[must_use]
    pub fn rates_behind(&self, limits: &[Bound]) -> Vec<String> {
        let named =
            |limit: Limit| Some(format!("{} = {}", limit.counted(), self.rates.get(&limit)?));
        limits.iter().filter_map(|alone| named(alone.limit.rated())).collect()
    }

    /// What these rates are worth.
    pub(crate) fn marks(&self, limits: &[Bound]) -> impl Iterator<Item = Mark> {
        limits.iter().filter_map(|alone| self.rates.get(&alone.limit.rated())?.mark())
    }
}

impl Product {
    /// What one limit alone asks for.
    #[must_use]
    pub fn alone(&self, limit: Limit) -> Option<Cycles> {
        self.limits.iter().find(|alone| alone.limit == limit).map(|alone| alone.cycles)
    }
}
