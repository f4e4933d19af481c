//! The bound of a machine's Montgomery product, as records, for the calibrated host or another
//! machine.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Subject, Timestamp, Topic, Unit};

use crate::machine::Machine;

/// Returns the bound of a Montgomery product of one number for each of `sizes` (in bits), by the
/// machine's fastest method. The subject of a record is, for example, `model/host/amm?bits=1024`. A
/// size without a known rate has no record.
///
/// `name` is the machine's name in record subjects: `host` for the machine that this program runs
/// on. `model` is the machine's description, and `machine` is its fingerprint.
///
/// # Panics
///
/// If `name` is not valid in a subject.
#[must_use]
pub fn records(
    name: &str,
    model: &Machine,
    machine: &tollgate_record::Machine,
    sizes: &[u32],
    taken_at: Timestamp,
) -> Vec<Record> {
    let record = |&bits: &u32| {
        let product = model.product(bits)?;
        let topic = Topic::Model { machine: name.to_owned(), routine: "amm".to_owned() };
        let subject = Subject::new(topic).and_then(|subject| subject.with(word::BITS, bits));
        let subject = subject.expect("made of letters and digits");
        let cycles = Estimate::exact(product.bound.cycles.get()).expect("rates are in range");
        let figure = (word::CYCLES_PER_PRODUCT, Unit::Cycles, cycles);
        let kind = Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from: product.from };
        Some(Record {
            conditions: BTreeMap::from([
                (word::LIMIT.to_owned(), product.bound.limit.to_string()),
                (word::ASSUMPTION.to_owned(), product.assumption),
                (word::LANES.to_owned(), product.lanes.to_string()),
                (word::MARK.to_owned(), product.mark.word().to_owned()),
            ]),
            versions: BTreeMap::from([(
                "tollgate".to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            )]),
            taken_at,
            ..Record::new(subject, figure, kind, machine.clone())
        })
    };
    sizes.iter().filter_map(record).collect()
}
