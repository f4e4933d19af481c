//! `tollgate kernel --variants`: textbook ways to a product and to an exponentiation, side by side.

use std::process::ExitCode;

use tollgate_ladder::{heading, variants as tables};
use tollgate_mont::{Kernel as _, LimbKernel, Modulus, Shape};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Subject, Timestamp, Unit};
use tollgate_variants::{
    Call as Asked, Method, Numbers as Constants, PublicExponent, Unroll, Variant, WIDTH_MAX,
    fixed_table_words, fixed_window, scratch_words, sliding_table_words, sliding_window_vartime,
};

use crate::chain::{self, CALLS, Call, Numbers};
use crate::contenders::{self, Contender, Failed};
use crate::figures::Figures;
use crate::measure::measure;
use crate::options::Kernel as Options;
use crate::progress::Progress;
use crate::run::Run;
use crate::stop::Stop;
use crate::symbols::Symbols;

/// Seconds for each row unless told.
const SECONDS: f64 = 5.0;

/// How far loops are unrolled where that is not the question: squares and exponentiations.
const UNROLL: Unroll = Unroll::Four;

/// What exponentiations by windows multiply with: the plainest that has a formula for squares.
const WINDOWED: Variant = Variant { method: Method::Sos, unroll: UNROLL };

/// Exponentiations of larger moduli are left out: a series of them would be too short.
const EXPONENT_BITS_MAX: u32 = 2048;

/// The largest modulus: beyond it a row would need more time to be worth its place.
const BITS_MAX: u32 = 4096;

/// What one row of the measurement compares.
#[derive(Clone, Copy)]
enum Row {
    /// Products and squares.
    Products(u32),
    /// Exponentiations by windows, exponents as long as the modulus.
    Windows(u32),
}

/// A contender with what its records say.
struct Entry {
    subject: Subject,
    quantity: &'static str,
    contender: Contender,
    /// Exact figures of the same subject.
    exact: Vec<(&'static str, Unit, usize, Kind)>,
}

/// Measures and prints.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Stop> {
    if let Some(bits) = options.bits.iter().find(|bits| **bits > BITS_MAX) {
        return Err(Stop::new(format!("--bits {bits}: variants go up to {BITS_MAX} bits")));
    }
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("kernel");
    let records = collect(options, &mut run, &progress)?;
    drop(progress);
    run.end(&(heading::lines(&records) + "\n" + &tables::table(&records)))
}

/// What papers say, and the records of every row; after Ctrl-C those of the rows that were done.
fn collect(options: &Options, run: &mut Run, progress: &Progress) -> Result<Vec<Record>, Stop> {
    let seconds = options.seconds.unwrap_or(SECONDS);
    let products = options.bits.iter().copied().map(Row::Products);
    let exponents = options.bits.iter().copied().filter(|bits| *bits <= EXPONENT_BITS_MAX);
    let rows: Vec<Row> = products.chain(exponents.map(Row::Windows)).collect();
    let limbs = options.bits.iter().map(|bits| Shape::limbs(size(*bits)).k());
    let mut records = tables::published(Timestamp::now(), &limbs.collect::<Vec<_>>());
    run.output.records(&records)?;
    let symbols = Symbols::of_this_program();
    if symbols.is_none() {
        run.notes.add("bytes of code are unknown: this program has no table of symbols".to_owned());
    }
    progress.plan(rows.len(), seconds);
    for (number, row) in rows.into_iter().enumerate() {
        progress.row(number, &row.label());
        let found = row.measure(seconds, run, symbols.as_ref(), |part| progress.part(part));
        let Some(found) = found? else {
            break; // Ctrl-C: this row is not whole
        };
        run.output.records(&found)?;
        records.extend(found);
    }
    Ok(records)
}

impl Row {
    fn label(self) -> String {
        match self {
            Self::Products(bits) => format!("products, {bits} bits"),
            Self::Windows(bits) => format!("windows, {bits} bits"),
        }
    }

