//! The study of \[GTS07\]: the cycles that a multiply-accumulate instruction saves.
//!
//! Products and squares are executed. The cycles of an exponentiation are those of its products,
//! and the exponentiation beside the paper's figure is executed from its first instruction to its
//! last.

use std::collections::BTreeMap;

use tollgate_published::Value;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Record, Timestamp, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::machine::Failure;
use crate::routines::{
    Algorithm, Arithmetic, Exponentiation, Inputs, Loops, Number, Routine, Window,
};
use crate::rv64;
use crate::timing::{Issue, Timing};

/// Words of a modulus of 1024 bits.
const WORDS: u32 = 32;

/// The largest relative difference at which a figure counts as equal to the paper's.
const NEAR: f64 = 0.025;

/// The slots of a multiplication of two words in the timing model of RV64.
const RV64_MULTIPLY_SLOTS: u64 = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Multiplier {
    arithmetic: Arithmetic,
    slots: u32,
    issue: Issue,
}

const fn multiplier(arithmetic: Arithmetic, slots: u32, issue: Issue) -> Multiplier {
    Multiplier { arithmetic, slots, issue }
}

/// The multipliers of LEON-2: 32x32, 32x16, 16x16, iterative.
const PLAIN: [Multiplier; 4] = [
    multiplier(Arithmetic::Plain, 1, Issue::Blocking),
    multiplier(Arithmetic::Plain, 3, Issue::Blocking),
    multiplier(Arithmetic::Plain, 5, Issue::Blocking),
    multiplier(Arithmetic::Plain, 35, Issue::Blocking),
];

/// Multipliers of the extension.
const EXTENDED: [Multiplier; 4] = [
    multiplier(Arithmetic::Extended, 1, Issue::Blocking),
    multiplier(Arithmetic::Extended, 2, Issue::Blocking),
    multiplier(Arithmetic::Extended, 3, Issue::Blocking),
    multiplier(Arithmetic::Extended, 2, Issue::Decoupled),
];

impl Multiplier {
    fn timing(self) -> Timing {
        Timing::leon2().with_products(self.slots, self.issue)
    }

    fn name(self) -> String {
        let slots = self.slots;
        match (self.arithmetic, self.issue) {
            (Arithmetic::Plain, _) => format!("V8 {slots}"),
            (Arithmetic::Extended, Issue::Blocking) => format!("extended {slots}"),
            (Arithmetic::Extended, Issue::Decoupled) => format!("ext. {slots} decoupled"),
        }
    }
}

/// A routine with its code in bytes, and its cycles with each multiplier.
struct Measured {
    routine: Routine,
    code: usize,
    cycles: Vec<(Multiplier, u64)>,
}

/// Returns our figure with this name in `published.toml`.
#[must_use]
pub fn computed(name: &str) -> Option<Value> {
    let instructions = |source| {
        rv64::Product::new(source, WORDS / 2).measure(&Inputs::patterned(WORDS)).0.instructions
    };
    let count = match name {
        "exponentiation/extended" => executed(EXTENDED[0]).ok()?.0,
        "rv64/base" => instructions(rv64::Source::Base),
        "rv64/extended" => instructions(rv64::Source::Extended),
        _ => return None,
    };
    Some(Value::Number(float(count)))
}

/// Returns the exponentiation that is compared with the paper, without and with the extension, as
/// records.
///
/// # Errors
///
/// [`Failure`], if a generated program traps.
///
/// # Panics
///
/// If the two results differ, which is a defect.
pub fn records(taken_at: Timestamp) -> Result<[Record; 2], Failure> {
    let [plain, extended] = [executed(PLAIN[0])?, executed(EXTENDED[0])?];
    assert_eq!(plain.1, extended.1, "the results differ; report this defect");
    let record = |arithmetic: &str, cycles: u64, mark: &str| {
        let subject = format!(
            "simulation/leon-2/exp_sliding?arithmetic={arithmetic}&bits=1024&issue=blocking\
             &loops=unrolled-4&slots=1&square=fips&window=5"
        );
        let timing = Timing::leon2();
        let from = vec![format!("{}: {}", timing.name, timing.source)];
        let kind = Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from };
        let estimate = Estimate::exact(float(cycles)).expect("a count");
        let figure = (word::CYCLES_PER_OPERATION, Unit::Cycles, estimate);
        let machine = Machine::unknown(&format!("{}, simulated", timing.name));
        let assumption = "executed from the first instruction to the last; memory that never waits";
        let conditions = [(word::ASSUMPTION, assumption), (word::MARK, mark)];
        let conditions = conditions.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let version = ("tollgate".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Record {
            versions: BTreeMap::from([version]),
            conditions: BTreeMap::from(conditions),
            taken_at,
            ..Record::new(subject.parse().expect("letters and digits"), figure, kind, machine)
        }
    };
    // The extension was never built, so its timing is assumed.
    Ok([record(word::V8, plain.0, "measured"), record(word::EXTENDED, extended.0, "assumed")])
}

