//! The main result of the study of simulated processors: the gain of a multiply-accumulate
//! instruction for a whole exponentiation, compared with \[GTS07\].

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Timestamp, Topic, Unit};

use crate::cite::Citation;
use crate::figure::number;
use crate::lookup::Lookup;
use crate::lookup::Origin::{Predicted, Published};
use crate::published::{machine, record, subject};

/// The source of \[GTS07\].
const GTS07: &str = "Großschädl, Tillich, Szekely, Performance Evaluation of Instruction Set \
                     Extensions for Long Integer Modular Arithmetic on a SPARC V8 Processor, DSD \
                     2007, abstract: about 12.5 * 10^6 cycles; width of the window not told";

/// A full exponentiation of 1024 bits on the LEON-2 of \[GTS07\], in cycles. The paper does not
/// give the configuration.
pub const GTS07_EXPONENTIATION: f64 = 12.5e6;

/// Returns the subject of the main result's exponentiation, with [`word::V8`] or
/// [`word::EXTENDED`]. The configuration is: LEON-2, one slot for a multiplication of two words,
/// FIPS unrolled by 4 for products and squares, sliding windows of 5 bits.
///
/// # Panics
///
/// If `arithmetic` is not valid in a subject.
#[must_use]
pub fn headline(arithmetic: &str) -> Subject {
    let configuration = [
        (word::ARITHMETIC, arithmetic),
        (word::BITS, "1024"),
        (word::ISSUE, "blocking"),
        (word::LOOPS, "unrolled-4"),
        (word::SLOTS, "1"),
        (word::SQUARE, "fips"),
        (word::WINDOW, "5"),
    ];
    subject(leon_2("exp_sliding"), &configuration)
}

/// Returns the subject of the paper's figure.
pub(crate) fn of_paper() -> Subject {
    subject(leon_2("exp"), &[(word::BITS, "1024"), (word::BY, "gts07")])
}

fn leon_2(routine: &str) -> Topic {
    Topic::Simulation { processor: "leon-2".to_owned(), routine: routine.to_owned() }
}

/// Returns the paper's figure as a record.
///
/// # Panics
///
/// Never: the subject is valid and the figure is finite.
#[must_use]
pub fn published(taken_at: Timestamp) -> Record {
    let leon = machine("LEON-2 (SPARC V8) with multiply-accumulate instructions, in an FPGA", None);
    let cycles = (word::CYCLES_PER_OPERATION, Unit::Cycles, GTS07_EXPONENTIATION);
    record(of_paper(), cycles, leon, GTS07, taken_at)
}

/// Returns the main result as a sentence; `None` if no exponentiation with the extension was
/// simulated.
#[must_use]
pub fn sentence(records: &[Record]) -> Option<String> {
    Some(Headline::of(records)?.sentence())
}

/// The figures of the main result.
pub(crate) struct Headline<'a> {
    /// Cycles with the extension.
    pub(crate) extended: &'a Record,
    /// Cycles without the extension.
    pub(crate) plain: Option<&'a Record>,
    pub(crate) published: Option<&'a Record>,
}

impl<'a> Headline<'a> {
    /// Returns the figures on record; `None` if no exponentiation with the extension was simulated.
    pub(crate) fn of(records: &'a [Record]) -> Option<Self> {
        let find = |origin, subject: &Subject| {
            Lookup(records).record(origin, subject, word::CYCLES_PER_OPERATION, Unit::Cycles)
        };
        Some(Self {
            extended: find(Predicted, &headline(word::EXTENDED))?,
            plain: find(Predicted, &headline(word::V8)),
            published: find(Published, &of_paper()),
        })
    }

    /// Returns all records of the main result.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a Record> {
        [Some(self.extended), self.plain, self.published].into_iter().flatten()
    }

    /// Returns a sentence on the gain of the extension, with a warning about the paper's figure.
    pub(crate) fn sentence(&self) -> String {
        let cycles = |record: &Record| number(record.estimate.point(), Unit::Cycles);
        let (with, without) = (self.extended.estimate.point(), self.plain);
        let gain = without.map(|plain| {
            let ratio = plain.estimate.point() / with;
            format!(", {ratio:.2} times fewer than the {} without", cycles(plain))
        });
        let paper = self.published.and_then(|record| Some((record, Citation::of(record)?)));
        let paper = paper.map(|(record, cited)| {
            format!(
                "; {cited} has about {} and does not say in which configuration, so this one \
                 reaches the figure, but may not be the paper's configuration",
                cycles(record)
            )
        });
        format!(
            "A simulated LEON-2 with an instruction that multiplies and accumulates takes {} \
             cycles for an exponentiation of 1024 bits (one slot for a multiplication of two words, \
             loops unrolled by 4, sliding windows of 5 bits){}{}.",
            cycles(self.extended),
            gain.unwrap_or_default(),
            paper.unwrap_or_default()
        )
    }
}