    /// Its records; `None` after Ctrl-C.
    fn measure(
        self,
        seconds: f64,
        run: &mut Run,
        symbols: Option<&Symbols>,
        progress: impl FnMut(f64),
    ) -> Result<Option<Vec<Record>>, Stop> {
        let entries = match self {
            Self::Products(bits) => products(bits, symbols)?,
            Self::Windows(bits) => windows(bits)?,
        };
        let mut records = Vec::new();
        let figures =
            Figures::new(&run.host).with([(word::SECONDS_PER_ROW.to_owned(), seconds.to_string())]);
        let (mut contenders, mut of_entries) = (Vec::new(), Vec::new());
        for Entry { subject, quantity, contender, exact } in entries {
            contenders.push(contender);
            of_entries.push((subject, quantity, exact));
        }
        let Some(round) = measure(&self.label(), &mut contenders, seconds, progress)? else {
            return Ok(None);
        };
        run.notes.warn(&self.label(), round.warnings());
        for (place, (subject, quantity, exact)) in of_entries.into_iter().enumerate() {
            let Some(cycles) = round.cycles(place) else {
                return Err(Stop::new(
                    "core cycles cannot be told on this machine: no time stamp counter",
                ));
            };
            records.push(figures.measured(&subject, quantity, Unit::Cycles, cycles));
            for (quantity, unit, figure, kind) in exact {
                let figure = f64::from(u32::try_from(figure).map_err(Stop::from_error)?);
                let estimate = Estimate::exact(figure).map_err(Stop::from_error)?;
                let record = figures.measured(&subject, quantity, unit, estimate);
                records.push(Record { kind, ..record });
            }
        }
        Ok(Some(records))
    }
}

/// Every variant's product by how far it is unrolled, squares of those that have a formula, and the
/// engine's kernel on limbs.
fn products(bits: u32, symbols: Option<&Symbols>) -> Result<Vec<Entry>, Stop> {
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
        let subject =
            subject(&format!("kernel/{name}"), &[(word::BITS, bits), (word::K, count(k)?)])?;
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
) -> Result<Entry, Stop> {
    let (name, call) = match asked {
        Asked::Product => (variant.method.name(), Call::Product),
        Asked::Square => (variant.method.square_name(), Call::Square),
    };
    let unroll = variant.unroll.products();
    let parameters = [(word::BITS, bits), (word::K, count(k)?), (word::UNROLL, unroll)];
    let subject = subject(&format!("{}/{name}", word::VARIANT), &parameters)?;
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

/// Fixed and sliding windows of every width.
fn windows(bits: u32) -> Result<Vec<Entry>, Stop> {
    let k = Shape::limbs(size(bits)).k();
    let mut entries = Vec::new();
    for width in 1..=WIDTH_MAX {
        let name = format!("{}/{}", word::VARIANT, WINDOWED.method.name().replace("amm", "exp"));
        for (form, name, words) in [
            (Form::Fixed, name.clone(), fixed_table_words(k, width)),
            (Form::Sliding, name + "_vartime", sliding_table_words(k, width)),
        ] {
            let parameters = [
                (word::BITS, bits),
                (word::UNROLL, UNROLL.products()),
                (word::WINDOW, count(width)?),
            ];
            let run = exponentiation(form, width, bits);
            let contender = Contender { by: form.name(), batch: None, kernel: None, run };
            entries.push(Entry {
                subject: subject(&name, &parameters)?,
                quantity: word::CYCLES_PER_OPERATION,
                contender,
                exact: vec![(word::TABLE_BYTES, Unit::Bytes, 8 * words, Kind::Measured)],
            });
        }
    }
    Ok(entries)
}

/// How windows are laid.
#[derive(Clone, Copy)]
enum Form {
    Fixed,
    Sliding,
}

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed window",
            Self::Sliding => "sliding window",
        }
    }
}

/// x^e mod m, the same numbers for every width; e is made up here, so it is no secret.
fn exponentiation(form: Form, width: usize, bits: u32) -> contenders::Run {
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
        match form {
            Form::Fixed => {
                fixed_window(kernel, width, &m, size(bits), &x, &e, &mut z, &mut t);
            }
            Form::Sliding => {
                sliding_window_vartime(kernel, width, &m, &x, &public, &mut z, &mut t);
            }
        }
        if z == right { Ok(()) } else { Err(Failed::new("the power is not the engine's")) }
    })
}

/// A subject with numbers for parameters.
fn subject(path: &str, parameters: &[(&str, u32)]) -> Result<Subject, Stop> {
    let bare: Subject = path.parse().map_err(Stop::from_error)?;
    parameters
        .iter()
        .try_fold(bare, |subject, (key, value)| subject.with(key, value))
        .map_err(Stop::from_error)
}

fn size(bits: u32) -> usize {
    usize::try_from(bits).expect("at most 8192")
}

fn count(number: usize) -> Result<u32, Stop> {
    u32::try_from(number).map_err(Stop::from_error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn everybody_gives_the_right_result_again_and_again() {
        for bits in [128, 192, 512] {
            for mut entry in products(bits, None).unwrap().into_iter().chain(windows(bits).unwrap())
            {
                for _ in 0..2 {
                    (entry.contender.run)().unwrap();
                }
            }
        }
    }
}