/// Executes the exponentiation that is compared with the paper: FIPS unrolled by 4, sliding windows
/// of 5 bits. Returns its cycles and its result.
fn executed(multiplier: Multiplier) -> Result<(u64, Number), Failure> {
    let multiply = routine(Algorithm::Fips, multiplier.arithmetic, Loops::Unrolled(4));
    let window = Window::Sliding(5);
    let [base, exponent, p] = numbers();
    let run =
        Exponentiation { multiply: multiply.expect("4 divides the words"), square: None, window }
            .run(&multiplier.timing(), [&base, &exponent, &p])?;
    Ok((run.counts.cycles, run.result))
}

/// Returns the same base, exponent and modulus in every run. The exponent's highest bit is set.
fn numbers() -> [Number; 3] {
    let Inputs { a, b, p } = Inputs::patterned(WORDS);
    let mut exponent = b.words().to_vec();
    exponent[WORDS as usize - 1] |= 1 << 31;
    [a, Number::new(exponent), p]
}

fn routine(algorithm: Algorithm, arithmetic: Arithmetic, loops: Loops) -> Option<Routine> {
    Routine::new(algorithm, arithmetic, loops, WORDS).ok()
}

/// Runs every routine of 1024 bits once with each multiplier.
fn measure() -> Result<Vec<Measured>, Failure> {
    let inputs = Inputs::patterned(WORDS);
    let mut all = Vec::new();
    for multipliers in [PLAIN, EXTENDED] {
        for algorithm in [Algorithm::Fips, Algorithm::Squaring] {
            let arithmetic = multipliers[0].arithmetic;
            for routine in Loops::ALL.iter().filter_map(|l| routine(algorithm, arithmetic, *l)) {
                let mut measured = Measured { routine, code: 0, cycles: Vec::new() };
                for multiplier in multipliers {
                    let run = routine.measure(&multiplier.timing(), &inputs)?;
                    measured.code = run.code;
                    measured.cycles.push((multiplier, run.counts.cycles));
                }
                all.push(measured);
            }
        }
    }
    Ok(all)
}

fn cycles(all: &[Measured], algorithm: Algorithm, loops: Loops, of: Multiplier) -> Option<u64> {
    let measured = all.iter().find(|measured| {
        let Measured { routine, .. } = measured;
        (routine.algorithm(), routine.loops()) == (algorithm, loops)
            && routine.arithmetic() == of.arithmetic
    })?;
    measured.cycles.iter().find(|(multiplier, _)| *multiplier == of).map(|(_, cycles)| *cycles)
}

/// Returns the tables of the study.
///
/// # Errors
///
/// [`Failure`], if a generated program traps.
pub fn study() -> Result<String, Failure> {
    let all = measure()?;
    let heading = "A Montgomery product or square of 1024 bits on LEON-2, with memory that never \
                   waits: bytes of code, and cycles by the slots of a multiplication of two words";
    let mut text = wrapped(heading);
    for (arithmetic, slots) in [
        (Arithmetic::Plain, ["1 slot", "3", "5", "35"]),
        (Arithmetic::Extended, ["1 slot", "2", "3", "2 decoupled"]),
    ] {
        let mut columns = vec![Column::words("routine", 42), Column::figures("code", 8)];
        columns.extend(slots.map(|heading| Column::figures(heading, 11)));
        let row = |measured: &Measured| {
            let figures = measured.cycles.iter().map(|(_, cycles)| *cycles);
            let figures = [measured.code as u64].into_iter().chain(figures).map(grouped);
            [measured.routine.to_string()].into_iter().chain(figures).collect()
        };
        let of = |measured: &&Measured| measured.routine.arithmetic() == arithmetic;
        text += &format!("\n{}", grid(&columns, all.iter().filter(of).map(row).collect()));
    }
    text += &gains(&all);
    text += &exponentiations(&all);
    Ok(text + &rv64_table())
}

fn gains(all: &[Measured]) -> String {
    let pairs = [(PLAIN[0], EXTENDED[0]), (PLAIN[1], EXTENDED[1])];
    let gain = |((plain, extended), loops): ((Multiplier, Multiplier), Loops)| {
        let of = |multiplier| cycles(all, Algorithm::Fips, loops, multiplier).map(float);
        let ratio = of(plain)? / of(extended)?;
        Some(format!("{} to {}, {loops}: {ratio:.2}x", plain.name(), extended.name()))
    };
    let loops = [Loops::Index, Loops::Unrolled(8)];
    let gains = pairs.into_iter().flat_map(|pair| loops.map(|loops| (pair, loops)));
    let gains: Vec<String> = gains.filter_map(gain).collect();
    wrapped(&format!("The extension's gain, FIPS: {}.", gains.join("; ")))
}

