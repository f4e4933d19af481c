//! The products of 2010, measured here: schoolbook and Karatsuba, word by word and single step.

use tollgate_internet::Method;
use tollgate_mont::{Kernel as _, LimbKernel};
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Topic, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::contenders::Contender;
use crate::error::CliError;
use crate::figures::{Figures, subject};
use crate::measure::{cycles, measure};
use crate::progress::{self, Progress};
use crate::run::Run;
use crate::verbs::kernel::chain::{self, CALLS, Call};

/// Sizes of the primes of RSA-1024 and RSA-2048.
const SIZES: [u32; 2] = [512, 1024];

/// Measures a product and a square of each method, and of the engine's kernel on limbs. After
/// Ctrl-C, returns the records of the completed sizes.
pub(super) fn collect(seconds: f64, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let _progress = Progress::new("internet");
    let sizes = SIZES.map(|bits| (format!("{bits} bits"), bits)).to_vec();
    run.rows(seconds, sizes, |run, label, bits| {
        let (subjects, mut contenders) = entries(bits)?;
        let notes = &mut run.notes;
        let measured = measure(label, &mut contenders, seconds, notes, progress::part)?;
        let Some(series) = measured else { return Ok(None) };
        let figures = Figures::of_row(&run.host, seconds);
        let record = |(place, subject): (usize, Subject)| {
            let cycles = cycles(&series, place)?;
            Ok(figures.measured(&subject, word::CYCLES_PER_CALL, Unit::Cycles, cycles))
        };
        subjects.into_iter().enumerate().map(record).collect::<Result<Vec<_>, CliError>>().map(Some)
    })
}

fn entries(bits: u32) -> Result<(Vec<Subject>, Vec<Contender>), CliError> {
    let (mut subjects, mut contenders) = (Vec::new(), Vec::new());
    let engine = LimbKernel::best().on_limbs();
    let mut add = |name: &'static str, topic: fn(String) -> Topic, run| {
        let parameters = [(word::BITS, bits), (word::K, bits / 64)];
        subjects.push(subject(topic(name.to_owned()), parameters)?);
        contenders.push(Contender { by: name, batch: Some(CALLS), kernel: None, run });
        Ok::<(), CliError>(())
    };
    for method in Method::ALL {
        add(method.name(), Topic::Variant, chain::method(method, Call::Product, bits))?;
        if method.square_name() != method.name() {
            add(method.square_name(), Topic::Variant, chain::method(method, Call::Square, bits))?;
        }
    }
    add(engine.name(), Topic::Kernel, chain::limbs(engine, Call::Product, bits))?;
    if engine.square_name() != engine.name() {
        add(engine.square_name(), Topic::Kernel, chain::limbs(engine, Call::Square, bits))?;
    }
    Ok((subjects, contenders))
}

/// Returns the cycles of each routine, and its time relative to schoolbook.
pub(super) fn table(records: &[Record]) -> String {
    let columns = [
        Column::words("product or square", 24),
        Column::figures("bits", 5),
        Column::figures("cycles", 8),
        Column::figures("to schoolbook", 14),
    ];
    let is_product = |record: &Record| {
        record.subject.topic().kernel().is_some_and(|name| name.starts_with("amm"))
    };
    let row = |record: &Record| {
        let bits = record.subject.parameter(word::BITS);
        let first = records.iter().find(|first| {
            first.subject.parameter(word::BITS) == bits && is_product(first) == is_product(record)
        });
        let cycles = record.estimate.point();
        vec![
            record.subject.topic().kernel().unwrap_or_default().to_owned(),
            bits.unwrap_or_default().to_owned(),
            format!("{cycles:.0}"),
            first.map_or_else(String::new, |first| {
                format!("{:.2}", cycles / first.estimate.point())
            }),
        ]
    };
    let note = "amm: a product, ams: a square; sos: schoolbook, reduced word by word; cios: rows \
                of product and reduction in turn; the last rows are the engine's kernel";
    grid(&columns, records.iter().map(row).collect()) + &wrapped(note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_gives_the_right_result_again_and_again() {
        for bits in [128, 512] {
            for mut contender in entries(bits).unwrap().1 {
                (contender.run)().unwrap();
                (contender.run)().unwrap();
            }
        }
    }
}
