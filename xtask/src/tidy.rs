//! `cargo xtask tidy`: the promises of ARCHITECTURE.md and STYLE.md that a machine can keep.

use core::fmt;
use std::process::ExitCode;

use crate::house::House;
use crate::readme;

mod first_line;
mod layers;
mod length;
mod links;
mod mentions;
mod names;
mod reasons;
mod unsafety;

/// One thing to mend, and how.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// One-based.
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, what, remedy } = self;
        write!(f, "{file}:{line}: {what}; {remedy}")
    }
}

/// Looks at the house, and finds what is to be mended.
pub(crate) type Check = fn(&House) -> Vec<Finding>;

/// All that `tidy` checks.
pub(crate) const CHECKS: [Check; 9] = [
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

#[cfg(test)]
mod tests {
    use super::Finding;

    #[test]
    fn a_finding_is_one_line_that_an_editor_can_follow() {
        let finding = Finding::new("crates/a/src/lib.rs", 3, "too long", "break it");
        assert_eq!(finding.to_string(), "crates/a/src/lib.rs:3: too long; break it");
    }
}
