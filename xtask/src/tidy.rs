//! `cargo xtask tidy`: checks the rules of ARCHITECTURE.md that a program can check.

use std::process::ExitCode;

pub(crate) use crate::finding::Finding;
use crate::workspace::Workspace;
use crate::{header, readme};

mod book;
mod circles;
mod includes;
mod layers;
mod links;
mod names;
mod reasons;
mod unsafety;

/// A check: reads the workspace and returns its findings.
pub(crate) type Check = fn(&Workspace) -> Vec<Finding>;

/// All checks of `tidy`.
pub(crate) const CHECKS: [Check; 10] = [
    book::check,
    circles::check,
    header::check,
    includes::check,
    layers::check,
    links::check,
    names::check,
    readme::check,
    reasons::check,
    unsafety::check,
];

/// Prints one line for each finding. Exit code 0: none; 1: some; 2: the workspace cannot be read.
pub(crate) fn run(checks: &[Check]) -> ExitCode {
    let workspace = match Workspace::read() {
        Ok(workspace) => workspace,
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::from(2);
        }
    };
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(&workspace)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    let (crates, files) = (workspace.crates.len(), workspace.files.len());
    println!("tidy: {crates} crates, {files} files, {} findings", findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
