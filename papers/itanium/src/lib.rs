//! The four processors of \[ITA00\] as machine files, and the model's figures for its tables.
//!
//! [`computed`] returns the figure beside a published one, by the name that `published.toml` gives;
//! [`study`] is the text of `tollgate papers itanium`: the assumption behind each figure, and the
//! effect of changing it. [`records`] are the products for the ladder's lowest rung.

mod sensitivity;

use std::collections::BTreeMap;

use tollgate_processor::{Limit, Machine, Product, Rate, RegisterFile};
use tollgate_published::Value;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Timestamp, Unit};
use tollgate_report::text::wrapped;

pub use sensitivity::{Changed, sensitivity};

/// The processors of the paper, in its order: the name of each in record subjects, and its file.
const FILES: [(&str, &str); 4] = [
    ("itanium", include_str!("../machines/itanium.toml")),
    ("alpha-21264", include_str!("../machines/alpha-21264.toml")),
    ("ultrasparc-iii", include_str!("../machines/ultrasparc-iii.toml")),
    ("powerpc-g4", include_str!("../machines/powerpc-g4.toml")),
];

/// The products of tables 4 and 5: processor and bits.
const PRODUCTS: [(&str, u32); 5] = [
    ("itanium", 512),
    ("itanium", 1024),
    ("alpha-21264", 1024),
    ("ultrasparc-iii", 1024),
    ("powerpc-g4", 1024),
];

/// Returns the machine of this name; `None` if it is not one of the four.
///
/// # Panics
///
/// Never: a test reads the files.
#[must_use]
pub fn machine(name: &str) -> Option<Machine> {
    let (_, file) = FILES.into_iter().find(|(known, _)| *known == name)?;
    Some(Machine::from_toml(file).expect("the machine files of this crate are right"))
}

/// Returns the model's product of `bits` bits on a processor of the paper.
#[must_use]
pub fn product(name: &str, bits: u32) -> Option<Product> {
    machine(name)?.product(bits)
}

/// Returns the figure with this name in `published.toml`.
#[must_use]
pub fn computed(name: &str) -> Option<Value> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        ["product", machine, bits] => {
            Some(Value::Number(product(machine, bits.parse().ok()?)?.bound.cycles.get()))
        }
        ["rate", machine] => Some(Value::Number(rate(machine)?)),
        ["unit", unit] => Some(Value::Text(operation(unit)?)),
        ["architecture", property] => {
            let each = FILES.iter().map(|(name, _)| architecture(&machine(name)?, property));
            Some(Value::Text(each.collect::<Option<Vec<_>>>()?.join(", ")))
        }
        ["kernel-ratio"] => {
            let cycles = |name| Some(product(name, 1024)?.bound.cycles);
            Some(Value::Number(cycles("ultrasparc-iii")? / cycles("itanium")?))
        }
        _ => None,
    }
}

/// Returns the RSA-1024 operations per second that the products alone allow. An operation uses CRT,
/// with two exponentiations on 512 bits. For each prime, two products enter Montgomery form and one
/// product leaves it. The paper names no method; a sliding window of 5 bits fits the measured rate,
/// and a product for each set bit fits the estimated one.
fn rate(name: &str) -> Option<f64> {
    let (clock_hz, products) = match name {
        "itanium" => (660e6, 512.0 + 512.0 / 6.0 + 16.0),
        "ultrasparc-iii" => (600e6, 512.0 * 1.5),
        _ => return None,
    };
    Some(clock_hz / (2.0 * (products + 3.0) * product(name, 512)?.bound.cycles.get()))
}

/// Returns the operation of a unit of Itanium in each cycle of table 3.
fn operation(unit: &str) -> Option<String> {
    let itanium = machine("itanium")?;
    let uses = &itanium.routines.first()?.uses;
    itanium.units.iter().find_map(|(limit, units)| {
        let place = units.iter().position(|name| name == unit)?;
        let does = uses.get(limit)?.does();
        does.get(place % does.len().max(1)).cloned()
    })
}

/// Returns a property of tables 6 and 7 as the machine file has it.
fn architecture(machine: &Machine, property: &str) -> Option<String> {
    let value =
        |limit| machine.rates.get(&limit).and_then(Rate::value).map(|value| value.to_string());
    let blocks = machine.rates.contains_key(&Limit::BlockingMultiplier);
    let text = match property {
        "multipliers" if blocks => Some("1".to_owned()),
        "multipliers" => value(Limit::Multiplier),
        "pipelined" => {
            value(Limit::Multiplier).map(|_| "yes".to_owned()).or(blocks.then(|| "no".to_owned()))
        }
        "latency" if blocks => value(Limit::BlockingMultiplier),
        "latency" => value(Limit::Latency),
        "issue" => value(Limit::Issue),
        "digit" => {
            machine.routines.first().map(|routine| format!("digits of {}", routine.digit.bits))
        }
        "registers" => {
            machine.registers.get(&RegisterFile::General).map(|count| count.count().to_string())
        }
        _ => return None,
    };
    Some(text.unwrap_or_else(|| "-".to_owned()))
}

/// Returns the model's products as records.
///
/// # Panics
///
/// Never: the names and machine files of this crate give subjects and finite numbers.
#[must_use]
pub fn records(taken_at: Timestamp) -> Vec<Record> {
    let record = |(name, bits): (&str, u32)| {
        let (machine, product) = (machine(name)?, product(name, bits)?);
        let subject = format!("model/{name}/amm?bits={bits}").parse().expect("letters and digits");
        let cycles = Estimate::exact(product.bound.cycles.get()).expect("a number");
        let figure = (word::CYCLES_PER_PRODUCT, Unit::Cycles, cycles);
        let kind = Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from: product.from };
        let conditions = [
            (word::LIMIT, product.bound.limit.word().to_owned()),
            (word::ASSUMPTION, product.assumption),
            (word::MARK, product.mark.word().to_owned()),
        ];
        let version = ("tollgate".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Some(Record {
            versions: BTreeMap::from([version]),
            conditions: conditions.map(|(key, value)| (key.to_owned(), value)).into(),
            taken_at,
            ..Record::new(subject, figure, kind, tollgate_record::Machine::unknown(&machine.name))
        })
    };
    PRODUCTS.into_iter().filter_map(record).collect()
}

/// Returns the assumption behind each figure of the model, and the effect of changing it.
#[must_use]
pub fn study() -> String {
    let mut text = String::new();
    for (name, bits) in PRODUCTS {
        let (Some(machine), Some(product)) = (machine(name), product(name, bits)) else { continue };
        text += &wrapped(&format!(
            "{}, {bits} bits [{}]: {}: {}",
            machine.name,
            product.mark.word(),
            product.bound,
            product.assumption
        ));
        for change in
            sensitivity().into_iter().filter(|change| (change.name, change.bits) == (name, bits))
        {
            text += &wrapped(&format!(
                "* {}: {:.0} cycles, {:+.1} %",
                change.words,
                change.cycles,
                100.0 * change.error
            ));
        }
    }
    text + &wrapped(
        "RSA-1024: CRT, 3 products for each prime to enter and leave; Itanium with a sliding \
         window of 5 bits, UltraSPARC III bit by bit (1.5 products per bit). The products are 46 \
         % of Itanium's measured operation: the rest is library, conversion and recombination. At \
         800 MHz the measured rate is 1212 per s, if it is linear in the clock.",
    )
}
