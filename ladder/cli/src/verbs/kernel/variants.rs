//! `tollgate kernel variants`: textbook algorithms for products and exponentiations, side by side.

use std::process::ExitCode;

use tollgate_mont::{Exponentiate as _, Kernel as _, LimbKernel, Modulus, Shape};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Timestamp, Topic, Unit};
use tollgate_report::variants as tables;
use tollgate_variants::{
    Call as Asked, Method, Numbers as Constants, PublicExponent, Unroll, Variant, WIDTH_MAX,
    fixed_table_words, fixed_window, scratch_words, sliding_table_words, sliding_window_vartime,
};

use super::Variants as Options;
use super::chain::{self, CALLS, Call, Numbers};
use super::symbols::Symbols;
use crate::contenders::{self, Contender};
use crate::error::CliError;
use crate::figures::{Figures, subject};
use crate::measure::{cycles, measure};
use crate::progress;
use crate::run::Run;

/// The unroll factor of squares and exponentiations.
const UNROLL: Unroll = Unroll::Four;

/// The largest modulus for exponentiations: a series with a larger modulus would be too short.
const EXPONENT_BITS_MAX: u32 = 2048;

/// The largest modulus: larger moduli take more time than the study needs.
const BITS_MAX: u32 = 4096;

/// The variant for exponentiations by windows: the simplest variant that has a formula for squares.
const WINDOWED: Variant = Variant { method: Method::Sos, unroll: UNROLL };

struct Entry {
    subject: Subject,
    quantity: Quantity,
    contender: Contender,
    /// Exact figures for the same subject.
    exact: Vec<(Quantity, Unit, usize, Kind)>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    if let Some(bits) = options.bits.iter().find(|bits| **bits > BITS_MAX) {
        bail!("--bits {bits}: variants go up to {BITS_MAX} bits");
    }
    let json = options.written.json.as_deref();
    Run::of_verb(json, "kernel", |run| collect(options, run), tables::table)
}

/// Returns published figures, and the records of every row. After Ctrl-C, returns only the records
/// of the completed rows.
fn collect(options: &Options, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let limbs: Vec<usize> = options.bits.iter().map(|bits| Shape::limbs(size(*bits)).k()).collect();
    let mut records = tables::published(Timestamp::now(), &limbs);
    run.output.records(&records)?;
    let symbols = Symbols::of_this_program();
    if symbols.is_none() {
        run.notes.add("bytes of code are unknown: this program has no table of symbols");
    }
    let row = |what: &str, bits: u32| (format!("{what}, {bits} bits"), (what == "products", bits));
    let exponents = options.bits.iter().filter(|bits| **bits <= EXPONENT_BITS_MAX);
    let products = options.bits.iter().map(|bits| row("products", *bits));
    let rows = products.chain(exponents.map(|bits| row("windows", *bits))).collect();
    records.extend(run.rows(options.seconds, rows, |run, label, (is_products, bits)| {
        let entries = if is_products { products_of(bits, symbols.as_ref()) } else { windows(bits) };
        measured(label, entries?, options.seconds, run)
    })?);
    Ok(records)
}

/// Measures a row and returns its records; `None` after Ctrl-C.
fn measured(
    label: &str,
    entries: Vec<Entry>,
    seconds: f64,
    run: &mut Run,
) -> Result<Option<Vec<Record>>, CliError> {
    let (mut contenders, mut of_entries) = (Vec::new(), Vec::new());
    for Entry { subject, quantity, contender, exact } in entries {
        contenders.push(contender);
        of_entries.push((subject, quantity, exact));
    }
    let measured = measure(label, &mut contenders, seconds, &mut run.notes, progress::part)?;
    let Some(series) = measured else { return Ok(None) };
    let (figures, mut records) = (Figures::of_row(&run.host, seconds), Vec::new());
    for (place, (subject, quantity, exact)) in of_entries.into_iter().enumerate() {
        let cycles = cycles(&series, place)?;
        records.push(figures.measured(&subject, quantity, Unit::Cycles, cycles));
        for (quantity, unit, figure, kind) in exact {
            let estimate = Estimate::exact(f64::from(u32::try_from(figure)?))?;
            let record = figures.measured(&subject, quantity, unit, estimate);
            records.push(Record { kind, ..record });
        }
    }
    Ok(Some(records))
}

