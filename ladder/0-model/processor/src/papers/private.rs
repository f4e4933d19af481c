//! Tables 1 and 2: RSA-1024 private operations per second, and the share of an operation that its
//! products take.

use tollgate_record::vocabulary as word;
use tollgate_record::{Cycles, PerSecond, Record, Timestamp, Unit};

use super::{Figures, Origin, Processor, amm, model, predicted_by, published_in};

/// The method of an exponentiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exponentiation {
    /// Bit by bit; half of the bits are set.
    Binary,
    /// A sliding window of this many bits, with a table of the odd powers.
    SlidingWindow(u8),
}

impl Exponentiation {
    /// Returns the mean number of Montgomery products, squares included, for a random exponent of
    /// `bits` bits.
    pub fn products(self, bits: u32) -> f64 {
        let bits = f64::from(bits);
        match self {
            Self::Binary => bits * 1.5,
            Self::SlidingWindow(window) => {
                let window = i32::from(window);
                bits + bits / f64::from(window + 1) + 2f64.powi(window - 1)
            }
        }
    }

    fn words(self) -> String {
        match self {
            Self::Binary => "bit by bit (1.5 products per bit)".to_owned(),
            Self::SlidingWindow(window) => format!("with a sliding window of {window} bits"),
        }
    }
}

/// A row of tables 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Private {
    /// The processor.
    pub processor: Processor,
    /// Size of the modulus.
    pub bits: u32,
    /// The clock of the processor.
    pub clock: PerSecond,
    /// The paper's private operations per second.
    pub rate: PerSecond,
    /// The origin of the figure.
    pub origin: Origin,
    /// The method that fits the figure; the paper names none.
    pub exponentiation: Exponentiation,
}

/// Tables 1 and 2.
pub const PRIVATE: [Private; 2] = [
    Private {
        processor: Processor::Itanium,
        bits: 1024,
        clock: PerSecond::new(660e6),
        rate: PerSecond::new(1000.0),
        origin: Origin::Measured,
        exponentiation: Exponentiation::SlidingWindow(5),
    },
    Private {
        processor: Processor::UltraSparc3,
        bits: 1024,
        clock: PerSecond::new(600e6),
        rate: PerSecond::new(130.0),
        origin: Origin::Estimated,
        exponentiation: Exponentiation::Binary,
    },
];

impl Private {
    /// Returns the paper's cycles of an operation: clock divided by rate.
    pub fn cycles(&self) -> Cycles {
        Cycles::new(self.clock / self.rate)
    }

    /// Returns the model's cycles of the products alone. The operation uses CRT, with two
    /// exponentiations on half the bits. For each prime, two products enter Montgomery form and one
    /// product leaves it.
    pub fn product_cycles(&self) -> Cycles {
        let half = self.bits / 2;
        let products = 2.0 * (self.exponentiation.products(half) + 3.0);
        self.processor.product(half).bound.cycles * products
    }

    /// Returns the model's products as a share of the paper's operation. Above 1 the products alone
    /// take longer than the paper's whole operation.
    pub fn kernel_share(&self) -> f64 {
        self.product_cycles() / self.cycles()
    }

    /// The clock, in MHz, up to which the paper expects the first row's rate to scale linearly.
    pub const LINEAR_MHZ: f64 = 800.0;

    /// Returns the assumptions behind the figures.
    pub fn assumption(&self) -> String {
        let only = match self.origin {
            Origin::Estimated => "only Montgomery products, as a best case",
            Origin::Measured => {
                "the rest of the operation is library, conversion and recombination"
            }
        };
        let how = self.exponentiation.words();
        format!("CRT, each prime's exponentiation {how}, 3 products to enter and leave; {only}")
    }
}

/// Returns the records of the published rates. An estimated rate also has the model's rate. A
/// measured rate also has the share of the products, because a measured operation consists of more
/// than products.
pub(super) fn records(taken_at: Timestamp) -> Vec<Record> {
    let mut records = Vec::new();
    for row in PRIVATE {
        let clock_hz = Some(row.clock.get());
        let figures = Figures { processor: row.processor, clock_hz, taken_at };
        let subject = model(row.processor, format!("rsa-{}", row.bits));
        let rate = (word::OPERATIONS_PER_S, Unit::PerSecond, row.rate.get());
        let origin = [(word::ORIGIN, row.origin.word())];
        records.push(figures.record(&subject, rate, published_in("tables 1 and 2"), origin));
        let mut from = vec![amm(row.processor, row.bits / 2).to_string()];
        let figure = match row.origin {
            Origin::Estimated => {
                let rate = row.clock.get() / row.product_cycles().get();
                (word::OPERATIONS_PER_S, Unit::PerSecond, rate)
            }
            Origin::Measured => {
                from.push(subject.to_string());
                (word::KERNEL_SHARE, Unit::Ratio, row.kernel_share())
            }
        };
        if row.origin == Origin::Measured {
            let at = subject.with(word::CLOCK_MHZ, Private::LINEAR_MHZ);
            let rate = row.rate.get() * Private::LINEAR_MHZ / (row.clock.get() / 1e6);
            let figures = Figures { clock_hz: Some(Private::LINEAR_MHZ * 1e6), ..figures };
            let linear = (word::OPERATIONS_PER_S, Unit::PerSecond, rate);
            let rests = [
                (word::LIMIT, "clock"),
                (word::ASSUMPTION, "the measured rate, linear in the clock, as the paper expects"),
            ];
            let from = predicted_by(vec![subject.to_string()]);
            let at = at.expect("made of letters and digits");
            records.push(figures.record(&at, linear, from, rests));
        }
        let product = row.processor.product(row.bits / 2);
        let assumption = row.assumption();
        let conditions =
            [(word::LIMIT, product.bound.limit.word()), (word::ASSUMPTION, &*assumption)];
        records.push(figures.record(&subject, figure, predicted_by(from), conditions));
    }
    records
}
