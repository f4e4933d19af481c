//! Tables 1, 2, 6 and 7 of \[ITA00\] and the decoded table of \[FSL05\], with the model's figures.

use tollgate_processor::papers::{Origin, PRIVATE, Private, Processor};
use tollgate_processor::{Limit, RegisterFile};
use tollgate_report::text::wrapped;

use super::{columns, figure};
use crate::verbs::speed::pkeu;

/// Tables 6 and 7 as printed: property, value for each processor, and limits of the model.
const ARCHITECTURE: [(&str, [&str; 4], &[Limit]); 3] = [
    (
        "multipliers",
        ["two 64-bit", "one 64-bit", "one 64-bit", "four 16-bit"],
        &[Limit::Multiplier],
    ),
    (
        "multiply latency",
        ["7", "7", "6-9, blocking", "n/a"],
        &[Limit::Latency, Limit::BlockingMultiplier],
    ),
    ("instructions per clock", ["6", "6, 4 sustained", "4", "4"], &[Limit::Issue]),
];

/// Width of a multiply and integer registers, as printed.
const WIDTHS: [&str; 4] = ["64x64, any half", "64x64, any half", "64x64, low half", "four 16x16"];
const REGISTERS: [&str; 4] = ["128", "32, 80 physical", "32 in windows", "32 of 128 bits"];

/// Returns all tables except table 5, which is a separate table, and table 3, which is drawn.
pub(super) fn tables() -> String {
    rates() + &architecture() + &decoded()
}

/// Returns tables 1 and 2: operations per second, computed from a product's cycles.
fn rates() -> String {
    let heads =
        ["tables 1 and 2: RSA-1024", "MHz", "paper's", "", "model's", "error", "kernel's share"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let mut notes = String::new();
    for row in PRIVATE {
        let paper = row.rate.get();
        let model = row.clock.get() / row.product_cycles().get();
        // A measured operation consists of more than its products, so the model predicts no rate.
        let has_rate = row.origin == Origin::Estimated;
        let error = format!("{:+.1} %", 100.0 * (model / paper - 1.0));
        let name = row.processor.machine().name;
        rows.push(vec![
            name.clone(),
            format!("{:.0}", row.clock.get() / 1e6),
            format!("{paper:.0}/s"),
            row.origin.word().to_owned(),
            if has_rate { format!("{model:.0}/s") } else { format!("< {model:.0}/s") },
            if has_rate { error } else { "-".to_owned() },
            format!("{:.0} %", 100.0 * row.kernel_share()),
        ]);
        notes += &wrapped(&format!("{name}: {}", row.assumption()));
    }
    let linear = PRIVATE[0].rate.get() * Private::LINEAR_MHZ / (PRIVATE[0].clock.get() / 1e6);
    rows.push(vec![
        PRIVATE[0].processor.machine().name,
        format!("{:.0}", Private::LINEAR_MHZ),
        "-".to_owned(),
        String::new(),
        format!("{linear:.0}/s"),
        "-".to_owned(),
        "-".to_owned(),
    ]);
    notes += &wrapped(
        "800 MHz: the measured rate, scaled linearly with the clock, as the paper expects",
    );
    format!("\n{}{notes}", columns(&rows, 1..7))
}

/// Returns tables 6 and 7: the paper's values, and the model's values with their marks.
fn architecture() -> String {
    let machines = Processor::ALL.map(Processor::machine);
    let mut rows = vec![vec!["tables 6 and 7".to_owned(), String::new()]];
    rows[0].extend(machines.iter().map(|machine| machine.name.clone()));
    let mut pair = |what: &str, theirs: [&str; 4], ours: Vec<String>| {
        let line = |head: &str, who: &str| vec![head.to_owned(), who.to_owned()];
        let mut paper = line(what, "paper");
        paper.extend(theirs.map(str::to_owned));
        let mut model = line("", "model");
        model.extend(ours);
        rows.extend([paper, model]);
    };
    for (what, theirs, limits) in ARCHITECTURE {
        let ours = machines.iter().map(|machine| {
            let rates = limits.iter().filter_map(|limit| machine.rates.get(limit));
            let known = rates.filter_map(|rate| Some((rate.value()?, rate.mark()?)));
            let said = known.map(|(value, mark)| format!("{value} {}", mark.word())).next();
            let blocks = limits.contains(&Limit::Multiplier)
                && machine.rates.contains_key(&Limit::BlockingMultiplier);
            said.unwrap_or_else(|| if blocks { "one, blocking" } else { "not used" }.to_owned())
        });
        pair(what, theirs, ours.collect());
    }
    let digits = machines.iter().map(|machine| {
        let bits = machine.routines.first().map(|routine| routine.digit.bits);
        bits.map_or_else(|| "-".to_owned(), |bits| format!("digits of {bits}"))
    });
    pair("multiply", WIDTHS, digits.collect());
    let registers = machines.iter().map(|machine| {
        let general = machine.registers.get(&RegisterFile::General);
        general.map_or_else(|| "not used".to_owned(), |count| count.count().to_string())
    });
    pair("integer registers", REGISTERS, registers.collect());
    let note = "Per cycle; a latency in cycles. The mark says whether the paper states the number \
                or the model assumes it. Not used: no figure of table 5 depends on it.";
    format!("\n{}{}", columns(&rows, 0..0), wrapped(note))
}

/// \[FSL05\]: each row of its table is one count of cycles, divided by the clock rate of each
/// column.
fn decoded() -> String {
    let heads = ["[FSL05] 2005: modulus/exponent", "cycles, decoded", "at 33 MHz", "printed"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for (bits, exponent_bits, cycles, printed) in pkeu::decoded() {
        rows.push(vec![
            format!("{bits}/{exponent_bits} bits"),
            figure(cycles),
            format!("{:.2} ms", cycles / 33e3),
            format!("{printed:.2} ms"),
        ]);
    }
    let note = "Six counts of cycles give all 48 printed times within 0.005 ms; per bit of the \
                exponent they fit 1.5 (n^2 + 3n + 27) cycles, n words of 32 bits: binary \
                exponentiation, one cycle for each product of two words. Derived here, with three \
                coefficients from three sizes.";
    format!("\n{}{}", columns(&rows, 1..4), wrapped(note))
}