/// Returns the product of every variant at each unroll factor, the square of every variant with a
/// formula for squares, and the engine's kernel on limbs.
fn products_of(bits: u32, symbols: Option<&Symbols>) -> Result<Vec<Entry>, CliError> {
    let k = Shape::limbs(size(bits)).k();
    let mut entries = Vec::new();
    for method in Method::ALL {
        for unroll in Unroll::ALL {
            entries.push(product(Variant { method, unroll }, Asked::Product, bits, k, symbols)?);
        }
        if method.squares() {
            let variant = Variant { method, unroll: UNROLL };
            entries.push(product(variant, Asked::Square, bits, k, symbols)?);
        }
    }
    let engine = LimbKernel::best().on_limbs();
    let calls = [(Call::Product, engine.name()), (Call::Square, engine.square_name())];
    let distinct = if calls[0].1 == calls[1].1 { 1 } else { 2 };
    for (call, name) in calls.into_iter().take(distinct) {
        let parameters = [(word::BITS, bits), (word::K, u32::try_from(k)?)];
        let subject = subject(Topic::Kernel(name.to_owned()), parameters)?;
        let run = chain::limbs(engine, call, bits);
        let contender = Contender { by: name, batch: Some(CALLS), kernel: None, run };
        let quantity = word::CYCLES_PER_CALL;
        entries.push(Entry { subject, quantity, contender, exact: vec![] });
    }
    Ok(entries)
}

fn product(
    variant: Variant,
    asked: Asked,
    bits: u32,
    k: usize,
    symbols: Option<&Symbols>,
) -> Result<Entry, CliError> {
    let (name, call) = match asked {
        Asked::Product => (variant.method.name(), Call::Product),
        Asked::Square => (variant.method.square_name(), Call::Square),
    };
    let unroll = variant.unroll.products();
    let parameters = [(word::BITS, bits), (word::K, u32::try_from(k)?), (word::UNROLL, unroll)];
    let subject = subject(Topic::Variant(name.to_owned()), parameters)?;
    let run = chain::variant(variant, call, bits);
    let contender = Contender { by: name, batch: Some(CALLS), kernel: None, run };
    let counted = Kind::Predicted {
        by: word::KERNEL_RUNG.to_owned(),
        from: vec!["the method's count, which tests compare with its code".to_owned()],
    };
    let multiplications = variant.method.multiplications(asked, k);
    let mut exact = vec![(word::MULTIPLICATIONS, Unit::Count, multiplications, counted)];
    let bytes =
        |place: usize| symbols?.bytes_at(place).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes: Option<usize> = variant.code(asked).into_iter().map(bytes).sum();
    exact.extend(bytes.map(|bytes| (word::CODE_BYTES, Unit::Bytes, bytes, Kind::Measured)));
    Ok(Entry { subject, quantity: word::CYCLES_PER_CALL, contender, exact })
}

fn windows(bits: u32) -> Result<Vec<Entry>, CliError> {
    let k = Shape::limbs(size(bits)).k();
    let mut entries = Vec::new();
    for width in 1..=WIDTH_MAX {
        let name = WINDOWED.method.name().replace("amm", "exp");
        for (by, is_sliding, name, words) in [
            ("fixed window", false, name.clone(), fixed_table_words(k, width)),
            ("sliding window", true, name + "_vartime", sliding_table_words(k, width)),
        ] {
            let parameters = [
                (word::BITS, bits),
                (word::UNROLL, UNROLL.products()),
                (word::WINDOW, u32::try_from(width)?),
            ];
            let contender = Contender::library(by, exponentiation(is_sliding, width, bits));
            entries.push(Entry {
                subject: subject(Topic::Variant(name), parameters)?,
                quantity: word::CYCLES_PER_OPERATION,
                contender,
                exact: vec![(word::TABLE_BYTES, Unit::Bytes, 8 * words, Kind::Measured)],
            });
        }
    }
    Ok(entries)
}

/// x^e mod m with the same numbers for every window size; e is generated here and not secret.
fn exponentiation(is_sliding: bool, width: usize, bits: u32) -> contenders::Run {
    let mut numbers = Numbers::new(bits);
    let shape = Shape::limbs(size(bits));
    let m = Modulus::<u64>::new(&numbers.modulus(), shape).expect("the modulus is odd");
    let (k, e, mut x) = (m.k(), numbers.modulus(), numbers.below());
    x.resize(k, 0);
    let engine = LimbKernel::best();
    let (mut right, mut t) = (vec![0; k], vec![0; engine.exp_words(shape, size(bits))]);
    engine.exp(&m, size(bits), &x, &e, &mut right, &mut t);
    let (constants, public) = (Constants::of(&m), PublicExponent::declassify(&e));
    let mut t = vec![0; scratch_words(k, width, m.scratch_words())];
    let mut z = vec![0; k];
    Box::new(move || {
        let kernel = WINDOWED.kernel(&constants);
        if is_sliding {
            sliding_window_vartime(kernel, width, &m, &x, &public, &mut z, &mut t);
        } else {
            fixed_window(kernel, width, &m, size(bits), &x, &e, &mut z, &mut t);
        }
        CliError::unless(z == right, "the power is not the engine's")
    })
}

fn size(bits: u32) -> usize {
    usize::try_from(bits).expect("at most 8192")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gives_the_right_result_again_and_again() {
        for bits in [128, 192, 512] {
            let products = products_of(bits, None).unwrap();
            for mut entry in products.into_iter().chain(windows(bits).unwrap()) {
                (entry.contender.run)().unwrap();
                (entry.contender.run)().unwrap();
            }
        }
    }
}
