//! The study's exponentiations: executed, or computed from products and windows.

use std::time::Instant;

use tollgate_mont::{Kernel as _, LimbKernel, Modulus, Shape, carry};
use tollgate_report::grid::{Column, grid};
use tollgate_report::simulation::GTS07_EXPONENTIATION;
use tollgate_report::text::wrapped;
use tollgate_simulator::Timing;
use tollgate_simulator::routines::{Algorithm, Number, Window};

use super::designs::{Design, SHOWN, numbers};
use super::products::Size;
use crate::cells::float;
use crate::error::CliError;
use crate::interrupt;
use crate::progress;

/// The largest relative difference at which a figure counts as equal to the paper's.
const NEAR: f64 = 0.025;

/// The words of the moduli whose exponentiations are all executed (1024 bits).
pub(super) const WORDS: u32 = 32;

pub(super) struct ExponentiationCost {
    pub(super) design: Design,
    pub(super) cycles: u64,
    pub(super) how: Method,
}

/// The way in which the cycles of an exponentiation were obtained.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// The whole exponentiation was executed.
    Executed,
    /// The cycles of one executed product times the number of products.
    Counted,
}

impl Method {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Counted => "products, counted",
        }
    }
}

/// Executes exponentiations, and calls `done` after each. After Ctrl-C, returns the completed ones.
pub(super) fn execute(
    core: &Timing,
    designs: &[Design],
    mut done: impl FnMut(&ExponentiationCost) -> Result<(), CliError>,
) -> Result<Vec<ExponentiationCost>, CliError> {
    let start = Instant::now();
    let mut raised = Vec::new();
    for group in designs.chunk_by(|a, b| a.words == b.words) {
        let [base, exponent, p] = numbers(group[0].words);
        let numbers = [&base, &exponent, &p];
        let expected = power(numbers);
        for design in group {
            if interrupt::asked() {
                return Ok(raised);
            }
            let mean = start.elapsed().as_secs_f64() / float(raised.len().max(1) as u64);
            progress::plan(designs.len(), mean);
            progress::row(raised.len(), &format!("{}, {}", design.row(), design.window));
            let cycles = run(core, *design, numbers, &expected)?;
            let it = ExponentiationCost { design: *design, cycles, how: Method::Executed };
            done(&it)?;
            raised.push(it);
        }
    }
    Ok(raised)
}

fn run(
    core: &Timing,
    design: Design,
    numbers: [&Number; 3],
    expected: &Number,
) -> Result<u64, CliError> {
    let timing = design.multiplier.timing(core);
    let done = design.exponentiation().run(&timing, numbers)?;
    if done.result != *expected {
        let name = format!("{}, {}", design.row(), design.window);
        bail!("{name}: wrong result; report this defect");
    }
    Ok(done.counts.cycles)
}

/// Returns the headline's exponentiation at another size, with several multipliers: the cycles of a
/// product times the number of products.
pub(super) fn counted(size: &Size) -> Vec<ExponentiationCost> {
    let [_, exponent, _] = numbers(size.words);
    let count = |multiplier| {
        let design = Design::headline(multiplier, size.words);
        let product = size.cycles(Algorithm::Fips, design.loops, multiplier)?;
        let cycles = product * design.window.products(&exponent).total();
        Some(ExponentiationCost { design, cycles, how: Method::Counted })
    };
    SHOWN.into_iter().filter_map(count).collect()
}

pub(super) fn tables(raised: &[ExponentiationCost]) -> String {
    let mut text =
        "\nExponentiation of 1024 bits, executed from its first instruction to its last: million \
         cycles\n"
            .to_owned();
    for (heading, sliding) in [("sliding windows of", true), ("fixed windows of", false)] {
        let mut columns = vec![Column::words(heading, 44)];
        let bits = ["1 bit", "2", "3", "4", "5", "6"];
        columns.extend(bits.map(|bits| Column::figures(bits, 6)));
        let rows = raised.chunk_by(|a, b| a.design.row() == b.design.row()).map(|group| {
            let of = |it: &&ExponentiationCost| {
                matches!(it.design.window, Window::Sliding(_)) == sliding
            };
            let figures = group.iter().filter(of);
            let mut row = vec![group[0].design.row()];
            row.extend(figures.map(|it| format!("{:.1}", float(it.cycles) / 1e6)));
            row
        });
        text += &format!("\n{}", grid(&columns, rows.collect()));
    }
    text += &wrapped(
        "FIPS products, one random exponent, windows skip zeros. squaring: a separate routine for \
         squares. Each power in the table takes 128 bytes: 2^(k - 1) powers for a sliding window \
         of k bits, 2^k - 1 for a fixed one.",
    );
    text + "\n" + &reached(raised)
}

fn reached(raised: &[ExponentiationCost]) -> String {
    let near: Vec<String> = raised
        .iter()
        .filter(|it| (float(it.cycles) / GTS07_EXPONENTIATION - 1.0).abs() <= NEAR)
        .map(|ExponentiationCost { design, cycles, .. }| {
            format!("{}, {}: {:.2}M", design.row(), design.window, float(*cycles) / 1e6)
        })
        .collect();
    let mut text = wrapped(&format!(
        "[GTS07] gives about 12.5 million cycles without the configuration. {} of the {} \
         combinations here are within {} % of that, so a match does not identify the paper's \
         configuration:",
        near.len(),
        raised.len(),
        NEAR * 100.0
    ));
    near.iter().for_each(|line| text += &format!("  {line}\n"));
    text
}

pub(super) fn other_sizes(raised: &[ExponentiationCost]) -> String {
    let columns = [
        Column::figures("bits", 6),
        Column::words("sliding 5, unrolled by 4, FIPS", 34),
        Column::figures("million cycles", 16),
        Column::words("how", 24),
    ];
    let row = |ExponentiationCost { design, cycles, how }: &ExponentiationCost| {
        let millions = format!("{:.2}", float(*cycles) / 1e6);
        vec![
            (32 * design.words).to_string(),
            design.multiplier.name(),
            millions,
            how.word().to_owned(),
        ]
    };
    let rows = raised.iter().map(row).collect();
    format!("\nExponentiations of other sizes\n\n{}", grid(&columns, rows))
}

/// base^exponent mod p, by the portable kernel of `mont`, bit by bit.
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
    kernel.amm(&mut next, &z, m.plain_one(), &m, &mut t);
    carry::reduce(&mut next, m.m());
    let words = next.iter().flat_map(|limb| [limb & 0xffff_ffff, limb >> 32]);
    let words = words.take(p.words().len());
    Number::new(words.map(|word| u32::try_from(word).expect("half a limb fits a word")).collect())
}
