//! `cargo xtask tidy`: checks the rules of ARCHITECTURE.md that a program can check.

use core::fmt;

use crate::workspace::Workspace;
use crate::{Result, header, readme};

mod book;
mod circles;
mod files;
mod layers;
mod links;
mod reasons;
mod unsafety;

/// A check: reads the workspace and returns its findings.
pub(crate) type Check = fn(&Workspace) -> Vec<Finding>;

/// All checks of `tidy`.
pub(crate) const CHECKS: [Check; 9] = [
    book::check,
    circles::check,
    files::check,
    header::check,
    layers::check,
    links::check,
    readme::check,
    reasons::check,
    unsafety::check,
];

/// A place in a file that breaks a rule, and how to correct it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// The line number, from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(
        file: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { file: file.into(), line, what: what.into(), remedy: remedy.into() }
    }
}

/// Writes a line that an editor can follow.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, what, remedy } = self;
        write!(f, "{file}:{line}: {what}; {remedy}")
    }
}

/// Prints one line for each finding. Returns whether there is none.
pub(crate) fn run(checks: &[Check]) -> Result<bool> {
    let workspace = Workspace::read()?;
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(&workspace)).collect();
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
