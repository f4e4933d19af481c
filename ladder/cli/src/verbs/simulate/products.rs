//! The study's products at one size: every routine with every multiplier, and on RV64 with the
//! published multiply-add instructions.

use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;
use tollgate_simulator::Timing;
use tollgate_simulator::routines::{Algorithm, Arithmetic, Inputs, Loops, Routine};
use tollgate_simulator::rv64;
use tollgate_simulator::rv64::{Run, Source};

use super::designs::{EXTENDED, Multiplier, PLAIN, routines};
use super::grouped;
use crate::cells::float;
use crate::error::CliError;

pub(super) struct Product {
    pub(super) routine: Routine,
    pub(super) code: usize,
    pub(super) cycles: Vec<(Multiplier, u64)>,
}

pub(super) struct Size {
    pub(super) words: u32,
    pub(super) products: Vec<Product>,
}

impl Size {
    /// Runs each routine once with each multiplier.
    pub(super) fn measure(core: &Timing, words: u32) -> Result<Self, CliError> {
        let inputs = Inputs::patterned(words);
        let mut products = Vec::new();
        for multipliers in [PLAIN, EXTENDED] {
            for routine in routines(multipliers[0].arithmetic, words) {
                let mut product = Product { routine, code: 0, cycles: Vec::new() };
                for multiplier in multipliers {
                    let measured = routine.measure(&multiplier.timing(core), &inputs)?;
                    product.code = measured.code;
                    product.cycles.push((multiplier, measured.counts.cycles));
                }
                products.push(product);
            }
        }
        Ok(Self { words, products })
    }

    pub(super) fn bits(&self) -> u32 {
        32 * self.words
    }

    pub(super) fn cycles(
        &self,
        algorithm: Algorithm,
        loops: Loops,
        multiplier: Multiplier,
    ) -> Option<u64> {
        let product = self.products.iter().find(|Product { routine, .. }| {
            (routine.algorithm(), routine.loops()) == (algorithm, loops)
                && routine.arithmetic() == multiplier.arithmetic
        })?;
        product.cycles.iter().find(|(of, _)| *of == multiplier).map(|(_, cycles)| *cycles)
    }

    pub(super) fn tables(&self) -> String {
        let mut text = format!(
            "\nCycles of one Montgomery product or square of {} bits, by the slots of a \
             product\n\n",
            self.bits()
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
            text += &grid(&columns, self.products.iter().filter(of).map(row).collect());
            text.push('\n');
        }
        text
    }

    pub(super) fn gains(&self) -> String {
        let gain = |loops, plain: Multiplier, extended: Multiplier| {
            let cycles = |multiplier| self.cycles(Algorithm::Fips, loops, multiplier);
            let ratio = float(cycles(plain)?) / float(cycles(extended)?);
            Some(format!("{} to {}, {loops}: {ratio:.2}x", plain.name(), extended.name()))
        };
        let rows = [
            gain(Loops::Index, PLAIN[0], EXTENDED[0]),
            gain(Loops::Unrolled(8), PLAIN[0], EXTENDED[0]),
            gain(Loops::Index, PLAIN[1], EXTENDED[1]),
            gain(Loops::Unrolled(8), PLAIN[1], EXTENDED[1]),
        ];
        let rows: Vec<String> = rows.into_iter().flatten().collect();
        let bits = self.bits();
        wrapped(&format!("The extension's gain at {bits} bits, FIPS: {}.", rows.join("; ")))
    }
}

/// The number of slots of a multiplication of two words in the timing model.
pub(super) const MULTIPLY_SLOTS: u64 = 3;

/// A product of one size, without the extension and with it.
pub(super) struct Rv64Product {
    pub(super) bits: u32,
    pub(super) base: Run,
    pub(super) extended: Run,
}

impl Rv64Product {
    pub(super) fn measure(bits: u32) -> Result<Self, CliError> {
        let inputs = Inputs::patterned(bits / 32);
        let measure = |source| rv64::Product::new(source, bits / 64).measure(&inputs);
        let (base, extended) = (measure(Source::Base)?, measure(Source::Extended)?);
        if base.result != extended.result {
            bail!("RV64: the results differ; report this defect");
        }
        Ok(Self { bits, base: base.run, extended: extended.run })
    }

    pub(super) fn code_bytes(&self, source: Source) -> u64 {
        4 * rv64::Product::new(source, self.bits / 64).code().len() as u64
    }
}

/// Returns a table of instructions, and of slots by the timing model.
pub(super) fn rv64_table(products: &[Rv64Product]) -> String {
    let columns = [
        Column::figures("bits", 6),
        Column::figures("RV64IM", 10),
        Column::figures("extended", 10),
        Column::figures("gain", 6),
        Column::figures("slots, RV64IM", 14),
        Column::figures("slots, extended", 16),
    ];
    let row = |Rv64Product { bits, base, extended }: &Rv64Product| {
        let gain = float(base.instructions) / float(extended.instructions);
        vec![
            bits.to_string(),
            grouped(base.instructions),
            grouped(extended.instructions),
            format!("{gain:.2}x"),
            grouped(base.slots(MULTIPLY_SLOTS)),
            grouped(extended.slots(MULTIPLY_SLOTS)),
        ]
    };
    format!(
        "\nInstructions of one Montgomery product on RV64\n\n{}{}",
        grid(&columns, products.iter().map(row).collect()),
        wrapped(&format!(
            "By columns, fully unrolled, without its final subtraction; extended: maddlu, maddhu \
             and cadd of scarv/rvkex. Slots by a simple model of an in-order core, not compared \
             with a processor: one for each instruction, {MULTIPLY_SLOTS} for a multiplication, \
             one more if the next instruction reads a loaded word."
        ))
    )
}
