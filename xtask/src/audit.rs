//! `cargo xtask audit`: the machine code of the kernels, its secrets and its multiplications.
//!
//! The audit follows each kernel of the release build from its entry. There, lengths and pointers
//! are public, and the memory behind pointers is secret (see [`flow`]). The row of a kernel may
//! declare that an argument points to a struct. The fields of the struct (pointers, lengths,
//! numbers of entries) are then public too, and the memory behind them is secret.
//!
//! The audit checks:
//!
//! * No branch, address, length or division depends on a secret.
//! * There is no gather.
//! * Every callee is a kernel, a closure, a function that copies memory, or a panic. A closure that
//!   was not inlined is followed at its call.
//! * The multiplications agree with the model: see [`counts`].
//! * Neither the programs nor the provider contain valgrind's client requests, with which tests
//!   mark secrets: see [`requests`].
//!
//! The audit does not show:
//!
//! * that the processor takes the same time for all operands of an instruction;
//! * that a pointer of the caller is not itself secret;
//! * anything of the crate `graviola`, whose code computes on curves where no kernel of ours does:
//!   memcheck and the timing test watch it;
//! * that a declared struct contains no secret and is as long as the kernel reads: the type of the
//!   argument shows this. But a declared struct that is never read is a finding, and so is a caller
//!   that passes something else;
//! * that a callee does not overwrite a public value on the caller's stack: the audit follows
//!   spilled registers, and takes arrays on the stack for secret.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::Result;
use crate::kernels::{self, Row, TABLE};
use crate::machine_code::Program;
use crate::machine_code::instruction::{self, Gpr};
use crate::workspace::{Workspace, target_folder};
use flow::Seen;

mod counts;
mod flow;
mod state;

/// Formats a finding: kernel, address, instruction.
fn line(name: &str, address: u64, what: &str) -> String {
    format!("{name} at {address:x}: {what}")
}

/// Returns findings about secrets.
pub(crate) fn check(program: &Program, rows: &[Row]) -> Vec<String> {
    let mut findings = Vec::new();
    // Keyed by address, because several crates may have an instance of the same name.
    let seen: BTreeMap<u64, Seen> = program
        .functions
        .iter()
        .filter_map(|function| {
            let (row, _) = kernels::declared(rows, &function.name)?;
            Some((function.address()?, flow::follow(program, rows, function, row)))
        })
        .collect();
    for function in &program.functions {
        let name = function.name.as_str();
        let saw = function.address().and_then(|address| seen.get(&address));
        let (Some((row, _)), Some(saw)) = (kernels::declared(rows, name), saw) else {
            continue;
        };
        findings.extend(saw.findings.iter().map(|(at, what)| line(name, *at, what)));
        findings.extend(calls(rows, &seen, name, saw));
        let read = |register| function.address().is_some_and(|at| is_read(&seen, at, register));
        findings.extend(undeclared_use(row, name, saw, read));
    }
    findings.extend(unreached(program, &seen));
    findings
}

/// Returns findings about callees: each must be a kernel and receive no secret as a public
/// argument.
fn calls(rows: &[Row], seen: &BTreeMap<u64, Seen>, name: &str, saw: &Seen) -> Vec<String> {
    let mut findings = Vec::new();
    for (&at, call) in &saw.calls {
        let callee = call.callee.as_str();
        let (Some((row, _)), Some(callee_saw)) =
            (kernels::declared(rows, callee), seen.get(&call.address))
        else {
            findings.push(line(
                name,
                at,
                &format!("a call of a function that is not audited: {callee}"),
            ));
            continue;
        };
        let register = |r: &Gpr| {
            call.secret.contains(r) && !row.secret.contains(r) && is_read(seen, call.address, *r)
        };
        let stack = |&at: &i64| call.stack_is_secret(at) && !row.secret_stack.contains(&at);
        let secret = flow::ARGUMENTS.iter().any(register);
        if secret || callee_saw.reads_stack.iter().any(stack) {
            findings.push(line(name, at, &format!("a public argument of {callee} is secret")));
        }
        let is_struct = |&(r, depth): &(Gpr, u8)| call.is_struct(r, depth);
        if !row.structs.iter().all(is_struct) {
            let what =
                format!("{callee} expects a pointer to a struct; this argument may not be one");
            findings.push(line(name, at, &what));
        }
    }
    findings
}

