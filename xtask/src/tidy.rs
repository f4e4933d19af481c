//! `cargo xtask tidy`: the promises of ARCHITECTURE.md and STYLE.md that a machine can keep.

use std::process::ExitCode;

pub(crate) use crate::finding::Finding;
use crate::house::House;
use crate::readme;

mod circles;
mod first_line;
mod layers;
mod length;
mod links;
mod mentions;
mod names;
mod reasons;
mod unsafety;

/// Looks at the house, and finds what is to be mended.
pub(crate) type Check = fn(&House) -> Vec<Finding>;

/// All that `tidy` checks.
pub(crate) const CHECKS: [Check; 10] = [
    circles::check,
    first_line::check,
    layers::check,
    length::check,
    links::check,
    mentions::check,
    names::check,
    readme::check,
    reasons::check,
    unsafety::check,
];

/// Prints one line per finding. Exit code 0: none; 1: some; 2: the house could not be read.
pub(crate) fn run(checks: &[Check]) -> ExitCode {
    let house = match House::read() {
        Ok(house) => house,
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::from(2);
        }
    };
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(&house)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    let (crates, files) = (house.crates.len(), house.files.len());
    println!("tidy: {crates} crates, {files} files, {} findings", findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
