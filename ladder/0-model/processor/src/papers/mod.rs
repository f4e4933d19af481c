//! The four processors of \[ITA00\]: the model's predictions and the paper's figures.
//!
//! Each row of the paper's table 5 is computed from a machine file and compared with the paper's
//! figure. [`records()`] returns both figures, with their assumptions; [`sensitivity()`] shows the
//! effect of each assumption.

mod private;
mod sensitivity;

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Timestamp, Topic, Unit};

use crate::machine::Machine;
use crate::machines::File;
use crate::product::Product;

pub use private::{Exponentiation, PRIVATE, Private};
pub use sensitivity::sensitivity;

/// The source of the figures.
const ITA00: &str = "Intel, Itanium Processor: High Performance on Security Algorithms (RSA \
                     Decryption Kernel), white paper SEG_103, 1999-2000";

/// A processor of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// Intel Itanium, 660 MHz.
    Itanium,
    /// Alpha 21264.
    Alpha21264,
    /// `UltraSPARC` III, 600 MHz.
    UltraSparc3,
    /// `PowerPC` G4 with `AltiVec`.
    PowerPcG4,
}

impl Processor {
    /// All four, in the paper's order.
    pub const ALL: [Self; 4] =
        [Self::Itanium, Self::Alpha21264, Self::UltraSparc3, Self::PowerPcG4];

    /// Returns the name of the processor's machine file, which is also its name in record subjects.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Itanium => "itanium",
            Self::Alpha21264 => "alpha-21264",
            Self::UltraSparc3 => "ultrasparc-iii",
            Self::PowerPcG4 => "powerpc-g4",
        }
    }

    /// Returns the machine that its file describes.
    ///
    /// # Panics
    ///
    /// Never: the files are part of this crate.
    pub fn machine(self) -> Machine {
        File::named(self.word()).expect("the files of this crate have these names").machine()
    }

    /// Returns the fingerprint in records: its name, and its clock if a figure depends on it.
    fn fingerprint(self, clock_hz: Option<f64>) -> tollgate_record::Machine {
        let clock = clock_hz.map(|hz| Estimate::exact(hz).expect("a number of the tables"));
        let name = self.machine().name;
        tollgate_record::Machine {
            core_clock_hz: clock,
            ..tollgate_record::Machine::unknown(&name)
        }
    }

    /// Returns the model's prediction for a product of `bits` bits.
    ///
    /// # Panics
    ///
    /// If `bits` is 0.
    pub fn product(self, bits: u32) -> Product {
        self.machine().product(bits).expect("the machine files of this crate are complete")
    }
}

/// The origin of a figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Computed as the best case of a competing processor.
    Estimated,
    /// Measured on pre-production hardware.
    Measured,
}

impl Origin {
    /// Returns the value of the condition [`word::ORIGIN`].
    pub const fn word(self) -> &'static str {
        match self {
            Self::Estimated => word::ESTIMATED,
            Self::Measured => word::MEASURED,
        }
    }
}

/// A row of tables 4 and 5: cycles of a Montgomery product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductRow {
    /// The processor.
    pub processor: Processor,
    /// Size of the modulus.
    pub bits: u32,
    /// The paper's cycles of a Montgomery product.
    pub cycles: f64,
    /// The origin of the figure.
    pub origin: Origin,
}

impl ProductRow {
    /// Returns the relative error of the model: the model's cycles divided by the paper's cycles,
    /// minus 1.
    pub fn error(&self) -> f64 {
        self.processor.product(self.bits).bound.cycles.get() / self.cycles - 1.0
    }
}

/// Tables 4 and 5.
pub const PRODUCTS: [ProductRow; 5] = {
    use Origin::{Estimated, Measured};
    use Processor::{Alpha21264, Itanium, PowerPcG4, UltraSparc3};
    const fn row(processor: Processor, bits: u32, cycles: f64, origin: Origin) -> ProductRow {
        ProductRow { processor, bits, cycles, origin }
    }
    [
        row(Itanium, 512, 245.0, Measured),
        row(Itanium, 1024, 1220.0, Measured),
        row(Alpha21264, 1024, 1800.0, Estimated),
        row(UltraSparc3, 1024, 12_300.0, Estimated),
        row(PowerPcG4, 1024, 14_000.0, Estimated),
    ]
};

/// Returns every figure of tables 1, 4 and 5 as published, and the model's predictions.
///
/// # Panics
///
/// Never: the tables and machine files of this crate give subjects and finite numbers.
#[must_use]
pub fn records(taken_at: Timestamp) -> Vec<Record> {
    let mut records = Vec::new();
    for row in PRODUCTS {
        let figures = Figures { processor: row.processor, clock_hz: None, taken_at };
        let subject = amm(row.processor, row.bits);
        let product = row.processor.product(row.bits);
        let cycles = (word::CYCLES_PER_PRODUCT, Unit::Cycles, product.bound.cycles.get());
        let limit = product.bound.limit.word();
        let predicted = predicted_by(product.from);
        let mark = product.mark.word();
        let conditions =
            [(word::LIMIT, limit), (word::ASSUMPTION, &*product.assumption), (word::MARK, mark)];
        records.push(figures.record(&subject, cycles, predicted, conditions));
        let cycles = (word::CYCLES_PER_PRODUCT, Unit::Cycles, row.cycles);
        let published = published_in("tables 4 and 5");
        let conditions = [(word::ORIGIN, row.origin.word())];
        records.push(figures.record(&subject, cycles, published, conditions));
    }
    records.extend(private::records(taken_at));
    records
}

/// `model/itanium/amm?bits=1024`.
fn amm(processor: Processor, bits: u32) -> Subject {
    let bare = model(processor, "amm".to_owned());
    bare.with(word::BITS, bits).expect("made of letters and digits")
}

/// Returns the subject of a routine on one of the processors.
fn model(processor: Processor, routine: String) -> Subject {
    let topic = Topic::Model { machine: processor.word().to_owned(), routine };
    Subject::new(topic).expect("made of letters and digits")
}

fn predicted_by(from: Vec<String>) -> Kind {
    Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from }
}

fn published_in(table: &str) -> Kind {
    Kind::Published { source: format!("{ITA00}: {table}") }
}

/// The common fields of one processor's records.
struct Figures {
    processor: Processor,
    clock_hz: Option<f64>,
    taken_at: Timestamp,
}

impl Figures {
    fn record<'a>(
        &self,
        subject: &Subject,
        (quantity, unit, figure): (Quantity, Unit, f64),
        kind: Kind,
        conditions: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Record {
        let version = ("tollgate".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let is_ours = matches!(kind, Kind::Predicted { .. });
        let conditions = conditions.into_iter().map(|(key, value)| (key.into(), value.into()));
        let estimate = Estimate::exact(figure).expect("the tables hold numbers");
        let machine = self.processor.fingerprint(self.clock_hz);
        Record {
            versions: is_ours.then_some(version).into_iter().collect(),
            conditions: conditions.collect::<BTreeMap<_, _>>(),
            taken_at: self.taken_at,
            ..Record::new(subject.clone(), (quantity, unit, estimate), kind, machine)
        }
    }
}
