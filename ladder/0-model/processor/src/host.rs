//! What a machine could do at best, as records: the calibrated host, or a described one.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Timestamp, Unit};

use crate::machine::Machine;

/// A Montgomery product of one number on a machine, for each of `sizes` in bits, made in the best
/// way that the host has: `model/host/amm?bits=1024`. A size of which no rate is known has no
/// record.
///
/// `name` is that of the machine in subjects, `host` where it is the one that this runs on; `model`
/// its description, `machine` its fingerprint.
///
/// # Panics
///
/// If `name` cannot stand in a subject. Otherwise never: what can be in a [`Machine`] gives finite
/// bounds.
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
        let subject = format!("model/{name}/amm?{}={bits}", word::BITS);
        Some(Record {
            subject: subject.parse().expect("made of letters and digits"),
            quantity: word::CYCLES_PER_PRODUCT.parse().expect("a quantity of the vocabulary"),
            unit: Unit::Cycles,
            estimate: Estimate::exact(product.bound.cycles.get()).expect("rates are in range"),
            conditions: BTreeMap::from([
                (word::LIMIT.to_owned(), product.bound.limit.to_string()),
                (word::ASSUMPTION.to_owned(), product.assumption),
                (word::LANES.to_owned(), product.lanes.to_string()),
                (word::MARK.to_owned(), product.mark.word().to_owned()),
            ]),
            kind: Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from: product.from },
            machine: machine.clone(),
            versions: BTreeMap::from([(
                "tollgate".to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            )]),
            commit: None,
            taken_at,
        })
    };
    sizes.iter().filter_map(record).collect()
}
