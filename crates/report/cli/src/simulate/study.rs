//! `tollgate simulate study`: what a multiply-accumulate instruction is worth, counted.

use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use tollgate_ladder::grid::{Column, grid};
use tollgate_ladder::text::wrapped;
use tollgate_mont::{Kernel as _, LimbKernel, Modulus, Shape, carry};
use tollgate_simulator::Timing;
use tollgate_simulator::routines::{Algorithm, Arithmetic, Inputs, Loops, Number, Routine, Window};

use super::designs::{
    EXTENDED, PLAIN, Unit, exponentiation, exponentiations, numbers, routines, windows,
};
use super::drawing::drawing;
use super::{grouped, timing};
use crate::interrupt;
use crate::options::simulate::Study as Options;
use crate::output::Output;
use crate::progress::Progress;
use crate::stop::Stop;

/// What \[GTS07\] gives for an exponentiation of 1024 bits, in cycles; its configuration is not
/// known.
const PAPER: f64 = 12.5e6;

/// How near a figure has to be to have reached the paper's.
const NEAR: f64 = 0.025;

/// Words of the moduli whose exponentiations are all executed: 1024 bits.
const WORDS: u32 = 32;

/// A routine on every unit.
pub(super) struct Product {
    pub(super) routine: Routine,
    pub(super) code: usize,
    pub(super) cycles: Vec<(Unit, u64)>,
}

/// An exponentiation that was executed.
pub(super) struct Raised {
    pub(super) unit: Unit,
    pub(super) loops: Loops,
    pub(super) squaring: bool,
    pub(super) window: Window,
    pub(super) cycles: u64,
    pub(super) table: usize,
}

/// Counts and prints.
///
/// # Errors
///
/// A file cannot be read or written, or a routine gives a wrong result.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Stop> {
    let core = timing(options.timing.as_deref())?;
    let output = Output::new(None)?;
    output.text(&format!("{}\nmemory that never waits\n", core.name))?;
    let mut sizes = Vec::new();
    for bits in &options.bits {
        let size = Size { words: bits / 32, products: measure_products(&core, bits / 32)? };
        output.text(&product_tables(&size))?;
        sizes.push(size);
    }
    let first = sizes.iter().find(|size| size.words == WORDS).or(sizes.first());
    let products: &[Product] = first.map_or(&[], |size| &size.products);
    output.text(&gains(products, first.map_or(0, |size| 32 * size.words)))?;
    let mut raised = Vec::new();
    if !options.products {
        if options.bits.contains(&(32 * WORDS)) {
            raised = execute(&core)?;
            output.text(&exponentiation_table(&raised))?;
            output.text(&reached(&raised))?;
        }
        output.text(&other_sizes(&core, &sizes)?)?;
    }
    if let Some(file) = &options.svg {
        let svg = drawing(products, &raised);
        fs::write(file, svg).map_err(|error| Stop::new(format!("{}: {error}", file.display())))?;
    }
    Ok(interrupt::exit_code())
}

/// Every routine for moduli of one size.
struct Size {
    words: u32,
    products: Vec<Product>,
}

fn measure_products(core: &Timing, words: u32) -> Result<Vec<Product>, Stop> {
    let inputs = Inputs::patterned(words);
    let mut products = Vec::new();
    for units in [PLAIN, EXTENDED] {
        for routine in routines(units[0].arithmetic, words) {
            let mut product = Product { routine, code: 0, cycles: Vec::new() };
            for unit in units {
                let measured =
                    routine.measure(&unit.timing(core), &inputs).map_err(Stop::from_error)?;
                product.code = measured.code;
                product.cycles.push((unit, measured.counts.cycles));
            }
            products.push(product);
        }
    }
    Ok(products)
}

fn product_tables(Size { words, products }: &Size) -> String {
    let mut text = format!(
        "\nCycles of one Montgomery product or square of {} bits, by the slots of a product\n\n",
        32 * words
    );
    for (arithmetic, headings) in [
        (Arithmetic::Plain, ["1 slot", "3", "5", "35"]),
        (Arithmetic::Extended, ["1 slot", "2", "3", "2 decoupled"]),
    ] {
        let mut columns = vec![Column::words("routine", 42), Column::figures("code", 8)];
        columns.extend(headings.map(|heading| Column::figures(heading, 11)));
        let row = |product: &Product| {
            let mut row = vec![product.routine.to_string(), grouped(product.code as u64)];
            row.extend(product.cycles.iter().map(|(_, cycles)| grouped(*cycles)));
            row
        };
        let of = |product: &&Product| product.routine.arithmetic() == arithmetic;
        text += &grid(&columns, products.iter().filter(of).map(row).collect());
        text.push('\n');
    }
    text
}

