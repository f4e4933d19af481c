//! The study of \[GTS07\]: the cycles that a multiply-accumulate instruction saves.
//!
//! Products are executed. The cycles of an exponentiation are those of its products,
//! and the exponentiation beside the paper's figure is executed from its first instruction to its
//! last.

use std::collections::BTreeMap;

use tollgate_published::Value;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Record, Timestamp, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::machine::Failure;
use crate::routines::{Arithmetic, Exponentiation, Inputs, Loops, Number, Products, Routine};
use crate::rv64;
use crate::timing::Timing;

/// Words of a modulus of 1024 bits.
const WORDS: u32 = 32;

/// The largest relative difference at which a figure counts as equal to the paper's.
const NEAR: f64 = 0.025;

/// The slots of a multiplication of two words, with their headings.
type Slots = &'static [(u32, &'static str)];

/// LEON-2's multipliers (32x32, 32x16, 16x16, iterative), and some for the extension.
const MULTIPLIERS: [(Arithmetic, Slots); 2] = [
    (Arithmetic::Plain, &[(1, "1 slot"), (3, "3"), (5, "5"), (35, "35")]),
    (Arithmetic::Extended, &[(1, "1 slot"), (2, "2"), (3, "3")]),
];

/// A routine with its code in bytes, and its cycles by the slots of a multiplication.
struct Measured {
    routine: Routine,
    code: usize,
    cycles: Vec<(u32, u64)>,
}

