//! `cargo xtask audit`: what a secret must not decide, in the machine code of the kernels.
//!
//! Each kernel of the release build is followed from its entry, where its lengths and pointers are
//! public and all that they point to is secret (see [`flow`]). Then no branch, no address, no
//! length and no division may depend on a secret; nothing is gathered; what it calls is a kernel
//! too, copies memory, or panics; and the stack is used within the budget of its row.
//!
//! What this does not show: that the processor takes the same time for all operands of an
//! instruction; that a pointer of the caller is not itself secret; and what becomes of a public
//! value that a kernel keeps on its stack where a function that it calls writes (the compiler's
//! own spills are followed, arrays are secret).

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::kernels::{self, Row, TABLE};
use crate::machine_code::{Function, Program};
use flow::Seen;

mod flow;
mod state;

/// One line: which kernel, at which address, which instruction.
fn line(name: &str, address: u64, what: &str) -> String {
    format!("{name} at {address:x}: {what}")
}

/// Findings of a program, and a line of figures for each kernel.
pub(crate) fn check(program: &Program, rows: &[Row]) -> (Vec<String>, Vec<String>) {
    let mut findings = kernels::unmatched(rows, &program.functions);
    let mut figures = Vec::new();
    let seen: BTreeMap<&str, Seen> = program
        .functions
        .iter()
        .filter_map(|function| {
            let (row, _) = kernels::declared(rows, &function.name)?;
            let seen = flow::follow(program, function, row.secret, row.secret_stack);
            Some((function.name.as_str(), seen))
        })
        .collect();
    for function in &program.functions {
        let name = function.name.as_str();
        let (Some((row, instance)), Some(saw)) = (kernels::declared(rows, name), seen.get(name))
        else {
            continue;
        };
        findings.extend(saw.findings.iter().map(|(at, what)| line(name, *at, what)));
        findings.extend(calls(rows, &seen, name, saw));
        findings.extend(undeclared_use(row, name, saw));
        let (stack, most) = (saw.stack.len(), instance.stack);
        if stack > most {
            findings.push(format!("{name}: {stack} stack references, declared are at most {most}"));
        }
        figures.push(figure(function, saw, most, row.branches));
    }
    (findings, figures)
}

/// What a function calls must be a kernel too, and must get no secret where it expects none.
fn calls(rows: &[Row], seen: &BTreeMap<&str, Seen>, name: &str, saw: &Seen) -> Vec<String> {
    let mut findings = Vec::new();
    for (&at, call) in &saw.calls {
        let callee = call.callee.as_str();
        let (Some((row, _)), Some(reads)) = (kernels::declared(rows, callee), seen.get(callee))
        else {
            findings.push(line(name, at, &format!("a call of what is not audited: {callee}")));
            continue;
        };
        let register = |r| call.secret.contains(r) && !row.secret.contains(r);
        let stack = |&at: &i64| call.stack_is_secret(at) && !row.secret_stack.contains(&at);
        if reads.reads.iter().any(register) || reads.reads_stack.iter().any(stack) {
            findings.push(line(name, at, &format!("a public argument of {callee} is secret")));
        }
    }
    findings
}

/// A secret argument that the compiler has moved elsewhere would be taken for a public one.
fn undeclared_use(row: &Row, name: &str, saw: &Seen) -> Option<String> {
    let missing = row.secret_stack.iter().find(|at| !saw.reads_stack.contains(at))?;
    Some(format!("{name}: the secret declared {missing} bytes up the stack is never read there"))
}

fn figure(function: &Function, saw: &Seen, most: usize, why: &str) -> String {
    format!(
        "{:<58} {:>5} instructions {:>3} branches {:>4} of {most:>3} stack references; {why}",
        function.name.trim_start_matches(kernels::PREFIX),
        function.code.len(),
        saw.branches.len(),
        saw.stack.len(),
    )
}

/// Audits a binary, or the release build. Exit code 0: no finding; 1: some; 2: nothing to
/// read.
pub(crate) fn run(binary: Option<&str>) -> ExitCode {
    kernels::report("audit", binary, |program| check(program, TABLE))
}

#[cfg(test)]
mod tests;