pub(super) fn cycles_of(
    products: &[Product],
    routine: (Algorithm, Loops),
    unit: Unit,
) -> Option<u64> {
    let product = products.iter().find(|product| {
        let it = product.routine;
        (it.algorithm(), it.loops()) == routine && it.arithmetic() == unit.arithmetic
    })?;
    product.cycles.iter().find(|(of, _)| *of == unit).map(|(_, cycles)| *cycles)
}

/// What the extension makes of the same loops.
fn gains(products: &[Product], bits: u32) -> String {
    let gain = |loops, plain: Unit, extended: Unit| {
        let cycles = |unit| cycles_of(products, (Algorithm::Fips, loops), unit);
        let (before, after) = (cycles(plain)?, cycles(extended)?);
        let ratio = float(before) / float(after);
        Some(format!("{} to {}, {loops}: {ratio:.2}x", plain.name(), extended.name()))
    };
    let rows = [
        gain(Loops::Index, PLAIN[0], EXTENDED[0]),
        gain(Loops::Unrolled(8), PLAIN[0], EXTENDED[0]),
        gain(Loops::Index, PLAIN[1], EXTENDED[1]),
        gain(Loops::Unrolled(8), PLAIN[1], EXTENDED[1]),
    ];
    let rows: Vec<String> = rows.into_iter().flatten().collect();
    wrapped(&format!("The extension's gain at {bits} bits, FIPS: {}.", rows.join("; ")))
}

/// Executes every exponentiation of 1024 bits, from its first instruction to its last.
fn execute(core: &Timing) -> Result<Vec<Raised>, Stop> {
    let [base, exponent, p] = numbers(WORDS);
    let all: Vec<_> = exponentiations()
        .into_iter()
        .flat_map(|row| windows().map(move |window| (row, window)))
        .collect();
    let progress = Progress::new("study");
    let start = Instant::now();
    let expected = power([&base, &exponent, &p]);
    let mut raised = Vec::new();
    for (i, (row, window)) in all.iter().enumerate() {
        if interrupt::asked() {
            break;
        }
        let (unit, loops, squaring) = *row;
        progress.plan(all.len(), start.elapsed().as_secs_f64() / float(i.max(1) as u64));
        progress.row(i, &format!("{}, {loops}, {window}", unit.name()));
        let it = exponentiation(*row, *window, WORDS);
        let done =
            it.run(&unit.timing(core), [&base, &exponent, &p], |_| ()).map_err(Stop::from_error)?;
        // What computes something else is a defect, and no figure.
        if done.result != expected {
            return Err(Stop::new(format!(
                "{}, {loops}, {window}: a wrong power; report this defect",
                unit.name()
            )));
        }
        raised.push(Raised {
            unit,
            loops,
            squaring,
            window: *window,
            cycles: done.counts.cycles,
            table: done.table,
        });
    }
    Ok(raised)
}

/// The power by the readable kernel of `mont`, bit by bit.
fn power([base, exponent, p]: [&Number; 3]) -> Number {
    let limbs = |number: &Number| -> Vec<u64> {
        let pair =
            |pair: &[u32]| pair.iter().rev().fold(0, |limb, &word| limb << 32 | u64::from(word));
        number.words().chunks(2).map(pair).collect()
    };
    let kernel = LimbKernel::Portable;
    let m = Modulus::<u64>::new(&limbs(p), Shape::limbs(p.bits() as usize))
        .expect("the study's moduli are odd");
    let (mut t, mut x) = (vec![0; m.scratch_words()], vec![0; m.k()]);
    let (mut z, mut next) = (m.one().to_vec(), vec![0; m.k()]);
    let mut plain = limbs(base);
    plain.resize(m.k(), 0);
    kernel.amm(&mut x, &plain, m.rr(), &m, &mut t);
    for bit in (0..exponent.bits()).rev() {
        kernel.ams(&mut next, &z, &m, &mut t);
        if exponent.bit(bit) {
            kernel.amm(&mut z, &next, &x, &m, &mut t);
        } else {
            z.copy_from_slice(&next);
        }
    }
    kernel.amm(&mut next, &z, m.unit(), &m, &mut t);
    carry::reduce(&mut next, m.m());
    let words = next.iter().flat_map(|limb| [limb & 0xffff_ffff, limb >> 32]);
    let words = words.take(p.words().len());
    Number::new(words.map(|word| u32::try_from(word).expect("half a limb")).collect())
}

