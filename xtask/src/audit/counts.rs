//! The number of multiplications in the machine code of the kernels.
//!
//! Three sources must agree:
//!
//! * the instructions of a function, in each loop and outside its loops;
//! * the declaration in the function's row (`kernels/table.rs`);
//! * the count for a call of a whole kernel in `tollgate_processor::issued`. The formula of this
//!   count is also in the kernel's header.
//!
//! The audit cannot see how often a loop runs. The kernel computes that from the caller's sizes,
//! and [`whole`] repeats the calculation.

use crate::kernels::{self, Multiplies, Row, Work};
use crate::machine_code::{Function, Program};

pub(super) mod whole;

/// Returns a finding for each function whose multiplications differ from those of its row.
pub(super) fn check(program: &Program, rows: &[Row]) -> Vec<String> {
    let mut findings = Vec::new();
    for function in &program.functions {
        let Some((row, parameters)) = kernels::declared(rows, &function.name) else { continue };
        findings.extend(differences(function, &(row.work)(&Row::numbers(parameters))));
    }
    for part in program.parts.values().filter(|part| !kernels::is_portable(&part.name)) {
        let counted = Multiplies::new(part.code.iter());
        if counted != Multiplies::NONE {
            findings.push(format!("{}: {counted}; no row declares them", part.name));
        }
    }
    findings
}

/// Compares a function with its declaration. The multiplications of each loop must be a whole
/// number of passes; those outside loops must be `once` plus a whole number of passes.
fn differences(function: &Function, declared: &Work) -> Vec<String> {
    let loops = function.innermost_loops();
    let name = &function.name;
    let mut findings = Vec::new();
    for (first, body) in &loops {
        let inside = function.code.iter().filter(|i| body.contains(&i.address));
        let counted = Multiplies::new(inside);
        if !is_passes(counted, &declared.passes) {
            let passes: Vec<String> = declared.passes.iter().map(ToString::to_string).collect();
            let declared = if passes.is_empty() { "none".into() } else { passes.join(", or ") };
            findings.push(format!(
                "{name}: the loop at {first:x} has {counted}; declared are, in a pass, {declared}"
            ));
        }
    }
    let outside = |at: u64| !loops.values().any(|body| body.contains(&at));
    let counted = Multiplies::new(function.code.iter().filter(|i| outside(i.address)));
    if !counted.less(declared.once).is_some_and(|rest| is_passes(rest, &declared.passes)) {
        let declared = declared.once;
        findings.push(format!(
            "{name}: outside of loops are {counted}; declared are, beside whole passes, {declared}"
        ));
    }
    findings
}

/// Returns whether a count is a whole number of passes, possibly of several kinds.
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

#[cfg(test)]
mod tests;
