//! `cargo xtask tidy`: checks the rules of ARCHITECTURE.md that a program can check.

pub(crate) use crate::finding::Finding;
use crate::workspace::Workspace;
use crate::{Result, header, readme};

mod files;
mod layers;
mod links;
mod reasons;
mod unsafety;

/// All checks: each reads the workspace and returns its findings.
const CHECKS: [fn(&Workspace) -> Vec<Finding>; 7] = [
    files::check,
    header::check,
    layers::check,
    links::check,
    readme::check,
    reasons::check,
    unsafety::check,
];

/// Prints one line for each finding. Returns whether there is none.
pub(crate) fn run() -> Result<bool> {
    let workspace = Workspace::read()?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&workspace)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    let (crates, files) = (workspace.crates.len(), workspace.files.len());
    println!("tidy: {crates} crates, {files} files, {} findings", findings.len());
    Ok(findings.is_empty())
}

/// Prints the lines of Rust of each part, and the words of all pages.
pub(crate) fn sizes() -> Result<bool> {
    files::sizes(&Workspace::read()?).iter().for_each(|line| println!("{line}"));
    Ok(true)
}
