//! The study's exponentiations: executed, or counted from products and windows.

use std::time::Instant;

use tollgate_report::grid::{Column, grid};
use tollgate_report::simulation::GTS07_EXPONENTIATION;
use tollgate_report::text::wrapped;
use tollgate_simulator::Timing;
use tollgate_simulator::routines::{Algorithm, Number, Window};

use super::designs::{Design, EXTENDED, PLAIN, numbers};
use super::products::Size;
use super::{float, judge};
use crate::error::CliError;
use crate::interrupt;
use crate::progress::Progress;

/// How near a figure has to be to have reached the paper's.
const NEAR: f64 = 0.025;

/// Words of the moduli whose exponentiations are all executed: 1024 bits.
pub(super) const WORDS: u32 = 32;

/// An exponentiation and what it takes.
pub(super) struct Raised {
    pub(super) design: Design,
    pub(super) cycles: u64,
    pub(super) how: How,
}

/// Where its cycles come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// All of it was executed.
    Executed,
    /// A product was executed, and the products were counted.
    Counted,
}

impl How {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Counted => "products, counted",
        }
    }
}

/// Executes exponentiations, each from its first instruction to its last; `done` hears of each.
/// After Ctrl-C there are those that were done.
///
/// # Errors
///
/// One traps, or gives a wrong power.
pub(super) fn execute(
    core: &Timing,
    designs: &[Design],
    progress: &Progress,
    mut done: impl FnMut(&Raised) -> Result<(), CliError>,
) -> Result<Vec<Raised>, CliError> {
    let start = Instant::now();
    let mut raised = Vec::new();
    for group in designs.chunk_by(|a, b| a.words == b.words) {
        let [base, exponent, p] = numbers(group[0].words);
        let numbers = [&base, &exponent, &p];
        let expected = judge::power(numbers);
        for design in group {
            if interrupt::asked() {
                return Ok(raised);
            }
            let mean = start.elapsed().as_secs_f64() / float(raised.len().max(1) as u64);
            progress.plan(designs.len(), mean);
            progress.row(raised.len(), &format!("{}, {}", design.row(), design.window));
            let cycles = run(core, *design, numbers, &expected)?;
            let it = Raised { design: *design, cycles, how: How::Executed };
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
    let timing = design.unit.timing(core);
    let done = design.exponentiation().run(&timing, numbers).map_err(CliError::from_error)?;
    // What computes something else is a defect, and no figure.
    if done.result != *expected {
        let name = format!("{}, {}", design.row(), design.window);
        return Err(CliError::new(format!("{name}: a wrong power; report this defect")));
    }
    Ok(done.counts.cycles)
}

/// The headline's exponentiation at another size, on several units: the cycles of a product times
/// the products that the windows take.
pub(super) fn counted(size: &Size) -> Vec<Raised> {
    let [_, exponent, _] = numbers(size.words);
    let units = [PLAIN[0], PLAIN[1], EXTENDED[0], EXTENDED[1], EXTENDED[3]];
    let count = |unit| {
        let design = Design::headline(unit, size.words);
        let product = size.cycles(Algorithm::Fips, design.loops, unit)?;
        let cycles = product * design.window.products(&exponent).total();
        Some(Raised { design, cycles, how: How::Counted })
    };
    units.into_iter().filter_map(count).collect()
}

/// Those of 1024 bits, and which of them come near the paper's figure.
pub(super) fn tables(raised: &[Raised]) -> String {
    let mut text =
        "\nExponentiation of 1024 bits, executed from its first instruction to its last: million \
         cycles\n"
            .to_owned();
    for (heading, sliding) in [("sliding windows of", true), ("fixed windows of", false)] {
        let mut columns = vec![Column::words(heading, 44)];
        let bits = ["1 bit", "2", "3", "4", "5", "6"];
        columns.extend(bits.map(|bits| Column::figures(bits, 6)));
        let rows = raised.chunk_by(|a, b| a.design.row() == b.design.row()).map(|group| {
            let of = |it: &&Raised| matches!(it.design.window, Window::Sliding(_)) == sliding;
            let figures = group.iter().filter(of);
            let mut row = vec![group[0].design.row()];
            row.extend(figures.map(|it| format!("{:.1}", float(it.cycles) / 1e6)));
            row
        });
        text += &format!("\n{}", grid(&columns, rows.collect()));
    }
    text += &wrapped(
        "FIPS products; zeros are skipped, of one random exponent; squaring: a routine of its own \
         for squares. The table of powers takes 128 bytes for each of its powers: of a sliding \
         window of k bits 2^(k - 1), of a fixed one 2^k - 1.",
    );
    text + "\n" + &reached(raised)
}

/// Which combinations come near the paper's figure.
fn reached(raised: &[Raised]) -> String {
    let near: Vec<String> = raised
        .iter()
        .filter(|it| (float(it.cycles) / GTS07_EXPONENTIATION - 1.0).abs() <= NEAR)
        .map(|Raised { design, cycles, .. }| {
            format!("{}, {}: {:.2}M", design.row(), design.window, float(*cycles) / 1e6)
        })
        .collect();
    let mut text = wrapped(&format!(
        "[GTS07] gives about 12.5 million cycles, and not the configuration in which they were \
         reached. Within {} % of that come {} of the {} combinations here; so many fit that none \
         is the paper's because it fits. 12.5 million is reached with:",
        NEAR * 100.0,
        near.len(),
        raised.len()
    ));
    near.iter().for_each(|line| text += &format!("  {line}\n"));
    text
}

/// At other sizes one is executed, and others are counted beside it.
pub(super) fn other_sizes(raised: &[Raised]) -> String {
    let columns = [
        Column::figures("bits", 6),
        Column::words("sliding 5, unrolled by 4, FIPS", 34),
        Column::figures("million cycles", 16),
        Column::words("how", 24),
    ];
    let row = |Raised { design, cycles, how }: &Raised| {
        let millions = format!("{:.2}", float(*cycles) / 1e6);
        vec![(32 * design.words).to_string(), design.unit.name(), millions, how.word().to_owned()]
    };
    let rows = raised.iter().map(row).collect();
    format!("\nExponentiations of other sizes\n\n{}", grid(&columns, rows))
}
