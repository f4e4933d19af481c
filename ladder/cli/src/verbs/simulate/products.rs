//! The study's products: every routine with every multiplier, at one size.

use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;
use tollgate_simulator::Timing;
use tollgate_simulator::routines::{Algorithm, Arithmetic, Inputs, Loops, Routine};

use super::designs::{EXTENDED, Multiplier, PLAIN, routines};
use super::grouped;
use crate::cells::float;
use crate::error::CliError;

/// A routine and its cycles with every multiplier.
pub(super) struct Product {
    pub(super) routine: Routine,
    pub(super) code: usize,
    pub(super) cycles: Vec<(Multiplier, u64)>,
}

/// Every routine for moduli of one size.
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

    /// Bits of the modulus.
    pub(super) fn bits(&self) -> u32 {
        32 * self.words
    }

    /// The cycles of a routine with a multiplier.
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

    /// A table for each arithmetic.
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

    /// The gain of the extension with the same loops.
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
