//! Compares the bounds with the measurements of `tollgate kernel`: no kernel may be faster than its
//! bound, and the measured order should be the predicted one.

use std::io::{IsTerminal as _, stdout};

use tollgate_processor::{Analysis, Kernel, Machine};
use tollgate_record::vocabulary::{BITS, CYCLES_PER_LANE};
use tollgate_record::{Estimate, Kind, Record, Topic};
use tollgate_report::text::wrapped;

use super::{columns, figure};
use crate::bounds::call;
use crate::error::CliError;

/// If two bounds differ by less than this share, they predict no order.
const TIE: f64 = 0.02;

/// The mark of a measurement that is faster than its bound.
const BEATEN: &str = "BEATEN";

struct Comparison {
    kernel: Kernel,
    bits: u32,
    bound: Analysis,
    measured: Estimate,
}

impl Comparison {
    fn bound(&self) -> f64 {
        self.bound.bound.cycles.get()
    }

    /// Returns whether the whole interval is faster than the bound, which shows an error of the
    /// bound or of the measurement.
    fn is_beaten(&self) -> bool {
        self.measured.interval().1 < self.bound()
    }
}

/// Returns the table of bounds and measurements, and a comparison of their orders.
pub(super) fn table(model: &Machine, records: &[Record]) -> Result<String, CliError> {
    let rows = rows(model, records);
    if rows.is_empty() {
        let what = "the records contain no kernel with a bound on this machine";
        bail!("{what}; run 'tollgate kernel --json FILE'");
    }
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.bits).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let heads = ["kernel", "bits", "bound", "measured", "share", "holds", "limit", "algorithm"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    let mut notes = String::new();
    for bits in sizes {
        let mut found: Vec<&Comparison> = rows.iter().filter(|row| row.bits == bits).collect();
        found.sort_by(|x, y| x.bound().total_cmp(&y.bound()));
        lines.extend(found.iter().filter_map(|row| cells(row)));
        notes += &order(bits, &found);
    }
    let mut text = columns(&lines, 1..5);
    text += &wrapped(
        "Core cycles of one number of a call, in the predicted order. share: bound / measured. \
         BEATEN, in red: the whole interval of the measurement is below the bound, which is a \
         defect.",
    );
    Ok(coloured(text + &notes))
}

fn rows(model: &Machine, records: &[Record]) -> Vec<Comparison> {
    let of_record = |record: &Record| {
        let is_measured = record.kind == Kind::Measured;
        let is_cycles = record.quantity == CYCLES_PER_LANE;
        let Topic::Kernel(name) = record.subject.topic() else { return None };
        if !is_measured || !is_cycles {
            return None;
        }
        let kernel = Kernel::of(name)?;
        let bits: u32 = record.subject.parameter(BITS)?.parse().ok()?;
        let call = call(kernel, Some(bits).filter(|bits| (128..=8192).contains(bits))?)?;
        let bound = model.kernel(kernel, call)?;
        Some(Comparison { kernel, bits, bound, measured: record.estimate })
    };
    records.iter().filter_map(of_record).collect()
}

fn cells(row: &Comparison) -> Option<Vec<String>> {
    let measured = row.measured.point();
    Some(vec![
        row.kernel.name.to_owned(),
        row.bits.to_string(),
        figure(row.bound()),
        figure(measured),
        format!("{:.0} %", 100.0 * row.bound() / measured),
        if row.is_beaten() { BEATEN } else { "yes" }.to_owned(),
        row.bound.bound.limit.word().to_owned(),
        row.kernel.algorithm(call(row.kernel, row.bits)?).to_owned(),
    ])
}

/// Compares the measured order with the predicted order of these rows.
fn order(bits: u32, rows: &[&Comparison]) -> String {
    let (mut pairs, mut ties, mut wrong) = (0, 0, Vec::new());
    for (place, first) in rows.iter().enumerate() {
        for second in &rows[place + 1..] {
            if second.bound() < first.bound() * (1.0 + TIE) {
                ties += 1;
                continue;
            }
            pairs += 1;
            if second.measured.point() < first.measured.point() {
                wrong.push(format!("{} before {}", second.kernel.name, first.kernel.name));
            }
        }
    }
    let tied = match ties {
        0 => String::new(),
        ties => format!("; {ties} more within 2 %, no order predicted"),
    };
    wrapped(&match wrong.as_slice() {
        [] => format!("{bits} bits: the measured order is the predicted one ({pairs} pairs{tied})"),
        wrong => format!(
            "{bits} bits: the measured order is NOT the predicted one in {} of {pairs} \
             pairs{tied}: measured {}",
            wrong.len(),
            wrong.join(", ")
        ),
    })
}

/// Returns whether a line is the row of a measurement below its bound.
fn is_beaten(line: &str) -> bool {
    line.split_whitespace().any(|word| word == BEATEN)
}

/// Colours measurements below their bounds red on a terminal.
fn coloured(text: String) -> String {
    if !stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some() {
        return text;
    }
    let marked = |line: &str| {
        if is_beaten(line) { format!("\u{1b}[31m{line}\u{1b}[0m\n") } else { format!("{line}\n") }
    };
    text.lines().map(marked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_processor::machines::File;
    use tollgate_record::Unit;

    fn record(kernel: &str, bits: u32, cycles: f64) -> Record {
        let subject = format!("kernel/{kernel}?bits={bits}").parse().unwrap();
        let estimate = Estimate::new(cycles, (cycles * 0.99, cycles * 1.01), 51).unwrap();
        let machine = tollgate_record::Machine::unknown("a test");
        Record::new(subject, (CYCLES_PER_LANE, Unit::Cycles, estimate), Kind::Measured, machine)
    }

    fn shown(records: &[Record]) -> String {
        table(&File::named("zen-5").unwrap().machine(), records).unwrap()
    }

    #[test]
    fn the_table_says_whether_the_order_is_the_predicted_one() {
        let right = [record("amm64_mulx", 1024, 771.0), record("amm52_mb8_ifma", 1024, 104.0)];
        let text = shown(&right);
        assert!(text.contains("1024 bits: the measured order is the predicted one (1 pairs)"));
        assert!(!text.lines().any(is_beaten), "{text}");
        let wrong = [record("amm64_mulx", 1024, 771.0), record("amm52_mb8_ifma", 1024, 900.0)];
        assert!(shown(&wrong).contains("is NOT the predicted one in 1 of 1"));
    }

    #[test]
    fn bounds_that_are_nearly_the_same_predict_no_order() {
        // 100.06 and 100.25 cycles
        let near =
            [record("amm52_blocks_ifma", 1024, 101.0), record("amm52_mb8_ifma", 1024, 130.0)];
        assert!(shown(&near).contains("1 more within 2 %"));
    }

    #[test]
    fn a_bound_that_is_beaten_says_so_in_a_word() {
        let text = shown(&[record("amm52_mb8_ifma", 1024, 80.0)]);
        assert!(text.lines().any(is_beaten), "{text}");
        // Karatsuba has its own bound. This figure is below the bound of schoolbook multiplication
        // at 1536 bits.
        let schoolbook = f64::from(4 * 30 * 30 + 1) / 16.0;
        let text = shown(&[record("amm52_mb8_ifma", 1536, schoolbook * 0.95)]);
        assert!(!text.lines().any(is_beaten), "{text}");
    }

    #[test]
    fn records_of_something_else_are_refused() {
        let machine = File::named("zen-5").unwrap().machine();
        assert!(table(&machine, &[record("amm_unknown", 1024, 1.0)]).is_err());
        assert!(table(&machine, &[record("amm64_mulx", 1, 1.0)]).is_err());
    }
}