fn name(raised: &Raised) -> String {
    let squaring = if raised.squaring { ", squaring" } else { "" };
    format!("{}, {}{squaring}", raised.unit.name(), raised.loops)
}

fn exponentiation_table(raised: &[Raised]) -> String {
    let mut text =
        "\nExponentiation of 1024 bits, executed from its first instruction to its last: \
                    million cycles\n"
            .to_owned();
    for (heading, sliding) in [("sliding windows of", true), ("fixed windows of", false)] {
        let mut columns = vec![Column::words(heading, 44)];
        let bits = ["1 bit", "2", "3", "4", "5", "6"];
        columns.extend(bits.map(|bits| Column::figures(bits, 6)));
        let rows = raised.chunk_by(|a, b| name(a) == name(b)).map(|group| {
            let of = |it: &&Raised| matches!(it.window, Window::Sliding(_)) == sliding;
            let figures = group.iter().filter(of);
            let mut row = vec![name(&group[0])];
            row.extend(figures.map(|it| format!("{:.1}", float(it.cycles) / 1e6)));
            row
        });
        text += &format!("\n{}", grid(&columns, rows.collect()));
    }
    text += &wrapped(
        "FIPS products; zeros are skipped, of one random exponent; squaring: a routine of its \
         own for \
         squares. The table of powers takes 128 bytes for each of its powers: of a sliding \
         window of \
         k bits 2^(k - 1), of a fixed one 2^k - 1.",
    );
    text
}

/// Which combinations come near the paper's figure.
fn reached(raised: &[Raised]) -> String {
    let near: Vec<String> = raised
        .iter()
        .filter(|it| (float(it.cycles) / PAPER - 1.0).abs() <= NEAR)
        .map(|it| format!("{}, {}: {:.2}M", name(it), it.window, float(it.cycles) / 1e6))
        .collect();
    let mut text = wrapped(&format!(
        "[GTS07] gives about 12.5 million cycles, and not the configuration in which they were \
         reached. Within {} % of that come {} of the {} combinations here; so many fit that \
         none is \
         the paper's because it fits. 12.5 million is reached with:",
        NEAR * 100.0,
        near.len(),
        raised.len()
    ));
    near.iter().for_each(|line| text += &format!("  {line}\n"));
    text
}

/// At other sizes: one is executed, beside the product of products and counted windows.
fn other_sizes(core: &Timing, sizes: &[Size]) -> Result<String, Stop> {
    let window = Window::Sliding(5);
    let columns = [
        Column::figures("bits", 6),
        Column::words("sliding 5, unrolled by 4, FIPS", 34),
        Column::figures("million cycles", 16),
        Column::words("how", 24),
    ];
    let mut rows = Vec::new();
    for &Size { words, ref products } in sizes.iter().filter(|size| size.words != WORDS) {
        let [base, exponent, p] = numbers(words);
        let bits = (32 * words).to_string();
        let mut row = |unit: Unit, cycles: u64, how: &str| {
            let millions = format!("{:.2}", float(cycles) / 1e6);
            rows.push(vec![bits.clone(), unit.name(), millions, how.to_owned()]);
        };
        let unit = EXTENDED[0];
        let it = exponentiation((unit, Loops::Unrolled(4), false), window, words);
        let done =
            it.run(&unit.timing(core), [&base, &exponent, &p], |_| ()).map_err(Stop::from_error)?;
        row(unit, done.counts.cycles, "executed");
        for unit in [PLAIN[0], PLAIN[1], EXTENDED[0], EXTENDED[1], EXTENDED[3]] {
            let of = (Algorithm::Fips, Loops::Unrolled(4));
            let cycles = cycles_of(products, of, unit).unwrap_or(0);
            row(unit, cycles * window.products(&exponent).total(), "products, counted");
        }
    }
    if rows.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("\nExponentiations of other sizes\n\n{}", grid(&columns, rows)))
}

/// A count; those here are far below 2^53.
pub(super) fn float(count: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts of cycles are far below 2^53")]
    let float = count as f64;
    float
}