/// Returns the cycles of exponentiations by windows, and those that are near the paper's.
fn exponentiations(all: &[Measured]) -> String {
    let paper = tollgate_published::paper("gts07")
        .and_then(|paper| paper.number("1024-bit exponentiation"));
    let [_, exponent, _] = numbers();
    let multipliers = [PLAIN[0], PLAIN[1], PLAIN[3], EXTENDED[0], EXTENDED[1], EXTENDED[3]];
    let (mut text, mut near, mut count) = (String::new(), String::new(), 0);
    for (heading, window) in [
        ("million cycles; sliding windows of", Window::Sliding as fn(u32) -> Window),
        ("million cycles; fixed windows of", Window::Fixed),
    ] {
        let mut columns = vec![Column::words(heading, 44)];
        columns.extend(["1 bit", "2", "3", "4", "5", "6"].map(|bits| Column::figures(bits, 6)));
        let mut rows = Vec::new();
        for multiplier in multipliers {
            for loops in [Loops::Index, Loops::Unrolled(4), Loops::Unrolled(8)] {
                for square in [Algorithm::Fips, Algorithm::Squaring] {
                    let of = |algorithm| cycles(all, algorithm, loops, multiplier).unwrap_or(0);
                    let (product, square_cycles) = (of(Algorithm::Fips), of(square));
                    let squaring = if square == Algorithm::Squaring { ", squaring" } else { "" };
                    let name = format!("{}, {loops}{squaring}", multiplier.name());
                    let mut row = vec![name.clone()];
                    for bits in 1..=6 {
                        let products = window(bits).products(&exponent);
                        let others = products.total() - products.squarings;
                        let total = float(product * others + square_cycles * products.squarings);
                        row.push(format!("{:.1}", total / 1e6));
                        count += 1;
                        if paper.is_some_and(|paper| (total / paper - 1.0).abs() <= NEAR) {
                            near += &format!("  {name}, {}: {:.2}M\n", window(bits), total / 1e6);
                        }
                    }
                    rows.push(row);
                }
            }
        }
        text += &format!("\n{}", grid(&columns, rows));
    }
    text += &wrapped(
        "Exponentiations of 1024 bits: the cycles of their products; executed as a whole they take \
         up to 1 % more. FIPS products, one random exponent, windows skip zeros. squaring: a \
         separate routine for squares. Each power in the table takes 128 bytes: 2^(k - 1) powers \
         for a sliding window of k bits, 2^k - 1 for a fixed one.",
    );
    text += &wrapped(&format!(
        "[GTS07] gives about 12.5 million cycles without the configuration. {} of the {count} \
         combinations here are within {} % of that, so a match does not identify the paper's \
         configuration:",
        near.lines().count(),
        NEAR * 100.0
    ));
    text + &near
}

/// Returns a table of instructions, and of slots by the timing model.
fn rv64_table() -> String {
    let columns = [
        Column::figures("bits", 6),
        Column::figures("RV64IM", 10),
        Column::figures("extended", 10),
        Column::figures("gain", 6),
        Column::figures("slots, RV64IM", 14),
        Column::figures("slots, extended", 16),
    ];
    let row = |bits: u32| {
        let run =
            |source| rv64::Product::new(source, bits / 64).measure(&Inputs::patterned(bits / 32)).0;
        let (base, extended) = (run(rv64::Source::Base), run(rv64::Source::Extended));
        vec![
            bits.to_string(),
            grouped(base.instructions),
            grouped(extended.instructions),
            format!("{:.2}x", float(base.instructions) / float(extended.instructions)),
            grouped(base.slots(RV64_MULTIPLY_SLOTS)),
            grouped(extended.slots(RV64_MULTIPLY_SLOTS)),
        ]
    };
    format!(
        "\nInstructions of one Montgomery product on RV64\n\n{}{}",
        grid(&columns, [512, 1024, 2048].into_iter().map(row).collect()),
        wrapped(&format!(
            "By columns, fully unrolled, without its final subtraction; extended: maddlu, maddhu \
             and cadd of scarv/rvkex. Slots by a simple model of an in-order core, not compared \
             with a processor: one for each instruction, {RV64_MULTIPLY_SLOTS} for a \
             multiplication, one more if the next instruction reads a loaded word."
        ))
    )
}

/// Returns a number with commas between thousands.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}
