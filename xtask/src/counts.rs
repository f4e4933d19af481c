//! `cargo xtask counts`: the multiplications in the machine code of the kernels against those that
//! are declared.
//!
//! Three things are held together: what stands in each loop of a function and outside of its loops;
//! what the row of the function declares (`kernels/table.rs`); and what a call of a whole kernel
//! takes by `tollgate_processor::issued`, whose formula stands in the kernel's header too.
//!
//! What this does not show: how often a loop runs. That is the kernel's code for the caller's
//! sizes, and [`whole`] repeats it.

use std::process::ExitCode;

use crate::house::House;
use crate::kernels::{self, Multiplies, NAMES, Row, TABLE, Work};
use crate::machine_code::instruction::{Instruction, Operand};
use crate::machine_code::{Function, Program};

mod whole;

/// Findings of a program, and a line of figures for each kernel.
pub(crate) fn check(program: &Program, rows: &[Row]) -> (Vec<String>, Vec<String>) {
    let mut findings = kernels::unmatched(rows, &program.functions);
    let mut figures = Vec::new();
    for function in &program.functions {
        let Some((row, instance)) = kernels::declared(rows, &function.name) else { continue };
        let declared = (row.work)(&Row::numbers(instance.parameters));
        findings.extend(differences(function, &declared));
        figures.push(figure(function));
    }
    for part in program.parts.values().filter(|part| !kernels::is_portable(&part.name)) {
        let counted = Multiplies::of(part.code.iter());
        if counted != Multiplies::NONE {
            findings.push(format!("{}: {}; no row counts them", part.name, words(counted)));
        }
    }
    (findings, figures)
}

/// A loop must hold whole passes; what stands outside, `once` and whole passes.
fn differences(function: &Function, declared: &Work) -> Vec<String> {
    let loops = function.innermost_loops();
    let name = &function.name;
    let mut findings = Vec::new();
    for (first, body) in &loops {
        let inside = function.code.iter().filter(|i| body.contains(&i.address));
        let counted = Multiplies::of(inside);
        if !is_passes(counted, &declared.passes) {
            let passes: Vec<String> = declared.passes.iter().map(|pass| words(*pass)).collect();
            let declared = if passes.is_empty() { "none".into() } else { passes.join(", or ") };
            let counted = words(counted);
            findings.push(format!(
                "{name}: the loop at {first:x} has {counted}; declared are, in a pass, {declared}"
            ));
        }
    }
    let outside = |at: u64| !loops.values().any(|body| body.contains(&at));
    let counted = Multiplies::of(function.code.iter().filter(|i| outside(i.address)));
    if !counted.less(declared.once).is_some_and(|rest| is_passes(rest, &declared.passes)) {
        let (counted, declared) = (words(counted), words(declared.once));
        findings.push(format!(
            "{name}: outside of loops are {counted}; declared are, beside whole passes, {declared}"
        ));
    }
    findings
}

/// Whether so many are a whole number of passes, of each kind perhaps.
fn is_passes(counted: Multiplies, passes: &[Multiplies]) -> bool {
    if counted == Multiplies::NONE {
        return true;
    }
    let Some((pass, others)) = passes.split_first() else { return false };
    if *pass == Multiplies::NONE {
        return is_passes(counted, others);
    }
    let mut rest = Some(counted);
    while let Some(left) = rest {
        if is_passes(left, others) {
            return true;
        }
        rest = left.less(*pass);
    }
    false
}

fn words(counts: Multiplies) -> String {
    let counts = NAMES.into_iter().zip(counts.counts()).filter(|(_, count)| *count > 0);
    let words: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
    if words.is_empty() { "no multiplications".to_owned() } else { words.join(", ") }
}

fn figure(function: &Function) -> String {
    let count = |is: fn(&Instruction) -> bool| function.code.iter().filter(|i| is(i)).count();
    format!(
        "{:<58} {}; {} loads, {} stores, {} shuffles",
        function.name.trim_start_matches(kernels::PREFIX),
        words(Multiplies::of(function.code.iter())),
        count(|i| is_memory(i.operands.get(1..).unwrap_or(&[])) && i.mnemonic != "lea"),
        count(|i| is_memory(i.operands.get(..1).unwrap_or(&[])) && i.mnemonic.contains("mov")),
        count(|i| SHUFFLES.iter().any(|shuffle| i.mnemonic.starts_with(shuffle))),
    )
}

/// Instructions that move lanes begin with these.
const SHUFFLES: [&str; 5] = ["valign", "vbroadcast", "vpbroadcast", "vperm", "vshuf"];

fn is_memory(operands: &[Operand]) -> bool {
    operands.iter().any(|operand| matches!(operand, Operand::Memory(_)))
}

/// Counts a binary, or the release build. Exit code 0: no difference; 1: some; 2: nothing to
/// read.
pub(crate) fn run(binary: Option<&str>) -> ExitCode {
    kernels::report("counts", binary, |program| {
        let (mut findings, figures) = check(program, TABLE);
        findings.extend(whole::differences(TABLE));
        match House::read() {
            Ok(house) => findings.extend(whole::headers(&house)),
            Err(error) => findings.push(error),
        }
        (findings, figures)
    })
}

#[cfg(test)]
mod tests;
