//! The effect of each assumption: one number of a machine file changed at a time.

use tollgate_processor::{Limit, Mark, Rate, Uses};

use super::{machine, product};

/// A change of a machine file.
#[derive(Clone, Copy)]
enum Change {
    /// Only this limit counts.
    Alone(Limit),
    /// Another latency of this limit, in cycles for each operation.
    CyclesEach(Limit, f64),
    /// Another rate of this limit, in operations per cycle.
    PerCycle(Limit, f64),
    /// Other uses of this limit: per product of two digits, then per row.
    Takes(Limit, f64, f64),
}

use Change::{Alone, CyclesEach, PerCycle, Takes};

/// A figure of the model with one number of a machine file changed.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    /// The processor.
    pub name: &'static str,
    /// Size of the modulus.
    pub bits: u32,
    /// The change in words.
    pub words: &'static str,
    /// Cycles of a product.
    pub cycles: f64,
    /// The error against the published cycles.
    pub error: f64,
}

/// Other possible assumptions.
const CHANGES: [(&str, u32, Change, &str); 16] = [
    ("itanium", 512, Alone(Limit::Multiplier), "nothing but multiplies"),
    ("itanium", 1024, Takes(Limit::Ports, 2.0, 0.0), "operands stay in registers"),
    ("itanium", 1024, Takes(Limit::Ports, 3.0, 0.0), "3 port operations per product"),
    ("itanium", 1024, Alone(Limit::Multiplier), "nothing but multiplies"),
    ("alpha-21264", 1024, Takes(Limit::Latency, 0.0, 2.0), "two latencies exposed per row"),
    ("alpha-21264", 1024, PerCycle(Limit::Issue, 6.0), "six slots per clock, its peak"),
    ("alpha-21264", 1024, Alone(Limit::Multiplier), "nothing but multiplies"),
    (
        "ultrasparc-iii",
        1024,
        Takes(Limit::BlockingMultiplier, 1.0, 1.0),
        "the multiply for m_i too",
    ),
    ("ultrasparc-iii", 1024, CyclesEach(Limit::BlockingMultiplier, 5.0), "5 cycles per multiply"),
    ("ultrasparc-iii", 1024, CyclesEach(Limit::BlockingMultiplier, 7.0), "7 cycles per multiply"),
    ("ultrasparc-iii", 1024, CyclesEach(Limit::BlockingMultiplier, 8.0), "8 cycles per multiply"),
    ("ultrasparc-iii", 1024, CyclesEach(Limit::BlockingMultiplier, 9.0), "9 cycles per multiply"),
    ("powerpc-g4", 1024, Takes(Limit::Issue, 1.25, 0.0), "10 slots for 8 products"),
    ("powerpc-g4", 1024, Takes(Limit::Issue, 1.5, 0.0), "12 slots for 8 products"),
    ("powerpc-g4", 1024, Takes(Limit::Issue, 1.625, 0.0), "13 slots for 8 products"),
    ("powerpc-g4", 1024, Takes(Limit::Issue, 2.0, 0.0), "16 slots for 8 products"),
];

/// Returns the model's figures with other possible assumptions.
///
/// # Panics
///
/// Never: the changes of this crate give finite numbers.
#[must_use]
pub fn sensitivity() -> Vec<Changed> {
    let published = tollgate_published::records_of("ita00");
    let changed = |(name, bits, change, words): (&'static str, u32, Change, &'static str)| {
        let cycles = change.cycles(name, bits)?;
        let subject = format!("model/{name}/amm?bits={bits}").parse().ok()?;
        let paper = published.iter().find(|record| record.subject == subject)?;
        let error = cycles / paper.estimate.point() - 1.0;
        Some(Changed { name, bits, words, cycles, error })
    };
    CHANGES.into_iter().filter_map(changed).collect()
}

impl Change {
    fn cycles(self, name: &str, bits: u32) -> Option<f64> {
        let mut machine = machine(name)?;
        let changed = "changed to compute its effect on the figure";
        match self {
            Alone(limit) => return Some(product(name, bits)?.alone(limit)?.get()),
            CyclesEach(limit, cycles) => {
                let rate = Rate::cycles_each(cycles, Mark::Assumed, changed).ok()?;
                machine.rates.insert(limit, rate);
            }
            PerCycle(limit, rate) => {
                let rate = Rate::per_cycle(rate, Mark::Assumed, changed).ok()?;
                machine.rates.insert(limit, rate);
            }
            Takes(limit, per_product, per_row) => {
                let uses = Uses::new(per_product, per_row, Mark::Assumed, changed).ok()?;
                for routine in &mut machine.routines {
                    routine.uses.insert(limit, uses.clone());
                }
            }
        }
        Some(machine.product(bits)?.bound.cycles.get())
    }
}
