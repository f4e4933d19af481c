//! The bound of a Montgomery product on a machine, by its fastest method.

use tollgate_record::Cycles;

use crate::bound::{Analysis, Bound, UnknownLimit};
use crate::form::Form;
use crate::limit::{Demand, Limit};
use crate::machine::Machine;
use crate::routine::Routine;
use crate::sourced::Mark;

/// The model's prediction for one Montgomery product of one pair of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// The minimum number of cycles for one number, and the limit that sets it.
    pub bound: Bound,
    /// The cycles of each limit alone.
    pub limits: Vec<Bound>,
    /// The number of numbers that one call computes.
    pub lanes: u32,
    /// The assumption behind the figure.
    pub assumption: String,
    /// The rates and uses behind the figure, each with its source.
    pub from: Vec<String>,
    /// The least reliable mark of these rates and uses.
    pub mark: Mark,
    /// The limits whose rate is unknown.
    pub unknown: Vec<UnknownLimit>,
}

impl Machine {
    /// Returns a product of `bits` bits by the method with the fewest cycles for one number: a
    /// routine of the machine file, or a kernel of this project. `None` if no method has known
    /// rates.
    pub fn product(&self, bits: u32) -> Option<Product> {
        let routines = self.routines.iter().filter_map(|routine| self.by_routine(routine, bits));
        let forms = Form::ALL.into_iter().filter_map(|form| self.by_form(form, bits));
        routines.chain(forms).min_by(|x, y| {
            let cycles = |product: &Product| product.bound.cycles.get();
            cycles(x).total_cmp(&cycles(y))
        })
    }

    fn by_routine(&self, routine: &Routine, bits: u32) -> Option<Product> {
        let Analysis { bound, limits, unknown } = self.analyse(&routine.product(bits)?)?;
        let mut from = self.rates_behind(&limits);
        from.extend(limits.iter().filter_map(|alone| {
            Some(format!("{} = {}", alone.limit.key(), routine.uses.get(&alone.limit)?))
        }));
        let digit = &routine.digit;
        from.push(format!("digit = {} bits, {}", digit.bits, digit.source));
        let marks = limits.iter().filter_map(|alone| routine.uses.get(&alone.limit)?.mark());
        let mark = marks.chain(self.marks(&limits)).min().unwrap_or_default();
        let assumption = routine.assumption.clone();
        Some(Product { bound, lanes: 1, assumption, from, mark, limits, unknown })
    }

    fn by_form(&self, form: Form, bits: u32) -> Option<Product> {
        let lanes = f64::from(form.lanes());
        let demand = Demand::multiplies(form, form.product(form.words(bits)));
        let mut limits = self.limits(&demand)?;
        for alone in &mut limits {
            alone.cycles = alone.cycles / lanes;
        }
        let bound = Bound::new(&limits)?;
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
            unknown: Vec::new(),
        })
    }

    /// Returns the rates behind these limits, each with its key and source.
    pub fn rates_behind(&self, limits: &[Bound]) -> Vec<String> {
        let named = |limit: Limit| Some(format!("{} = {}", limit.key(), self.rates.get(&limit)?));
        limits.iter().filter_map(|alone| named(alone.limit.rate_limit())).collect()
    }

    /// Returns the marks of the rates behind these limits.
    pub(crate) fn marks(&self, limits: &[Bound]) -> impl Iterator<Item = Mark> {
        limits.iter().filter_map(|alone| self.rates.get(&alone.limit.rate_limit())?.mark())
    }
}

impl Product {
    /// Returns the cycles of one limit alone.
    pub fn alone(&self, limit: Limit) -> Option<Cycles> {
        self.limits.iter().find(|alone| alone.limit == limit).map(|alone| alone.cycles)
    }
}
