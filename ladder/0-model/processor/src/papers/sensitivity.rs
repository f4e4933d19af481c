//! The effect of each assumption: one number of a machine file changed at a time.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Timestamp, Unit};

use super::{Figures, Processor, amm, predicted_by};
use crate::limit::Limit;
use crate::product::Product;
use crate::sourced::{Mark, Rate, Uses};

/// A change of a machine file.
#[derive(Clone, Copy)]
enum Change {
    /// Only this limit counts.
    Alone(Limit),
    /// Another latency of this limit, in cycles for each operation.
    CyclesEach(Limit, f64),
    /// Another rate of this limit, in operations per cycle.
    PerCycle(Limit, f64),
    /// Other uses of this limit: per product of two digits, then per row. The subject includes the
    /// uses per row unless they are zero.
    Takes(Limit, f64, f64),
}

use Change::{Alone, CyclesEach, PerCycle, Takes};
use Processor::{Alpha21264, Itanium, PowerPcG4, UltraSparc3};

/// The table's rows: other possible assumptions.
const CHANGES: [(Processor, u32, Change, &str); 16] = [
    (Itanium, 512, Alone(Limit::Multiplier), "nothing but multiplies"),
    (Itanium, 1024, Takes(Limit::Ports, 2.0, 0.0), "operands stay in registers"),
    (Itanium, 1024, Takes(Limit::Ports, 3.0, 0.0), "3 port operations per product"),
    (Itanium, 1024, Alone(Limit::Multiplier), "nothing but multiplies"),
    (Alpha21264, 1024, Takes(Limit::Latency, 0.0, 2.0), "two latencies exposed per row"),
    (Alpha21264, 1024, PerCycle(Limit::Issue, 6.0), "six slots per clock, its peak"),
    (Alpha21264, 1024, Alone(Limit::Multiplier), "nothing but multiplies"),
    (UltraSparc3, 1024, Takes(Limit::BlockingMultiplier, 1.0, 1.0), "the multiply for m_i too"),
    (UltraSparc3, 1024, CyclesEach(Limit::BlockingMultiplier, 5.0), "5 cycles per multiply"),
    (UltraSparc3, 1024, CyclesEach(Limit::BlockingMultiplier, 7.0), "7 cycles per multiply"),
    (UltraSparc3, 1024, CyclesEach(Limit::BlockingMultiplier, 8.0), "8 cycles per multiply"),
    (UltraSparc3, 1024, CyclesEach(Limit::BlockingMultiplier, 9.0), "9 cycles per multiply"),
    (PowerPcG4, 1024, Takes(Limit::Issue, 1.25, 0.0), "10 slots for 8 products"),
    (PowerPcG4, 1024, Takes(Limit::Issue, 1.5, 0.0), "12 slots for 8 products"),
    (PowerPcG4, 1024, Takes(Limit::Issue, 1.625, 0.0), "13 slots for 8 products"),
    (PowerPcG4, 1024, Takes(Limit::Issue, 2.0, 0.0), "16 slots for 8 products"),
];

/// Returns the model's predictions with one number of a machine file changed. The subjects are
/// those of [`records()`](super::records()) with one more parameter, which holds the changed
/// number, such as `model/itanium/amm?bits=1024&port_operations_per_product=3`. If only one limit
/// counts, the parameter is `limit`.
///
/// # Panics
///
/// Never: the changes of this crate give subjects and finite numbers.
#[must_use]
pub fn sensitivity(taken_at: Timestamp) -> Vec<Record> {
    let record = |(processor, bits, change, words): (Processor, u32, Change, &str)| {
        let subject = change.subject(&amm(processor, bits));
        let product = change.product(processor, bits);
        let (limit, cycles) = match change {
            Alone(limit) => (limit, product.alone(limit).expect("it is a limit there")),
            _ => (product.bound.limit, product.bound.cycles),
        };
        let cycles = (word::CYCLES_PER_PRODUCT, Unit::Cycles, cycles.get());
        let conditions = [(word::LIMIT, limit.word()), (word::ASSUMPTION, words)];
        let figures = Figures { processor, clock_hz: None, taken_at };
        figures.record(&subject, cycles, predicted_by(product.from), conditions)
    };
    CHANGES.map(record).into()
}

impl Change {
    fn product(self, processor: Processor, bits: u32) -> Product {
        let mut machine = processor.machine();
        let changed = "changed to compute its effect on the figure";
        match self {
            Alone(_) => {}
            CyclesEach(limit, cycles) => {
                let rate = Rate::cycles_each(cycles, Mark::Assumed, changed).expect("in range");
                machine.rates.insert(limit, rate);
            }
            PerCycle(limit, rate) => {
                let rate = Rate::per_cycle(rate, Mark::Assumed, changed).expect("in range");
                machine.rates.insert(limit, rate);
            }
            Takes(limit, per_product, per_row) => {
                let uses =
                    Uses::new(per_product, per_row, Mark::Assumed, changed).expect("in range");
                for routine in &mut machine.routines {
                    routine.uses.insert(limit, uses.clone());
                }
            }
        }
        machine.product(bits).expect("the machine files of this crate are complete")
    }

    fn subject(self, base: &Subject) -> Subject {
        let (key, value) = match self {
            Alone(limit) => (word::LIMIT.to_owned(), limit.word().replace(' ', "-")),
            CyclesEach(limit, value) => (format!("{}_cycles_each", limit.key()), value.to_string()),
            PerCycle(limit, value) => (format!("{}_per_cycle", limit.key()), value.to_string()),
            Takes(limit, value, 0.0) => (format!("{}_per_product", limit.key()), value.to_string()),
            Takes(limit, _, value) => (format!("{}_per_row", limit.key()), value.to_string()),
        };
        base.with(&key, value).expect("made of letters and digits")
    }
}
