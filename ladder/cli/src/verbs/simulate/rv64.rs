//! The study's products on RV64 with the published multiply-add instructions.

use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;
use tollgate_simulator::routines::Inputs;
use tollgate_simulator::rv64::{Product, Run, Source};

use super::grouped;
use crate::cells::float;
use crate::error::CliError;

/// Slots of a product of words in the timing model.
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
        let measure = |source| Product::new(source, bits / 64).measure(&inputs);
        let (base, extended) = (measure(Source::Base)?, measure(Source::Extended)?);
        if base.result != extended.result {
            bail!("RV64: the results differ; report this defect");
        }
        Ok(Self { bits, base: base.run, extended: extended.run })
    }

    /// Bytes of the product's code.
    pub(super) fn code_bytes(&self, source: Source) -> u64 {
        4 * Product::new(source, self.bits / 64).code().len() as u64
    }
}

/// Instructions, and slots by the timing model.
pub(super) fn table(products: &[Rv64Product]) -> String {
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
             with a processor: one for each instruction, {MULTIPLY_SLOTS} for a product of words, \
             one more if the next instruction reads a loaded word."
        ))
    )
}