/// Returns whether a function reads an argument, or passes it unchanged to a function that reads
/// it.
fn is_read(seen: &BTreeMap<u64, Seen>, function: u64, register: Gpr) -> bool {
    let (mut work, mut done) = (vec![function], BTreeSet::new());
    while let Some(function) = work.pop() {
        let Some(saw) = seen.get(&function).filter(|_| done.insert(function)) else { continue };
        if saw.reads.contains(&register) {
            return true;
        }
        let to = |&(callee, passed): &(u64, Gpr)| (passed == register).then_some(callee);
        work.extend(saw.passed.iter().filter_map(to));
    }
    false
}

/// Returns findings about secret arguments that are declared but not read. The compiler may then
/// pass the secret in another place, where the audit would take it for public.
fn undeclared_use(row: &Row, name: &str, saw: &Seen, read: impl Fn(Gpr) -> bool) -> Vec<String> {
    let unread = row.secret.iter().filter(|register| !read(**register)).map(|register| {
        let register = instruction::name(*register);
        format!("{name}: the secret declared in {register} is never read there")
    });
    let stack = row.secret_stack.iter().filter(|at| !saw.reads_stack.contains(at)).map(|at| {
        format!("{name}: the stack argument at offset {at}, declared secret, is never read")
    });
    let structs = row.structs.iter().filter(|(register, _)| !saw.through.contains(register));
    let structs = structs.map(|(register, _)| {
        let register = instruction::name(*register);
        format!("{name}: the struct declared in {register} is never read there")
    });
    unread.chain(stack).chain(structs).collect()
}

/// Returns a finding for each closure of a kernel that no kernel calls.
fn unreached(program: &Program, seen: &BTreeMap<u64, Seen>) -> Vec<String> {
    let reached = |address: &u64| seen.values().any(|saw| saw.parts.contains(address));
    let parts = program.parts.iter().filter(|(_, part)| kernels::below(&part.name).is_some());
    let lost =
        parts.filter(|(address, part)| !reached(address) && !kernels::is_portable(&part.name));
    lost.map(|(_, part)| format!("{}: no kernel with a row calls it", part.name)).collect()
}

/// The instructions before each client request of valgrind: `rol rdi` by 3, 13, 61 and 51, and
/// `xchg rbx, rbx`. No release may contain one.
const REQUEST: &[u8] =
    b"\x48\xc1\xc7\x03\x48\xc1\xc7\x0d\x48\xc1\xc7\x3d\x48\xc1\xc7\x33\x48\x87\xdb";

/// Returns a finding for each release in the target folder that contains a request.
fn requests(target: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for release in
        ["release/tollgate", "release/tollgate-ladder", "release/libtollgate_provider.so"]
    {
        let code = fs::read(target.join(release)).map_err(|why| format!("{release}: {why}"))?;
        if code.windows(REQUEST.len()).any(|bytes| bytes == REQUEST) {
            findings.push(format!("{release}: contains client requests of valgrind"));
        }
    }
    Ok(findings)
}

/// Audits a binary; without an argument, the release build of `./x provider`. Prints the findings.
/// Returns whether there are none.
pub(crate) fn run(binary: Option<&str>) -> Result<bool> {
    let program = Program::read(binary, &kernels::PREFIXES)?;
    let mut findings = kernels::unmatched(TABLE, &program.functions);
    findings.extend(check(&program, TABLE));
    findings.extend(counts::check(&program, TABLE));
    findings.extend(counts::whole::check(&Workspace::read()?));
    if binary.is_none() {
        findings.extend(requests(&target_folder()?)?);
    }
    findings.iter().for_each(|finding| println!("{finding}"));
    println!("audit: {} functions, {} findings", program.functions.len(), findings.len());
    Ok(findings.is_empty())
}

#[cfg(test)]
mod tests;
