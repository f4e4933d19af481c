//! Rung 1: the best kernel.

use tollgate_record::vocabulary::{
    BITS, BOUND_CYCLES_PER_CALL, CYCLES_PER_CALL, CYCLES_PER_LANE, LIMIT,
};
use tollgate_record::{Area, Record, Subject, Unit};

use super::{Content, Figure};
use crate::figure::{number, percent};
use crate::lookup::Lookup;
use crate::lookup::Origin::{Measured, Predicted};

/// The size of the primes of RSA-2048.
const SIZE: &str = "1024";

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let lookup = Lookup(records);
    let mut rows = Vec::new();
    let mut sentences = Vec::new();
    if let Some(subject) = best(lookup) {
        let name = subject.topic().kernel().unwrap_or_default();
        let bits = subject.parameter(BITS).unwrap_or("?");
        let bound = lookup.record(Predicted, subject, BOUND_CYCLES_PER_CALL, Unit::Cycles);
        let call = lookup.record(Measured, subject, CYCLES_PER_CALL, Unit::Cycles);
        let row = Figure::new(format!("{name}, {bits} bits"), Unit::Cycles, "cycles").shown();
        rows.push(row.bound(bound).measured(call));
        if let (Some(bound), Some(call)) = (bound, call) {
            let (bound_cycles, cycles) = (bound.estimate.point(), call.estimate.point());
            sentences.push(format!(
                "One call of {name} takes {} cycles of which its bound explains {}; what limits \
                 it: {}.",
                number(cycles, Unit::Cycles),
                percent(bound_cycles, cycles),
                bound.conditions.get(LIMIT).map_or("unnamed", String::as_str),
            ));
        }
    }
    (rows, sentences)
}

/// Returns the product with the fewest cycles per number. If products at the size of RSA-2048's
/// primes were measured, other sizes are ignored.
fn best(lookup: Lookup<'_>) -> Option<&Subject> {
    let products: Vec<&Subject> = lookup
        .measured(Area::Kernel)
        .into_iter()
        .filter(|subject| subject.topic().kernel().is_some_and(|name| name.starts_with("amm")))
        .collect();
    let is_wanted = |subject: &&Subject| subject.parameter(BITS) == Some(SIZE);
    let wanted: Vec<&Subject> = products.iter().copied().filter(is_wanted).collect();
    let candidates = if wanted.is_empty() { products } else { wanted };
    let cycles = |subject: &Subject| {
        let find = |quantity| lookup.find(Measured, subject, quantity, Unit::Cycles);
        find(CYCLES_PER_LANE).or_else(|| find(CYCLES_PER_CALL))
    };
    candidates
        .into_iter()
        .filter_map(|subject| Some((cycles(subject)?.point(), subject)))
        .min_by(|x, y| x.0.total_cmp(&y.0))
        .map(|(_, subject)| subject)
}