/// Returns our figure with this name in `published.toml`.
#[must_use]
pub fn computed(name: &str) -> Option<Value> {
    let instructions =
        |source| rv64::Product::new(source, WORDS / 2).measure(&Inputs::patterned(WORDS)).0;
    let count = match name {
        "exponentiation/extended" => executed(Arithmetic::Extended).ok()?.0,
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
    let [plain, extended] = [executed(Arithmetic::Plain)?, executed(Arithmetic::Extended)?];
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
/// of 5 bits, products of one slot. Returns its cycles and its result.
fn executed(arithmetic: Arithmetic) -> Result<(u64, Number), Failure> {
    let multiply = Routine { arithmetic, loops: Loops::Unrolled(4), words: WORDS };
    let [base, exponent, p] = numbers();
    let exponentiation = Exponentiation { multiply, window: 5 };
    let run = exponentiation.run(&Timing::leon2(), [&base, &exponent, &p])?;
    Ok((run.counts.cycles, run.result))
}

/// Returns the same base, exponent and modulus in every run. The exponent's highest bit is set.
fn numbers() -> [Number; 3] {
    let Inputs { a, b, p } = Inputs::patterned(WORDS);
    let mut exponent = b.words().to_vec();
    exponent[WORDS as usize - 1] |= 1 << 31;
    [a, Number::new(exponent), p]
}

/// Runs every routine of 1024 bits once with each multiplier.
fn measure() -> Result<Vec<Measured>, Failure> {
    let inputs = Inputs::patterned(WORDS);
    let mut all = Vec::new();
    for (arithmetic, slots) in MULTIPLIERS {
        for loops in Loops::ALL {
            let routine = Routine { arithmetic, loops, words: WORDS };
            let mut measured = Measured { routine, code: 0, cycles: Vec::new() };
            for &(slots, _) in slots {
                let run = routine.measure(&Timing::leon2().with_products(slots), &inputs)?;
                measured.code = run.code;
                measured.cycles.push((slots, run.counts.cycles));
            }
            all.push(measured);
        }
    }
    Ok(all)
}

fn cycles(all: &[Measured], arithmetic: Arithmetic, loops: Loops, slots: u32) -> Option<u64> {
    let of = |measured: &&Measured| {
        (measured.routine.arithmetic, measured.routine.loops) == (arithmetic, loops)
    };
    let measured = all.iter().find(of)?;
    measured.cycles.iter().find(|(of, _)| *of == slots).map(|(_, cycles)| *cycles)
}

/// Returns the tables of the study.
///
/// # Errors
///
/// [`Failure`], if a generated program traps.
pub fn study() -> Result<String, Failure> {
    let all = measure()?;
    let heading = "A Montgomery product of 1024 bits on LEON-2, with memory that never waits: \
                   bytes of code, and cycles by the slots of a multiplication of two words";
    let mut text = wrapped(heading);
    for (arithmetic, slots) in MULTIPLIERS {
        let mut columns = vec![Column::words("routine", 42), Column::figures("code", 8)];
        columns.extend(slots.iter().map(|(_, heading)| Column::figures(heading, 11)));
        let row = |measured: &Measured| {
            let figures = measured.cycles.iter().map(|(_, cycles)| *cycles);
            let figures = [measured.code as u64].into_iter().chain(figures).map(grouped);
            [measured.routine.to_string()].into_iter().chain(figures).collect()
        };
        let of = |measured: &&Measured| measured.routine.arithmetic == arithmetic;
        text += &format!("\n{}", grid(&columns, all.iter().filter(of).map(row).collect()));
    }
    text += &gains(&all);
    text += &exponentiations(&all);
    Ok(text + &rv64_table())
}

fn gains(all: &[Measured]) -> String {
    let gain = |(plain, extended, loops)| {
        let of = |arithmetic, slots| cycles(all, arithmetic, loops, slots).map(float);
        let ratio = of(Arithmetic::Plain, plain)? / of(Arithmetic::Extended, extended)?;
        Some(format!("V8 {plain} to extended {extended}, {loops}: {ratio:.2}x"))
    };
    let pairs = [(1, 1), (3, 2)].into_iter();
    let pairs = pairs.flat_map(|(plain, extended)| {
        [Loops::Index, Loops::Unrolled(8)].map(|loops| (plain, extended, loops))
    });
    let gains: Vec<String> = pairs.filter_map(gain).collect();
    wrapped(&format!("The extension's gain: {}.", gains.join("; ")))
}

/// Returns the cycles of exponentiations by windows, and those that are near the paper's.
fn exponentiations(all: &[Measured]) -> String {
    let paper = tollgate_published::paper("gts07")
        .and_then(|paper| paper.number("1024-bit exponentiation"));
    let [_, exponent, _] = numbers();
    let (mut rows, mut near, mut count) = (Vec::new(), String::new(), 0);
    for (arithmetic, slots) in [
        (Arithmetic::Plain, 1),
        (Arithmetic::Plain, 3),
        (Arithmetic::Plain, 35),
        (Arithmetic::Extended, 1),
        (Arithmetic::Extended, 2),
    ] {
        for loops in [Loops::Index, Loops::Unrolled(4), Loops::Unrolled(8)] {
            let product = cycles(all, arithmetic, loops, slots).unwrap_or(0);
            let name = format!("{arithmetic} {slots}, {loops}");
            let mut row = vec![name.clone()];
            for bits in 1..=6 {
                let total = float(product * Products::count(bits, &exponent).total);
                row.push(format!("{:.1}", total / 1e6));
                count += 1;
                if paper.is_some_and(|paper| (total / paper - 1.0).abs() <= NEAR) {
                    near += &format!("  {name}, {bits} bits: {:.2}M\n", total / 1e6);
                }
            }
            rows.push(row);
        }
    }
    let mut columns = vec![Column::words("million cycles; sliding windows of", 44)];
    columns.extend(["1 bit", "2", "3", "4", "5", "6"].map(|bits| Column::figures(bits, 6)));
    let mut text = format!("\n{}", grid(&columns, rows));
    text += &wrapped(
        "Exponentiations of 1024 bits: the cycles of their products; executed as a whole they take \
         up to 1 % more. One random exponent; windows skip zeros. A window of k bits has a table \
         of 2^(k - 1) powers of 128 bytes.",
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

/// Returns a table of instructions.
fn rv64_table() -> String {
    let columns = [
        Column::figures("bits", 6),
        Column::figures("RV64IM", 10),
        Column::figures("extended", 10),
        Column::figures("gain", 6),
    ];
    let row = |bits: u32| {
        let [base, extended] = [rv64::Source::Base, rv64::Source::Extended].map(|source| {
            rv64::Product::new(source, bits / 64).measure(&Inputs::patterned(bits / 32)).0
        });
        let gain = format!("{:.2}x", float(base) / float(extended));
        vec![bits.to_string(), grouped(base), grouped(extended), gain]
    };
    format!(
        "\nInstructions of one Montgomery product on RV64\n\n{}{}",
        grid(&columns, [512, 1024, 2048].into_iter().map(row).collect()),
        wrapped(
            "By columns, fully unrolled, without its final subtraction; extended: maddlu, maddhu \
             and cadd of scarv/rvkex."
        )
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
