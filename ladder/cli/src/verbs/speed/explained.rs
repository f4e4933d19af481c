//! Explains rung 2 by rung 1: the calls of the exponentiations times the measured cost of each.

use tollgate_processor::Calls;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Subject, Unit};

use crate::bounds::{self, Family};
use crate::contenders::{Contender, Job};
use crate::error::CliError;
use crate::figures::Figures;
use crate::keys::KeyOperation;
use crate::verbs::kernel;

/// Predicts the cycles of one of our operations from the kernel figures in `known`. `None` if a
/// figure is missing, if no kernel is called, or if the contender is a library.
pub(crate) fn prediction(
    job: &Job,
    contender: &Contender,
    subject: &Subject,
    figures: &Figures<'_>,
    known: &[Record],
) -> Result<Option<Record>, CliError> {
    let Some(family) = contender.kernel else { return Ok(None) };
    let (calls, bits) = bounds::calls_of_operation(family, &job.key, job.what);
    if !bounds::is_measured(family, bits, job.what) {
        return Ok(None);
    }
    let (mut from, mut parts) = (Vec::new(), Vec::new());
    for (name, count) in [(family.square_name(), calls.squares), (family.name(), calls.products)] {
        let Some(record) = kernel::cycles_per_call(known, &kernel::subject(family, name, bits)?)
        else {
            return Ok(None);
        };
        from.push(record.subject.to_string());
        parts.push(record.estimate.scaled(f64::from(count))?);
    }
    from.dedup();
    let share = share_of_call(family, bits, contender.batch.unwrap_or(1), job.what);
    let estimate = sum(&parts)?.scaled(share)?;
    let figures = figures.with([(word::ASSUMPTION, assumption(calls, family, bits))]);
    let measured = figures.measured(subject, word::CYCLES_PER_OPERATION, Unit::Cycles, estimate);
    let kind = Kind::Predicted { by: word::KERNEL_RUNG.to_owned(), from };
    Ok(Some(Record { kind, ..measured }))
}

/// Returns the share of a call that one exponentiation of a batch takes. A call has a fixed number
/// of lanes, and costs the same if some of them are empty. If both primes of a signature fit in
/// lane blocks, one call processes both primes.
fn share_of_call(family: Family, bits: u32, batch: u32, what: KeyOperation) -> f64 {
    let numbers = family.numbers(bits);
    match family {
        Family::Blocks(_) if what == KeyOperation::Sign => 1.0 / f64::from(numbers),
        Family::Blocks(_) | Family::Limbs(_) => 1.0,
        Family::Lanes(_) => f64::from(batch.div_ceil(numbers)) / f64::from(batch),
    }
}

/// Returns the sum, with the widest interval that the parts allow.
fn sum(parts: &[Estimate]) -> Result<Estimate, tollgate_record::BadEstimate> {
    let add = |of: fn(&Estimate) -> f64| parts.iter().map(of).sum();
    let samples = parts.iter().map(Estimate::samples).min().unwrap_or(1);
    let interval = (add(|part| part.interval().0), add(|part| part.interval().1));
    Estimate::new(add(Estimate::point), interval, samples)
}

fn assumption(calls: Calls, family: Family, bits: u32) -> String {
    format!(
        "{} squares and {} products of {} words, warm; no blinding, check, padding, \
         recombination",
        calls.squares,
        calls.products,
        family.words(bits)
    )
}

#[cfg(test)]
mod tests {
    use tollgate_mont::{LaneKernel, LimbKernel};

    use super::*;

    #[test]
    fn lanes_are_shared_and_limbs_are_not() {
        let lanes = Family::Lanes(LaneKernel::Portable);
        let shares =
            [8, 16, 4, 9].map(|batch| share_of_call(lanes, 1024, batch, KeyOperation::Sign));
        assert_eq!(shares, [0.125, 0.125, 0.25, 2.0 / 9.0]);
        assert_eq!(
            share_of_call(Family::Limbs(LimbKernel::Portable), 1024, 8, KeyOperation::Sign),
            1.0
        );
    }

    #[test]
    fn intervals_add_up() {
        let parts = [(10.0, (9.0, 12.0), 5), (1.0, (1.0, 1.0), 3)]
            .map(|(point, interval, samples)| Estimate::new(point, interval, samples).unwrap());
        assert_eq!(sum(&parts).unwrap(), Estimate::new(11.0, (10.0, 13.0), 3).unwrap());
    }
}
